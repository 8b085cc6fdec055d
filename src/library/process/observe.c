#include "process/observe.h"

#include "base/log.h"
#include "base/options.h"
#include "base/thread.h"
#include "region/collect.h"
#include "region/device.h"
#include "tell/tell.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

_Atomic bool sp_observe_on;

static const struct sp_observe_table *observer; // written before the flag

void sp_observe_begin(void) {
    static struct sp_observe_host host = {
        .stamp = SP_OBSERVE_STAMP(host),
        .log = sp_log_write,
        .thread_number = sp_thread_number,
        .thread_is_first_time = sp_thread_is_first_time,
    };
    const struct sp_options *asked = sp_options();
    if (!asked->stats && !asked->leaks && !asked->trace)
        return;
    host.lock_hook = sp_lock_hook();
    observer = sp_observe_load(&host);
    if (!observer)
        return;
    observer->begin(asked->trace, asked->leaks ? asked->stacks : 0);
    sp_store_release(&sp_observe_on, true);
}

bool sp_observe_take_turn(void) {
    return sp_observe_is_on() && observer->take_turn();
}

void sp_observe_give_turn(bool taken) {
    if (taken)
        observer->give_turn();
}

bool sp_observe_records(void) {
    return sp_observe_is_on() && observer->records();
}

// --------------------------------------------------------------- allocations, frees and other acts

// Fills in the facts of a stream that the caller uses. Null for null.
static const struct sp_observe_stream *facts_of(const struct sp_stream *stream,
                                                struct sp_observe_stream *facts) {
    if (!stream)
        return NULL;
    enum sp_stream_kind kind = sp_stream_kind_of(stream);
    *facts = (struct sp_observe_stream){
        .slot = stream->slot,
        .first = stream->first,
        .id = sp_stream_word(stream, 0),
        .context_id = sp_load_relaxed(&stream->context_id),
        .has_id = stream->identified,
        .is_default = stream->is_default,
        .is_per_thread = sp_stream_handle_now(stream) == CU_STREAM_PER_THREAD,
        .is_legacy = kind == SP_STREAM_LEGACY,
        .is_blocking = kind == SP_STREAM_BLOCKING,
    };
    return facts;
}

void sp_observe_allocated(const void *pointer, uint64_t size, const struct sp_stream *stream,
                          const void *caller) {
    struct sp_observe_stream facts;
    if (pointer)
        observer->allocated(pointer, size, facts_of(stream, &facts), caller);
    else
        observer->refused(size, facts_of(stream, &facts));
}

struct sp_live_block *sp_observe_freeing(const void *pointer) {
    return observer->freeing(pointer);
}

void sp_observe_freed(struct sp_live_block *block, poolError_t error,
                      const struct sp_stream *stream) {
    struct sp_observe_stream facts;
    if (error == poolSuccess)
        observer->freed(block, facts_of(stream, &facts));
    else
        observer->not_freed(block);
}

void sp_observe_act_on_stream(enum sp_observe_action action, const void *event,
                              const struct sp_stream *stream) {
    struct sp_observe_stream facts;
    if (stream && sp_observe_is_on())
        observer->act(action, event, 0, facts_of(stream, &facts));
}

void sp_observe_act(enum sp_observe_action action, const void *event, uint64_t bytes) {
    if (sp_observe_is_on())
        observer->act(action, event, bytes, NULL);
}

uint64_t sp_observe_destroying(const struct sp_stream *stream) {
    struct sp_observe_stream facts;
    return stream && sp_observe_is_on() ? observer->number(facts_of(stream, &facts)) : 0;
}

void sp_observe_destroyed(const struct sp_stream *stream, uint64_t number) {
    if (stream && sp_observe_is_on())
        observer->destroyed(stream->slot, number);
}

// ------------------------------------------------------------------------------ the process's end

// Pools that were never used have nothing to tell, and destroyed ones are in their sum.
static void print_summary(FILE *out) {
    fprintf(out, "streampool: summary of process %ld\n", (long)getpid());
    for (struct sp_device *device = NULL; (device = sp_device_next(device));) {
        sp_lock_acquire(&device->lock);
        SP_LIST_FOR_EACH_OF(struct sp_pool, pool, listing.link, &device->pools) {
            if (!sp_load_relaxed(&pool->destroyed) && sp_load_relaxed(&pool->reserved_high) > 0) {
                sp_collect_all(pool);
                sp_tell_print(pool, out);
            }
        }
        sp_lock_release(&device->lock);
    }
    sp_tell_print_destroyed(out);
}

// A destructor runs behind the program's own and its handlers of atexit(), so that what they free
// counts as freed. It calls no driver. A forked child writes nothing.
//
// Where a thread that won't go on holds what the observer's end takes, nothing of the observer may
// be called any more.
__attribute__((destructor)) static void print_at_exit(void) {
    if (!sp_observe_is_on() || sp_fork_is_child())
        return;
    SP_UNCANCELLED;
    const struct sp_options *asked = sp_options();
    struct sp_observe_figures live;
    sigset_t pipe; // a reader of standard error that has gone is no reason to end otherwise
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    sp_store_relaxed(&sp_observe_on, false);
    if (!observer->end())
        return;
    if (asked->stats)
        print_summary(stderr);
    if (asked->stats || asked->leaks) {
        observer->read(&live);
        fprintf(stderr,
                "streampool: never freed: %" PRIu64 " block%s of %s together; %s at most at once\n",
                live.blocks, live.blocks == 1 ? "" : "s", sp_tell_bytes(live.bytes).text,
                sp_tell_bytes(live.bytes_high).text);
        if (live.unnoted > 0)
            fprintf(stderr,
                    "streampool: %" PRIu64 " blocks aren't in these figures: no host memory\n",
                    live.unnoted);
    }
    if (asked->leaks)
        observer->print_leaks(stderr);
}
