// poolMallocAsync and its like.
#include "api/api.h"

static poolError_t refuse_capture(CUresult error) {
    if (error == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        return sp_fail(poolErrorStreamCaptureUnsupported, "the stream is capturing");
    return sp_fail_driver(error, "asking whether the stream is capturing");
}

// From the current pool of the stream's device. Another thread may destroy it while this one looks; then
// another pool is current.
static poolError_t allocate_from_current(void **ptr, size_t size, struct sp_stream *stream,
                                         unsigned int flags) {
    struct sp_device *device;
    poolError_t error = sp_device_get(stream->device, &device);
    if (error != poolSuccess)
        return error;
    do {
        poolMemPool_t handle;
        struct sp_pool *pool = sp_device_current_pool(device, &handle);
        error = sp_pool_malloc(pool, handle, stream, size, flags, ptr);
    } while (error == SP_POOL_GONE);
    return error;
}

// A pool that a caller has named; both null: the current one.
struct named_pool {
    poolMemPool_t handle;
    struct sp_pool *pool;
};

static poolError_t allocate_from(void **ptr, size_t size, struct named_pool from, struct sp_stream *stream,
                                 unsigned int flags) {
    poolError_t error = sp_pool_malloc(from.pool, from.handle, stream, size, flags, ptr);
    return error == SP_POOL_GONE ? sp_fail(poolErrorInvalidValue, "the pool was destroyed meanwhile") : error;
}

static poolError_t allocate(void **ptr, size_t size, struct named_pool from, CUstream handle,
                            unsigned int flags) {
    struct sp_stream *stream;
    CUresult capture = sp_stream_check_capture(handle);
    if (capture != CUDA_SUCCESS)
        return refuse_capture(capture);
    poolError_t error = sp_api_stream(handle, &stream);
    if (error != poolSuccess)
        return error;
    if (size == 0) {
        *ptr = NULL;
        return poolSuccess;
    }
    return from.pool ? allocate_from(ptr, size, from, stream, flags)
                     : allocate_from_current(ptr, size, stream, flags);
}

poolError_t poolMallocAsync(void **ptr, size_t size, CUstream stream) {
    poolError_t error = sp_runtime_enter();
    if (error != poolSuccess)
        return error;
    if (!ptr)
        return sp_fail(poolErrorInvalidValue, "ptr is null");
    return allocate(ptr, size, (struct named_pool){NULL, NULL}, stream, poolMallocDefault);
}

poolError_t poolMallocFromPoolAsync(void **ptr, size_t size, poolMemPool_t handle, CUstream stream) {
    struct named_pool from = {handle, NULL};
    poolError_t error = sp_runtime_enter();
    if (error != poolSuccess)
        return error;
    if (!ptr)
        return sp_fail(poolErrorInvalidValue, "ptr is null");
    error = sp_api_pool(handle, &from.pool);
    return error == poolSuccess ? allocate(ptr, size, from, stream, poolMallocDefault) : error;
}

enum {
    ALL_FLAGS = poolMallocSameStreamOnly | poolMallocNoInsertedWaits | poolMallocNoGrowth | poolMallocFixed
};

poolError_t poolMallocAsyncWithFlags(void **ptr, size_t size, poolMemPool_t handle, CUstream stream,
                                     unsigned int flags) {
    struct named_pool from = {handle, NULL};
    poolError_t error = sp_runtime_enter();
    if (error != poolSuccess)
        return error;
    if (!ptr)
        return sp_fail(poolErrorInvalidValue, "ptr is null");
    if (flags & ~(unsigned int)ALL_FLAGS)
        return sp_fail(poolErrorInvalidValue, "%#x is not a combination of poolMallocFlags", flags);
    if (handle)
        error = sp_api_pool(handle, &from.pool);
    return error == poolSuccess ? allocate(ptr, size, from, stream, flags) : error;
}

// In a capture only memory of the graph could be freed, and none of ours is.
static poolError_t check_free_capture(CUstream handle) {
    CUresult capture = sp_stream_check_capture(handle);
    if (capture == CUDA_SUCCESS)
        return poolSuccess;
    if (capture == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED)
        return sp_fail(poolErrorInvalidValue, "the stream is capturing, and the memory is not the graph's");
    return refuse_capture(capture);
}

poolError_t poolFreeAsync(void *ptr, CUstream handle) {
    struct sp_stream *stream;
    poolError_t error = sp_runtime_enter();
    if (error != poolSuccess || !ptr)
        return error;
    error = check_free_capture(handle);
    if (error != poolSuccess)
        return error;
    error = sp_api_stream(handle, &stream);
    return error == poolSuccess ? sp_pool_free(ptr, stream) : error;
}

poolError_t poolFree(void *ptr) {
    poolError_t error = sp_runtime_enter();
    return error == poolSuccess && ptr ? sp_pool_free(ptr, NULL) : error;
}

poolError_t poolMallocAsync_ptsz(void **ptr, size_t size, CUstream stream) {
    return poolMallocAsync(ptr, size, sp_api_per_thread(stream));
}

poolError_t poolMallocFromPoolAsync_ptsz(void **ptr, size_t size, poolMemPool_t pool, CUstream stream) {
    return poolMallocFromPoolAsync(ptr, size, pool, sp_api_per_thread(stream));
}

poolError_t poolMallocAsyncWithFlags_ptsz(void **ptr, size_t size, poolMemPool_t pool, CUstream stream,
                                          unsigned int flags) {
    return poolMallocAsyncWithFlags(ptr, size, pool, sp_api_per_thread(stream), flags);
}

poolError_t poolFreeAsync_ptsz(void *ptr, CUstream stream) {
    return poolFreeAsync(ptr, sp_api_per_thread(stream));
}
