#include "order/silent.h"

#include "order/closing.h"
#include "order/identity.h"
#include "order/private_event.h"

// The library itself may have recorded an event just now, which is complete a microsecond later:
// so a question is asked more than once.
enum { QUESTIONS = 64 };

// --------------------------------------------------------------------------------- asking, waiting

static bool begin_closing(struct sp_closing *closing, const struct sp_stream *of,
                          sp_closing_filter *is_about) {
    return sp_closing_begin(closing, of->context, of->context_id, is_about);
}

// Asks the driver whether all that the question is about is complete; pending is no failure.
typedef struct sp_outcome question(const struct sp_stream *stream, bool *complete);

// Without host memory nothing is asked, and nothing learned.
static struct sp_outcome ask(const struct sp_stream *stream, sp_closing_filter *is_about,
                             question *ask_driver) {
    bool complete = false;
    struct sp_closing closing;
    if (!begin_closing(&closing, stream, is_about))
        return sp_outcome_done();
    struct sp_outcome outcome = ask_driver(stream, &complete);
    if (complete)
        sp_closing_publish(&closing, SP_FOUND);
    sp_closing_end(&closing);
    return outcome;
}

typedef struct sp_outcome recording(const struct sp_stream *stream, CUevent event);

static struct sp_outcome record_and_wait(const struct sp_stream *stream, recording *record,
                                         CUevent event) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome = record(stream, event);
    if (sp_is_done(outcome))
        outcome = sp_private_event_wait(stream->handle, event);
    sp_capture_mode_restore(mode);
    return outcome;
}

static struct sp_outcome wait_and_join(struct sp_stream *stream, sp_closing_filter *is_about,
                                       recording *record, CUevent event) {
    struct sp_closing closing;
    if (!begin_closing(&closing, stream, is_about))
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    struct sp_outcome outcome = record_and_wait(stream, record, event);
    if (sp_is_done(outcome))
        sp_closing_join(&closing, stream);
    sp_closing_end(&closing);
    return outcome;
}

static struct sp_outcome wait_behind(struct sp_stream *stream, sp_closing_filter *is_about,
                                     recording *record) {
    CUevent event;
    struct sp_outcome outcome = sp_private_event_create(stream, &event);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = wait_and_join(stream, is_about, record, event);
    sp_private_event_destroy(event);
    return outcome;
}

// ------------------------------------------------------------------------------- the legacy stream

bool sp_silent_is_seen_by_legacy(const struct sp_stream *stream) {
    return !sp_identity_records_each_free(stream) &&
           sp_stream_kind_of(stream) != SP_STREAM_NON_BLOCKING;
}

// The legacy stream tells of a blocking stream that captures, and leaves the capture as it is.
static bool may_pass_legacy(void) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return sp_driver->cuStreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
}

// A capture may begin between two questions.
static struct sp_outcome query_legacy(const struct sp_stream *stream, bool *complete) {
    (void)stream;
    struct sp_outcome outcome = sp_outcome_done();
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    for (int i = 0; i < QUESTIONS && sp_is_done(outcome) && !*complete && may_pass_legacy(); i++)
        outcome = sp_outcome_of_query(sp_driver->cuStreamQuery(CU_STREAM_LEGACY), "cuStreamQuery",
                                      complete);
    sp_capture_mode_restore(mode);
    return outcome;
}

static struct sp_outcome record_legacy(const struct sp_stream *stream, CUevent event) {
    (void)stream;
    return may_pass_legacy() ? sp_private_event_record(event, CU_STREAM_LEGACY)
                             : sp_outcome_of(SP_CAPTURES);
}

static struct sp_outcome ask_legacy(struct sp_stream *stream) {
    return ask(stream, sp_silent_is_seen_by_legacy, query_legacy);
}

static struct sp_outcome wait_legacy(struct sp_stream *stream) {
    return wait_behind(stream, sp_silent_is_seen_by_legacy, record_legacy);
}

// The legacy stream is that of the current context.
static struct sp_outcome in_context(struct sp_stream *stream,
                                    struct sp_outcome (*act)(struct sp_stream *stream)) {
    CUcontext popped;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuCtxPushCurrent(stream->context), "cuCtxPushCurrent");
    if (!sp_is_done(outcome))
        return outcome;
    outcome = act(stream);
    sp_driver->cuCtxPopCurrent(&popped);
    return outcome;
}

struct sp_outcome sp_silent_ask_legacy(struct sp_stream *stream) {
    return sp_identity_records_each_free(stream) ? sp_outcome_done()
                                                 : in_context(stream, ask_legacy);
}

struct sp_outcome sp_silent_wait_legacy(struct sp_stream *stream) {
    return sp_identity_records_each_free(stream) ? sp_outcome_of(SP_NOT_SUPPORTED)
                                                 : in_context(stream, wait_legacy);
}

// ------------------------------------------------------------------------------------- the context

static struct sp_outcome record_context(const struct sp_stream *stream, CUevent event) {
    return sp_outcome_of_driver(sp_driver->cuCtxRecordEvent(stream->context, event),
                                "cuCtxRecordEvent");
}

static struct sp_outcome query_behind_record(const struct sp_stream *stream, CUevent event,
                                             bool *complete) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    struct sp_outcome outcome = record_context(stream, event);
    for (int i = 0; i < QUESTIONS && sp_is_done(outcome) && !*complete; i++)
        outcome = sp_private_event_query(event, complete);
    sp_capture_mode_restore(mode);
    return outcome;
}

static struct sp_outcome query_context(const struct sp_stream *stream, bool *complete) {
    CUevent event;
    struct sp_outcome outcome = sp_private_event_create(stream, &event);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = query_behind_record(stream, event, complete);
    sp_private_event_destroy(event);
    return outcome;
}

struct sp_outcome sp_silent_ask_context(struct sp_stream *stream) {
    return sp_driver->cuCtxRecordEvent ? ask(stream, NULL, query_context)
                                       : sp_outcome_of(SP_NOT_SUPPORTED);
}

struct sp_outcome sp_silent_wait_context(struct sp_stream *stream) {
    return sp_driver->cuCtxRecordEvent ? wait_behind(stream, NULL, record_context)
                                       : sp_outcome_of(SP_NOT_SUPPORTED);
}
