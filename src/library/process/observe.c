#include "process/observe.h"

#include "base/log.h"
#include "base/options.h"
#include "base/thread.h"
#include "order/synchronize.h"
#include "process/observe_load.h"

_Atomic bool sp_observe_on;

static const struct sp_observe_table *observer; // written before the flag

// ----------------------------------------------------------------------------------- begin and end

void sp_observe_begin(void) {
    static struct sp_observe_host host = {
        .stamp = SP_OBSERVE_STAMP(host),
        .log = sp_log_write,
        .thread_number = sp_thread_number,
        .thread_is_first_time = sp_thread_is_first_time,
    };
    const struct sp_options *asked = sp_options();
    if (!sp_options_observe())
        return;
    host.lock_hook = sp_lock_hook();
    observer = sp_observe_load(&host);
    if (!observer)
        return;
    observer->begin(asked->trace, asked->leaks ? asked->stacks : 0);
    sp_store_release(&sp_observe_on, true);
}

bool sp_observe_end(void) {
    sp_store_relaxed(&sp_observe_on, false);
    return observer->end();
}

// ------------------------------------------------------------------------------------------- turns

bool sp_observe_wait_for_turn(void) {
    return observer->take_turn();
}

void sp_observe_give_turn(bool taken) {
    if (taken)
        observer->give_turn();
}

static bool records(void) {
    return sp_observe_is_on() && observer->records();
}

bool sp_observe_take_turn_behind_stream(CUstream handle) {
    if (!records())
        return false;
    sp_synchronize_ahead_of_stream(handle);
    return observer->take_turn();
}

bool sp_observe_take_turn_behind_event(CUevent event) {
    if (!records())
        return false;
    sp_synchronize_ahead_of_event(event);
    return observer->take_turn();
}

bool sp_observe_take_turn_behind_context(void) {
    if (!records())
        return false;
    sp_synchronize_ahead_of_context();
    return observer->take_turn();
}

// --------------------------------------------------------------------------- allocations and frees

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
    observer->allocated(pointer, size, facts_of(stream, &facts), caller);
}

void sp_observe_refused(uint64_t size, const struct sp_stream *stream) {
    struct sp_observe_stream facts;
    observer->refused(size, facts_of(stream, &facts));
}

struct sp_live_block *sp_observe_freeing(const void *pointer) {
    return observer->freeing(pointer);
}

void sp_observe_freed(struct sp_live_block *block, const struct sp_stream *stream) {
    struct sp_observe_stream facts;
    observer->freed(block, facts_of(stream, &facts));
}

void sp_observe_not_freed(struct sp_live_block *block) {
    observer->not_freed(block);
}

void sp_observe_joined(const void *pointer, const struct sp_stream *other,
                       const struct sp_stream *stream) {
    sp_observe_act_on_stream(SP_RECORD_RECORD, pointer, other);
    sp_observe_act_on_stream(SP_RECORD_WAIT, pointer, stream);
    sp_observe_act(SP_RECORD_DESTROY_EVENT, pointer, 0);
}

void sp_observe_read(struct sp_observe_figures *figures) {
    observer->read(figures);
}

void sp_observe_print_leaks(FILE *out) {
    observer->print_leaks(out);
}

// -------------------------------------------------------------------------------------- other acts

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
