#include "order/indirect.h"

#include "base/thread.h"
#include "order/identity.h"
#include "order/mark.h"

#include <stdlib.h>

// The library itself may have recorded an event just now, which is complete a microsecond later:
// so a question is asked more than once.
enum { QUESTIONS = 64 };

// --------------------------------------------------------------------------------- asking, waiting

bool sp_indirect_is_seen_by_legacy(const struct sp_stream *stream) {
    return !sp_identity_records_each_free(stream) &&
           sp_stream_kind_of(stream) != SP_STREAM_NON_BLOCKING;
}

static bool close_numbers(struct sp_snapshot *snapshot, const struct sp_stream *of,
                          enum sp_indirect whom) {
    return sp_progress_close_many(snapshot, of->context, of->context_id,
                                  whom == SP_INDIRECT_LEGACY ? sp_indirect_is_seen_by_legacy
                                                             : NULL);
}

// The legacy stream is that of the current context. It tells of a blocking stream that captures,
// and leaves the capture as it is.
static bool may_pass_legacy(void) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return sp_driver->cuStreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
}

// A capture may begin between two questions.
static struct sp_outcome query_legacy(const struct sp_stream *stream, bool *complete) {
    struct sp_outcome outcome = sp_context_enter(stream->context);
    if (!sp_is_done(outcome))
        return outcome;
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    for (int i = 0; i < QUESTIONS && sp_is_done(outcome) && !*complete && may_pass_legacy(); i++)
        outcome = sp_outcome_of_query(sp_driver->cuStreamQuery(CU_STREAM_LEGACY), "cuStreamQuery",
                                      complete);
    sp_capture_mode_restore(mode);
    sp_context_leave();
    return outcome;
}

// Records the event behind the work of all of them.
static struct sp_outcome record(const struct sp_stream *stream, CUevent event,
                                enum sp_indirect whom) {
    if (whom == SP_INDIRECT_CONTEXT)
        return sp_outcome_of_driver(sp_driver->cuCtxRecordEvent(stream->context, event),
                                    "cuCtxRecordEvent");
    struct sp_outcome outcome = sp_context_enter(stream->context);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = may_pass_legacy() ? sp_private_event_record(event, CU_STREAM_LEGACY)
                                : sp_outcome_of(SP_CAPTURES);
    sp_context_leave();
    return outcome;
}

static struct sp_outcome query_context(const struct sp_stream *stream, bool *complete) {
    CUevent event;
    struct sp_outcome outcome = sp_private_event_create(stream, &event);
    if (!sp_is_done(outcome))
        return outcome;
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    outcome = record(stream, event, SP_INDIRECT_CONTEXT);
    for (int i = 0; i < QUESTIONS && sp_is_done(outcome) && !*complete; i++)
        outcome = sp_private_event_query(event, complete);
    sp_capture_mode_restore(mode);
    sp_private_event_destroy(event);
    return outcome;
}

// Without host memory nothing is asked, and nothing learned.
struct sp_outcome sp_indirect_ask(struct sp_stream *stream, enum sp_indirect whom) {
    bool complete = false;
    struct sp_snapshot snapshot;
    if (whom == SP_INDIRECT_CONTEXT && !sp_driver->cuCtxRecordEvent)
        return sp_outcome_of(SP_NOT_SUPPORTED);
    if ((whom == SP_INDIRECT_LEGACY && sp_identity_records_each_free(stream)) ||
        !close_numbers(&snapshot, stream, whom))
        return sp_outcome_done();
    struct sp_outcome outcome = whom == SP_INDIRECT_LEGACY ? query_legacy(stream, &complete)
                                                           : query_context(stream, &complete);
    if (complete)
        sp_progress_publish_many(&snapshot, SP_FOUND);
    sp_progress_end_snapshot(&snapshot);
    return outcome;
}

struct sp_outcome sp_indirect_wait(struct sp_stream *stream, enum sp_indirect whom) {
    CUevent event;
    struct sp_snapshot snapshot;
    bool is_supported = whom == SP_INDIRECT_LEGACY ? !sp_identity_records_each_free(stream)
                                                   : sp_driver->cuCtxRecordEvent != NULL;
    struct sp_outcome outcome =
        is_supported ? sp_private_event_create(stream, &event) : sp_outcome_of(SP_NOT_SUPPORTED);
    if (!sp_is_done(outcome))
        return outcome;
    if (!close_numbers(&snapshot, stream, whom)) {
        sp_private_event_destroy(event);
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    }
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    outcome = record(stream, event, whom);
    if (sp_is_done(outcome))
        outcome = sp_private_event_wait(stream->handle, event);
    sp_capture_mode_restore(mode);
    for (uint32_t slot = 0; sp_is_done(outcome) && slot < snapshot.count; slot++) {
        if (snapshot.numbers[slot] > 0 && slot != stream->slot)
            sp_progress_run_after(stream, (struct sp_fence){slot, snapshot.numbers[slot]});
    }
    sp_progress_end_snapshot(&snapshot);
    sp_private_event_destroy(event);
    return outcome;
}

// ----------------------------------------------------------------------------------- context waits

#define PATIENCE_AT_EXIT (2 * SP_SECOND)

// A wait is one synchronise.
struct wait {
    struct sp_list link; // among those under way
    CUcontext context;
    uint64_t context_id;
    struct sp_snapshot snapshot;
    // Guarded by the lock:
    bool is_done; // with `outcome`
    bool is_left; // nobody waits for it any more
    struct sp_outcome outcome;
};

struct sp_context_waits sp_context_waits = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .under_way = {&sp_context_waits.under_way, &sp_context_waits.under_way},
};

static struct sp_outcome synchronize_and_publish(struct wait *wait) {
    struct sp_outcome outcome = sp_context_enter(wait->context);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = sp_outcome_of_driver(sp_driver->cuCtxSynchronize(), "cuCtxSynchronize");
    sp_context_leave();
    if (sp_is_done(outcome))
        sp_progress_publish_many(&wait->snapshot, SP_FOUND);
    return outcome;
}

static void free_wait(struct wait *wait) {
    sp_progress_end_snapshot(&wait->snapshot);
    free(wait);
}

static struct wait *new_wait(const struct sp_stream *stream) {
    struct wait *wait = calloc(1, sizeof *wait);
    if (!wait)
        return NULL;
    wait->context = stream->context;
    wait->context_id = stream->context_id;
    if (close_numbers(&wait->snapshot, stream, SP_INDIRECT_CONTEXT))
        return wait;
    free(wait);
    return NULL;
}

static void *run(void *argument) {
    struct wait *wait = argument;
    struct sp_outcome outcome = synchronize_and_publish(wait);
    pthread_mutex_lock(&sp_context_waits.lock);
    bool is_left = wait->is_left;
    sp_list_remove(&wait->link);
    wait->outcome = outcome;
    wait->is_done = true;
    pthread_cond_broadcast(&sp_context_waits.ended);
    pthread_mutex_unlock(&sp_context_waits.lock);
    if (is_left)
        free_wait(wait);
    return NULL;
}

// Waits for the end of a synchronise. False once the time is over.
static bool await_end_of_one_locked(uint64_t end) {
    return sp_thread_wait_until(&sp_context_waits.ended, &sp_context_waits.lock, end);
}

// The driver's own end comes behind it.
static void wait_at_exit(void) {
    uint64_t end = sp_time_now() + PATIENCE_AT_EXIT;
    if (sp_fork_is_child())
        return;
    pthread_mutex_lock(&sp_context_waits.lock);
    while (!sp_list_empty(&sp_context_waits.under_way) && await_end_of_one_locked(end))
        ;
    pthread_mutex_unlock(&sp_context_waits.lock);
}

static bool is_under_way_locked(const struct sp_stream *stream) {
    SP_LIST_FOR_EACH_OF(const struct wait, wait, link, &sp_context_waits.under_way) {
        if (sp_stream_is_of(stream, wait->context, wait->context_id))
            return true;
    }
    return false;
}

// A synchronise that is under way already has closed its numbers before: it may know less than is
// asked for.
static struct sp_outcome await_own_locked(const struct sp_stream *stream, uint64_t end) {
    while (is_under_way_locked(stream)) {
        if (!await_end_of_one_locked(end))
            return sp_outcome_done();
    }
    pthread_t thread;
    struct wait *wait = new_wait(stream);
    if (!wait)
        return sp_outcome_done();
    wait->is_done = !sp_thread_start(&thread, run, wait);
    if (!wait->is_done) {
        pthread_detach(thread);
        sp_list_push_back(&sp_context_waits.under_way, &wait->link);
    }
    while (!wait->is_done && await_end_of_one_locked(end))
        ;
    wait->is_left = !wait->is_done; // then the thread frees it
    if (wait->is_left)
        return sp_outcome_done();
    struct sp_outcome outcome = wait->outcome; // no failure if there was no thread
    free_wait(wait);
    return outcome;
}

struct sp_outcome sp_indirect_await_context(const struct sp_stream *stream, uint64_t nanoseconds) {
    uint64_t now = sp_time_now();
    uint64_t end = nanoseconds < UINT64_MAX - now ? now + nanoseconds : UINT64_MAX;
    struct sp_outcome outcome = sp_outcome_done();
    if (nanoseconds > 0 && sp_driver_is_scheduled()) {
        struct wait *wait = new_wait(stream);
        if (!wait)
            return outcome;
        outcome = synchronize_and_publish(wait);
        free_wait(wait);
    } else if (nanoseconds > 0) {
        pthread_mutex_lock(&sp_context_waits.lock);
        if (!sp_context_waits.is_ready)
            sp_context_waits.is_ready =
                sp_thread_init_condition(&sp_context_waits.ended) && atexit(wait_at_exit) == 0;
        if (sp_context_waits.is_ready)
            outcome = await_own_locked(stream, end);
        pthread_mutex_unlock(&sp_context_waits.lock);
    }
    return outcome;
}
