#include "order/silent.h"

#include "order/learn.h"
#include "order/private_event.h"

#include <stdlib.h>

// The library itself may have recorded an event just now, which is complete a microsecond later: so a question is asked more than once.
enum { QUESTIONS = 64 };

// The numbers of the streams that a question is about, closed before it, by slot; 0 for other streams.
struct closed {
    uint32_t count;
    uint64_t *numbers;
};

static bool is_asked_by_legacy(const struct sp_stream *stream) {
    return stream->identified &&
           atomic_load_explicit(&stream->kind, memory_order_relaxed) != SP_STREAM_NON_BLOCKING;
}

static bool is_identified(const struct sp_stream *stream) {
    return stream->identified;
}

// Null numbers without host memory.
static struct closed close_numbers(const struct sp_stream *of, bool (*is_asked)(const struct sp_stream *)) {
    struct closed closed = {.count = sp_stream_count()};
    closed.numbers = calloc(closed.count, sizeof *closed.numbers);
    for (uint32_t slot = 0; closed.numbers && slot < closed.count; slot++) {
        struct sp_stream *stream = sp_stream_at(slot);
        if (sp_stream_is_of(stream, of->context, of->context_id) && is_asked(stream))
            closed.numbers[slot] = sp_stream_close_sequence(stream);
    }
    return closed;
}

static void publish(const struct closed *closed) {
    for (uint32_t slot = 0; slot < closed->count; slot++) {
        if (closed->numbers[slot] > 0)
            sp_stream_publish(sp_stream_at(slot), closed->numbers[slot], SP_FOUND);
    }
}

// In the context. The legacy stream tells of a blocking stream that captures, and leaves the capture as it is.
static bool may_ask_legacy(void) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    return sp_driver->cuStreamIsCapturing(CU_STREAM_LEGACY, &status) == CUDA_SUCCESS &&
           status == CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult query_legacy(void) {
    CUresult error = CUDA_ERROR_NOT_READY;
    CUstreamCaptureMode mode = sp_relaxed_mode_enter();
    for (int i = 0; i < QUESTIONS && error == CUDA_ERROR_NOT_READY; i++)
        error = sp_driver->cuStreamQuery(CU_STREAM_LEGACY);
    sp_relaxed_mode_leave(mode);
    return error == CUDA_ERROR_NOT_READY ? error : sp_native_noted(error, "cuStreamQuery");
}

static CUresult ask_legacy(struct sp_stream *stream) {
    struct closed closed = close_numbers(stream, is_asked_by_legacy);
    CUresult error = closed.numbers ? query_legacy() : CUDA_ERROR_NOT_READY;
    if (error == CUDA_SUCCESS)
        publish(&closed);
    free(closed.numbers);
    return error;
}

static CUresult record_legacy_and_wait(const struct sp_stream *stream, CUevent event) {
    CUstreamCaptureMode mode = sp_relaxed_mode_enter();
    CUresult error = sp_private_event_record(event, CU_STREAM_LEGACY);
    if (error == CUDA_SUCCESS)
        error = sp_private_event_wait(stream->handle, event);
    sp_relaxed_mode_leave(mode);
    return error;
}

static void join_all(struct sp_stream *stream, const struct closed *closed) {
    for (uint32_t slot = 0; slot < closed->count; slot++) {
        if (closed->numbers[slot] > 0 && slot != stream->slot)
            sp_stream_join(stream, (struct sp_fence){slot, closed->numbers[slot]}, NULL);
    }
}

static CUresult wait_legacy(struct sp_stream *stream) {
    CUevent event;
    CUresult error = sp_private_event_create(stream, &event);
    if (error != CUDA_SUCCESS)
        return error;
    struct closed closed = close_numbers(stream, is_asked_by_legacy);
    error = closed.numbers ? record_legacy_and_wait(stream, event) : CUDA_ERROR_OUT_OF_MEMORY;
    if (error == CUDA_SUCCESS)
        join_all(stream, &closed);
    free(closed.numbers);
    sp_private_event_destroy(event);
    return error;
}

// In the stream's context, where the legacy stream may be passed to the driver. CUDA_ERROR_NOT_READY where it may not.
static CUresult in_context(struct sp_stream *stream, CUresult (*act)(struct sp_stream *stream)) {
    CUcontext popped;
    if (!stream->identified)
        return CUDA_ERROR_NOT_READY;
    CUresult error = sp_native_noted(sp_driver->cuCtxPushCurrent(stream->context), "cuCtxPushCurrent");
    if (error != CUDA_SUCCESS)
        return error;
    error = may_ask_legacy() ? act(stream) : CUDA_ERROR_NOT_READY;
    sp_driver->cuCtxPopCurrent(&popped);
    return error;
}

CUresult sp_silent_ask_legacy(struct sp_stream *stream) {
    CUresult error = in_context(stream, ask_legacy);
    return error == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : error;
}

CUresult sp_silent_wait_legacy(struct sp_stream *stream) {
    return in_context(stream, wait_legacy);
}

// ------------------------------------------------------------------------------------------------ the context

static CUresult record_and_ask(const struct sp_stream *stream, CUevent event, bool *complete) {
    CUstreamCaptureMode mode = sp_relaxed_mode_enter();
    CUresult error = sp_native_noted(sp_driver->cuCtxRecordEvent(stream->context, event), "cuCtxRecordEvent");
    for (int i = 0; i < QUESTIONS && error == CUDA_SUCCESS && !*complete; i++)
        error = sp_private_event_query(event, complete);
    sp_relaxed_mode_leave(mode);
    return error;
}

CUresult sp_silent_ask_context(struct sp_stream *stream) {
    CUevent event;
    bool complete = false;
    if (!sp_driver->cuCtxRecordEvent || !stream->identified)
        return CUDA_ERROR_NOT_SUPPORTED;
    CUresult error = sp_private_event_create(stream, &event);
    if (error != CUDA_SUCCESS)
        return error;
    struct closed closed = close_numbers(stream, is_identified);
    error = closed.numbers ? record_and_ask(stream, event, &complete) : CUDA_ERROR_OUT_OF_MEMORY;
    if (complete)
        publish(&closed);
    free(closed.numbers);
    sp_private_event_destroy(event);
    return error;
}
