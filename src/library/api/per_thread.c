// The calls that allocate and free memory, in the form in which stream 0 is the thread's own.
#include "api/api.h"

poolError_t poolMallocAsync_ptsz(void **ptr, size_t size, CUstream stream) {
    return poolMallocAsync(ptr, size, sp_api_per_thread(stream));
}

poolError_t poolMallocFromPoolAsync_ptsz(void **ptr, size_t size, poolMemPool_t pool,
                                         CUstream stream) {
    return poolMallocFromPoolAsync(ptr, size, pool, sp_api_per_thread(stream));
}

poolError_t poolMallocAsyncWithFlags_ptsz(void **ptr, size_t size, poolMemPool_t pool,
                                          CUstream stream, unsigned int flags) {
    return poolMallocAsyncWithFlags(ptr, size, pool, sp_api_per_thread(stream), flags);
}

poolError_t poolFreeAsync_ptsz(void *ptr, CUstream stream) {
    return poolFreeAsync(ptr, sp_api_per_thread(stream));
}
