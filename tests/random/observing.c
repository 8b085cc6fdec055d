#include "random/observing.h"

#include "api/observe.h"
#include "support/check.h"
#include "support/device.h"

// Memory of a pool is freed here, and no other.
static poolError_t observed_free(void *pointer, CUstream stream) {
    bool is_foreign = false;
    return sp_observe_free(pointer, stream, &is_foreign);
}

static bool is_observed(const struct thread *thread) {
    return thread->world->plan.observed;
}

static CUcontext context_of(const struct thread *thread, unsigned context) {
    return thread->world->contexts[context].handle;
}

void observing_begin(const struct plan *plan) {
    if (plan->observed)
        sp_observe_all();
}

void observing_created(struct thread *thread, const struct stream *stream) {
    if (!is_observed(thread) || numbers_once_in(&thread->numbers, 4))
        return;
    bool is_told_where = !numbers_once_in(&thread->numbers, 4);
    sp_observe_created(stream->handle, is_told_where ? context_of(thread, stream->context) : NULL,
                       is_told_where ? 0 : -1);
}

CUresult observing_destroy(const struct thread *thread, CUstream handle) {
    if (!is_observed(thread))
        return test_driver()->cuStreamDestroy(handle);
    uint64_t before = sp_observe_now();
    sp_observe_stream_ends(handle);
    CUresult result = test_driver()->cuStreamDestroy(handle);
    if (result == CUDA_SUCCESS)
        sp_observe_stream_ended(handle, before);
    return result;
}

CUresult observing_destroy_context(const struct thread *thread, unsigned context) {
    CUcontext handle = context_of(thread, context);
    uint64_t before = is_observed(thread) ? sp_observe_now() : 0;
    CUresult result = test_driver()->cuCtxDestroy(handle);
    if (result != CUDA_SUCCESS || !is_observed(thread))
        return result;
    sp_observe_streams_ended(handle, -1, before);
    sp_observe_captures_ended(handle, before);
    return result;
}

// ---------------------------------------------------------------------------------------- captures

static bool captures(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return test_driver()->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

CUresult observing_begin_capture(const struct thread *thread, CUstream handle) {
    CUcontext context = context_of(thread, thread->context);
    if (is_observed(thread))
        sp_observe_capture_begins(handle, context);
    CUresult result = test_driver()->cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (is_observed(thread) && result == CUDA_SUCCESS)
        sp_observe_capture_begun(handle, context);
    else if (is_observed(thread))
        sp_observe_capture_refused(handle, context, captures);
    return result;
}

CUresult observing_end_capture(const struct thread *thread, CUstream handle, CUgraph *graph) {
    CUresult result = test_driver()->cuStreamEndCapture(handle, graph);
    if (is_observed(thread))
        sp_observe_capture_ended(handle, context_of(thread, thread->context), captures);
    return result;
}

// ------------------------------------------------------------------------------------------ memory

poolError_t observing_malloc(const struct thread *thread, void **pointer, size_t size,
                             poolMemPool_t pool, CUstream handle) {
    if (!is_observed(thread))
        return pool ? poolMallocFromPoolAsync(pointer, size, pool, handle)
                    : poolMallocAsync(pointer, size, handle);
    return pool ? sp_observe_malloc_from_pool(pointer, size, pool, handle)
                : sp_observe_malloc(pointer, size, handle);
}

poolError_t observing_free(const struct thread *thread, void *pointer, CUstream handle) {
    return is_observed(thread) ? observed_free(pointer, handle) : poolFreeAsync(pointer, handle);
}
