// The calls that synchronise, query, record and wait, and those that end a stream or an event.
#include "api/api.h"
#include "order/event.h"
#include "order/poll.h"
#include "order/resolve.h"
#include "process/observe.h"
#include "process/promises.h"
#include "process/reclaim.h"

// Finds the stream by what is promised of it.
static poolError_t find_stream(CUstream handle, int promises, struct sp_stream **stream) {
    bool by_handle = promises & poolPromiseStreamDestroy;
    *stream = by_handle ? sp_stream_cache_find(handle) : NULL;
    if (*stream)
        return poolSuccess;
    poolError_t error = sp_api_stream(handle, NULL, stream);
    if (error == poolSuccess && by_handle)
        sp_stream_cache_add(*stream, handle);
    return error;
}

static poolError_t enter_with_stream(CUstream handle, struct sp_stream **stream) {
    poolError_t error = sp_runtime_enter();
    return error == poolSuccess ? find_stream(handle, sp_api_promises(), stream) : error;
}

// Asks again where the first answer shows that no context is current.
SP_COLD static poolError_t find_late(struct sp_outcome outcome, CUstream handle, int promises,
                                     struct sp_stream **stream) {
    if (sp_outcome_lacks_context(outcome) && sp_stream_is_default(handle)) {
        outcome = sp_api_supply_context(outcome, handle, NULL);
        if (!sp_is_done(outcome))
            return sp_fail_outcome(outcome, "looking for a current context");
        outcome = sp_resolve_capture(handle);
    }
    if (sp_is_done(outcome))
        return find_stream(handle, promises, stream);
    sp_promises_note_capture(outcome, handle);
    return poolSuccess;
}

// Finds the stream of a call that a capturing stream may make. The stream is null then, as asking
// the driver for its identity would invalidate the capture. Any other fault of the handle is left
// to the driver's own call, which reports it.
static inline poolError_t enter_unless_capturing(CUstream handle, struct sp_stream **stream) {
    poolError_t entered = sp_runtime_enter();
    *stream = NULL;
    if (SP_UNLIKELY(entered != poolSuccess))
        return entered;
    int promises = sp_api_promises();
    if (promises & poolPromiseNoCapture && find_stream(handle, promises, stream) == poolSuccess)
        return poolSuccess;
    struct sp_outcome capture = sp_resolve_capture(handle);
    return SP_LIKELY(sp_is_done(capture)) ? find_stream(handle, promises, stream)
                                          : find_late(capture, handle, promises, stream);
}

static poolError_t finish(bool turn, struct sp_outcome outcome, const char *what) {
    sp_observe_give_turn(turn);
    return sp_is_done(outcome) ? poolSuccess : sp_fail_outcome(outcome, what);
}

poolError_t poolStreamSynchronize(CUstream handle) {
    struct sp_stream *stream;
    poolError_t entered = enter_with_stream(handle, &stream);
    if (entered != poolSuccess)
        return entered;
    if (sp_observe_records())
        sp_synchronize_ahead_of_stream(handle);
    bool turn = sp_observe_take_turn();
    struct sp_outcome outcome = sp_synchronize_stream(stream, handle);
    if (sp_is_done(outcome)) {
        sp_reclaim_after_synchronize(stream);
        sp_observe_act_on_stream(SP_RECORD_SYNCHRONIZE_STREAM, NULL, stream);
    }
    return finish(turn, outcome, "synchronising the stream");
}

poolError_t poolEventSynchronize(CUevent event) {
    poolError_t entered = sp_runtime_enter();
    if (entered != poolSuccess)
        return entered;
    struct sp_stream *stream = NULL;
    if (sp_observe_records())
        sp_synchronize_ahead_of_event(event);
    bool turn = sp_observe_take_turn();
    struct sp_outcome outcome = sp_event_synchronize(event, &stream);
    if (sp_is_done(outcome)) {
        if (stream)
            sp_reclaim_after_synchronize(stream);
        sp_observe_act(SP_RECORD_SYNCHRONIZE_EVENT, event);
    }
    return finish(turn, outcome, "synchronising the event");
}

struct sp_outcome sp_api_synchronize_context(const struct sp_pool *pool) {
    struct sp_outcome outcome = sp_synchronize_context();
    if (!sp_outcome_lacks_context(outcome))
        return outcome;
    outcome = sp_api_supply_context(outcome, NULL, pool);
    return sp_is_done(outcome) ? sp_synchronize_context() : outcome;
}

poolError_t poolDeviceSynchronize(void) {
    poolError_t entered = sp_runtime_enter();
    if (entered != poolSuccess)
        return entered;
    if (sp_observe_records())
        sp_synchronize_ahead_of_context();
    bool turn = sp_observe_take_turn();
    struct sp_outcome outcome = sp_api_synchronize_context(NULL);
    if (sp_is_done(outcome)) {
        sp_reclaim_after_synchronize(NULL);
        sp_observe_act(SP_RECORD_SYNCHRONIZE_DEVICE, NULL);
    }
    return finish(turn, outcome, "synchronising the context");
}

static poolError_t answer(bool turn, struct sp_outcome outcome, bool complete, const char *what) {
    poolError_t error = finish(turn, outcome, what);
    return error != poolSuccess || complete
               ? error
               : sp_fail(poolErrorNotReady, "%s: not complete yet", what);
}

poolError_t poolStreamQuery(CUstream handle) {
    struct sp_stream *stream;
    bool complete;
    poolError_t entered = enter_with_stream(handle, &stream);
    if (entered != poolSuccess)
        return entered;
    bool turn = sp_observe_take_turn();
    struct sp_outcome outcome = sp_synchronize_query(stream, handle, &complete);
    if (sp_is_done(outcome) && complete)
        sp_observe_act_on_stream(SP_RECORD_QUERY_STREAM, NULL, stream);
    return answer(turn, outcome, complete, "querying the stream");
}

poolError_t poolEventQuery(CUevent event) {
    struct sp_stream *stream;
    bool complete;
    poolError_t entered = sp_runtime_enter();
    if (entered != poolSuccess)
        return entered;
    bool turn = sp_observe_take_turn();
    struct sp_outcome outcome = sp_event_query(event, &stream, &complete);
    if (sp_is_done(outcome) && complete)
        sp_observe_act(SP_RECORD_QUERY_EVENT, event);
    return answer(turn, outcome, complete, "querying the event");
}

poolError_t poolEventRecord(CUevent event, CUstream handle) {
    struct sp_stream *stream;
    poolError_t entered = enter_unless_capturing(handle, &stream);
    if (entered != poolSuccess)
        return entered;
    bool turn = sp_observe_take_turn();
    struct sp_outcome outcome = sp_event_record(event, stream, handle);
    if (sp_is_done(outcome))
        sp_observe_act_on_stream(SP_RECORD_RECORD, event, stream);
    return finish(turn, outcome, "recording the event");
}

poolError_t poolStreamWaitEvent(CUstream handle, CUevent event, unsigned int flags) {
    struct sp_stream *stream;
    poolError_t entered = enter_unless_capturing(handle, &stream);
    if (entered != poolSuccess)
        return entered;
    bool turn = sp_observe_take_turn();
    struct sp_outcome outcome = sp_event_wait(event, stream, handle, flags);
    if (sp_is_done(outcome))
        sp_observe_act_on_stream(SP_RECORD_WAIT, event, stream);
    return finish(turn, outcome, "waiting for the event");
}

poolError_t poolStreamDestroy(CUstream handle) {
    struct sp_stream *stream;
    poolError_t entered = enter_unless_capturing(handle, &stream);
    if (entered != poolSuccess)
        return entered;
    bool turn = sp_observe_take_turn();
    uint64_t number = sp_observe_destroying(stream);
    struct sp_outcome outcome = sp_end_stream(stream, handle);
    if (sp_is_done(outcome))
        sp_observe_destroyed(stream, number);
    return finish(turn, outcome, "destroying the stream");
}

poolError_t poolEventDestroy(CUevent event) {
    poolError_t entered = sp_runtime_enter();
    if (entered != poolSuccess)
        return entered;
    bool turn = sp_observe_take_turn();
    struct sp_outcome outcome = sp_event_destroy(event);
    if (sp_is_done(outcome))
        sp_observe_act(SP_RECORD_DESTROY_EVENT, event);
    return finish(turn, outcome, "destroying the event");
}

poolError_t poolStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags) {
    return poolStreamWaitEvent(sp_api_per_thread(stream), event, flags);
}

poolError_t poolStreamSynchronize_ptsz(CUstream stream) {
    return poolStreamSynchronize(sp_api_per_thread(stream));
}

poolError_t poolStreamQuery_ptsz(CUstream stream) {
    return poolStreamQuery(sp_api_per_thread(stream));
}

poolError_t poolEventRecord_ptsz(CUevent event, CUstream stream) {
    return poolEventRecord(event, sp_api_per_thread(stream));
}
