#include "process/observe.h"

#include "base/log.h"
#include "base/options.h"
#include "base/thread.h"
#include "process/attributes.h"
#include "region/device.h"

#include <pthread.h>
#include <signal.h>

_Atomic bool sp_observe_on;

static const struct sp_observe_table *observer; // written before the flag

void sp_observe_begin(void) {
    static struct sp_observe_host host = {
        .stamp = SP_OBSERVE_STAMP(host),
        .log = sp_log_write,
        .thread_number = sp_thread_number,
        .thread_is_first_time = sp_thread_is_first_time,
        .thread_start = sp_thread_start,
        .visit_pools = sp_tell_visit,
        .print_pool = sp_tell_print_visited,
        .words_of_bytes = sp_tell_bytes,
        .driver_checker = sp_driver_checker,
    };
    const struct sp_options *asked = sp_options();
    if (!asked->stats && !asked->stats_signal && !asked->leaks && !asked->trace &&
        !sp_driver_checker("simcudaBlockBegin"))
        return;
    host.lock_hook = sp_lock_hook();
    observer = sp_observe_load(&host);
    if (!observer)
        return;
    observer->begin(asked);
    sp_store_release(&sp_observe_on, true);
}

// A destructor runs behind the program's own and its handlers of atexit(), so that what they free
// counts as freed. It calls no driver. A forked child writes nothing.
__attribute__((destructor)) static void end_observing(void) {
    if (!sp_observe_is_on() || sp_fork_is_child())
        return;
    SP_UNCANCELLED;
    sigset_t pipe; // a reader of standard error that has gone is no reason to end otherwise
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, NULL);
    sp_store_relaxed(&sp_observe_on, false);
    if (!observer->end())
        return;
    observer->tell();
    if (sp_options()->stats)
        sp_attributes_tell_unused();
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
        .handle = sp_stream_handle_now(stream),
        .slot = stream->slot,
        .first = stream->first,
        .id = sp_stream_id(stream),
        .context_id = sp_load_relaxed(&stream->context_id),
        .has_id = stream->identified,
        .is_default = stream->is_default,
        .is_per_thread = sp_stream_handle_now(stream) == CU_STREAM_PER_THREAD,
        .is_legacy = kind == SP_STREAM_LEGACY,
        .is_blocking = kind == SP_STREAM_BLOCKING,
    };
    return facts;
}

static const char *place_of(const struct sp_pool *pool) {
    const struct sp_place *place = pool ? &pool->device->vmm.place : NULL;
    return !place                          ? ""
           : place->is_managed             ? " managed"
           : place->is_staged              ? " staging"
           : sp_place_node(place) >= 0     ? " node"
           : pool->device->vmm.ordinal < 0 ? " host"
                                           : "";
}

void sp_observe_allocated(const void *pointer, uint64_t size, const struct sp_stream *stream,
                          const struct sp_pool *pool, const void *caller) {
    struct sp_observe_stream facts;
    if (pointer)
        observer->allocated(pointer, size, facts_of(stream, &facts), place_of(pool), caller);
    else
        observer->refused(size, facts_of(stream, &facts), place_of(pool));
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
        observer->act(action, event, facts_of(stream, &facts));
}

void sp_observe_act(enum sp_observe_action action, const void *event) {
    if (sp_observe_is_on())
        observer->act(action, event, NULL);
}

void sp_observe_trimmed(const struct sp_pool *pool, uint64_t keep) {
    if (sp_observe_is_on())
        observer->trimmed(keep, place_of(pool));
}

uint64_t sp_observe_destroying(const struct sp_stream *stream) {
    struct sp_observe_stream facts;
    return stream && sp_observe_is_on() ? observer->number(facts_of(stream, &facts)) : 0;
}

void sp_observe_destroyed(const struct sp_stream *stream, uint64_t number) {
    if (stream && sp_observe_is_on())
        observer->destroyed(stream->slot, number);
}
