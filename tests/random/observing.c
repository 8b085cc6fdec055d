#include "random/observing.h"

#include "dropin/captures.h"
#include "dropin/seen.h"

#include "api/interpose.h"
#include "support/check.h"
#include "support/device.h"

static bool is_observed(const struct thread *thread) {
    return thread->world->plan.observed;
}

static CUcontext context_of(const struct thread *thread, unsigned context) {
    return thread->world->contexts[context].handle;
}

// ----------------------------------------------------------------------------------------- streams

static CUresult destroy(CUstream handle) {
    uint64_t before = sp_captures_now();
    sp_seen_ends(handle);
    CUresult result = test_driver()->cuStreamDestroy(handle);
    if (result == CUDA_SUCCESS)
        sp_captures_end_of_stream(handle, before);
    else
        sp_interpose_forget_all();
    return result;
}

void observing_begin(const struct plan *plan) {
    if (!plan->observed)
        return;
    sp_interpose_set_destroy(destroy, false);
    sp_captures_promise();
}

void observing_created(struct thread *thread, const struct stream *stream) {
    if (!is_observed(thread) || numbers_once_in(&thread->numbers, 4))
        return;
    bool is_told_where = !numbers_once_in(&thread->numbers, 4);
    sp_seen_created(stream->handle, is_told_where ? context_of(thread, stream->context) : NULL,
                    is_told_where ? 0 : -1);
}

CUresult observing_destroy(const struct thread *thread, CUstream handle) {
    return is_observed(thread) ? destroy(handle) : test_driver()->cuStreamDestroy(handle);
}

CUresult observing_destroy_context(const struct thread *thread, unsigned context) {
    CUcontext handle = context_of(thread, context);
    uint64_t before = is_observed(thread) ? sp_seen_context_ends() : 0;
    CUresult result = test_driver()->cuCtxDestroy(handle);
    if (result != CUDA_SUCCESS || !is_observed(thread))
        return result;
    sp_seen_context_ended(handle, -1, before);
    sp_captures_end_of_context(handle, before);
    return result;
}

// ---------------------------------------------------------------------------------------- captures

static bool captures(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return test_driver()->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUcontext context_of_stream(const struct thread *thread, CUstream handle) {
    return handle == CU_STREAM_PER_THREAD ? context_of(thread, thread->context)
                                          : sp_seen_context(handle);
}

CUresult observing_begin_capture(const struct thread *thread, CUstream handle) {
    CUcontext context = context_of_stream(thread, handle);
    if (is_observed(thread))
        sp_captures_begins(handle, context);
    CUresult result = test_driver()->cuStreamBeginCapture(handle, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (is_observed(thread) && result == CUDA_SUCCESS)
        sp_captures_begun(handle, context);
    else if (is_observed(thread))
        sp_captures_refused(handle, context, captures);
    return result;
}

CUresult observing_end_capture(const struct thread *thread, CUstream handle, CUgraph *graph) {
    CUcontext context = context_of_stream(thread, handle);
    CUresult result = test_driver()->cuStreamEndCapture(handle, graph);
    if (is_observed(thread))
        sp_captures_ended(handle, context, captures);
    return result;
}

// ------------------------------------------------------------------------------------------ memory

poolError_t observing_malloc(const struct thread *thread, void **pointer, size_t size,
                             poolMemPool_t pool, CUstream handle) {
    int promises = sp_seen_promises(handle);
    if (!is_observed(thread))
        return pool ? poolMallocFromPoolAsync(pointer, size, pool, handle)
                    : poolMallocAsync(pointer, size, handle);
    return pool ? sp_interpose_malloc_from_pool(pointer, size, pool, handle, promises)
                : sp_interpose_malloc(pointer, size, handle, promises);
}

// Memory of a pool is freed here, and no other.
poolError_t observing_free(const struct thread *thread, void *pointer, CUstream handle) {
    bool is_foreign = false;
    return is_observed(thread)
               ? sp_interpose_free(pointer, handle, sp_seen_promises(handle), &is_foreign)
               : poolFreeAsync(pointer, handle);
}

// ------------------------------------------------------------------------------------- other calls

static void begin_call(const struct thread *thread, CUstream handle) {
    sp_interpose_set_terms(is_observed(thread) ? sp_seen_promises(handle) : poolPromiseNothing);
}

static poolError_t end_call(poolError_t error) {
    sp_interpose_set_terms(poolPromiseNothing);
    return error;
}

poolError_t observing_record(const struct thread *thread, CUevent event, CUstream handle) {
    begin_call(thread, handle);
    return end_call(poolEventRecord(event, handle));
}

poolError_t observing_wait(const struct thread *thread, CUstream handle, CUevent event) {
    begin_call(thread, handle);
    return end_call(poolStreamWaitEvent(handle, event, 0));
}

poolError_t observing_synchronize(const struct thread *thread, CUstream handle) {
    begin_call(thread, handle);
    return end_call(poolStreamSynchronize(handle));
}

poolError_t observing_query(const struct thread *thread, CUstream handle) {
    begin_call(thread, handle);
    return end_call(poolStreamQuery(handle));
}
