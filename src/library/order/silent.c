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
typedef CUresult question(const struct sp_stream *stream, bool *complete);

// Without host memory nothing is asked, and nothing learned.
static CUresult ask(const struct sp_stream *stream, sp_closing_filter *is_about,
                    question *ask_driver) {
    bool complete = false;
    struct sp_closing closing;
    if (!begin_closing(&closing, stream, is_about))
        return CUDA_SUCCESS;
    CUresult error = ask_driver(stream, &complete);
    if (complete)
        sp_closing_publish(&closing, SP_FOUND);
    sp_closing_end(&closing);
    return error;
}

typedef CUresult recording(const struct sp_stream *stream, CUevent event);

static CUresult record_and_wait(const struct sp_stream *stream, recording *record, CUevent event) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    CUresult error = record(stream, event);
    if (error == CUDA_SUCCESS)
        error = sp_private_event_wait(stream->handle, event);
    sp_capture_mode_restore(mode);
    return error;
}

static CUresult wait_and_join(struct sp_stream *stream, sp_closing_filter *is_about,
                              recording *record, CUevent event) {
    struct sp_closing closing;
    if (!begin_closing(&closing, stream, is_about))
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult error = record_and_wait(stream, record, event);
    if (error == CUDA_SUCCESS)
        sp_closing_join(&closing, stream);
    sp_closing_end(&closing);
    return error;
}

static CUresult wait_behind(struct sp_stream *stream, sp_closing_filter *is_about,
                            recording *record) {
    CUevent event;
    CUresult error = sp_private_event_create(stream, &event);
    if (error != CUDA_SUCCESS)
        return error;
    error = wait_and_join(stream, is_about, record, event);
    sp_private_event_destroy(event);
    return error;
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
static CUresult query_legacy(const struct sp_stream *stream, bool *complete) {
    (void)stream;
    CUresult error = CUDA_ERROR_NOT_READY;
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    for (int i = 0; i < QUESTIONS && error == CUDA_ERROR_NOT_READY && may_pass_legacy(); i++)
        error = sp_driver->cuStreamQuery(CU_STREAM_LEGACY);
    sp_capture_mode_restore(mode);
    *complete = error == CUDA_SUCCESS;
    return error == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : sp_native_noted(error, "cuStreamQuery");
}

static CUresult record_legacy(const struct sp_stream *stream, CUevent event) {
    (void)stream;
    return may_pass_legacy() ? sp_private_event_record(event, CU_STREAM_LEGACY)
                             : CUDA_ERROR_NOT_READY;
}

static CUresult ask_legacy(struct sp_stream *stream) {
    return ask(stream, sp_silent_is_seen_by_legacy, query_legacy);
}

static CUresult wait_legacy(struct sp_stream *stream) {
    return wait_behind(stream, sp_silent_is_seen_by_legacy, record_legacy);
}

// The legacy stream is that of the current context.
static CUresult in_context(struct sp_stream *stream, CUresult (*act)(struct sp_stream *stream)) {
    CUcontext popped;
    CUresult error =
        sp_native_noted(sp_driver->cuCtxPushCurrent(stream->context), "cuCtxPushCurrent");
    if (error != CUDA_SUCCESS)
        return error;
    error = act(stream);
    sp_driver->cuCtxPopCurrent(&popped);
    return error;
}

CUresult sp_silent_ask_legacy(struct sp_stream *stream) {
    return sp_identity_records_each_free(stream) ? CUDA_SUCCESS : in_context(stream, ask_legacy);
}

CUresult sp_silent_wait_legacy(struct sp_stream *stream) {
    return sp_identity_records_each_free(stream) ? CUDA_ERROR_NOT_READY
                                                 : in_context(stream, wait_legacy);
}

// ------------------------------------------------------------------------------------- the context

static CUresult record_context(const struct sp_stream *stream, CUevent event) {
    return sp_native_noted(sp_driver->cuCtxRecordEvent(stream->context, event), "cuCtxRecordEvent");
}

static CUresult query_behind_record(const struct sp_stream *stream, CUevent event, bool *complete) {
    CUstreamCaptureMode mode = sp_capture_mode_relax();
    CUresult error = record_context(stream, event);
    for (int i = 0; i < QUESTIONS && error == CUDA_SUCCESS && !*complete; i++)
        error = sp_private_event_query(event, complete);
    sp_capture_mode_restore(mode);
    return error;
}

static CUresult query_context(const struct sp_stream *stream, bool *complete) {
    CUevent event;
    CUresult error = sp_private_event_create(stream, &event);
    if (error != CUDA_SUCCESS)
        return error;
    error = query_behind_record(stream, event, complete);
    sp_private_event_destroy(event);
    return error;
}

CUresult sp_silent_ask_context(struct sp_stream *stream) {
    return sp_driver->cuCtxRecordEvent ? ask(stream, NULL, query_context)
                                       : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sp_silent_wait_context(struct sp_stream *stream) {
    return sp_driver->cuCtxRecordEvent ? wait_behind(stream, NULL, record_context)
                                       : CUDA_ERROR_NOT_SUPPORTED;
}
