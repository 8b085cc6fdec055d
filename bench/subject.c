#include "subject.h"

#include <streampool/streampool.h>

static int open_ours(struct subject *subject, uint64_t threshold) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeDevice, 0}};
    poolMemPool_t pool;
    poolError_t error = poolMemPoolCreate(&pool, &props);
    if (error != poolSuccess)
        return (int)error;
    subject->pool = pool;
    return (int)poolMemPoolSetAttribute(pool, poolMemPoolAttrReleaseThreshold, &threshold);
}

static int close_ours(struct subject *subject) {
    return (int)poolMemPoolDestroy(subject->pool);
}

static int allocate_ours(const struct subject *subject, void **pointer, size_t size, CUstream stream) {
    return (int)poolMallocFromPoolAsync(pointer, size, subject->pool, stream);
}

static int release_ours(const struct subject *subject, void *pointer, CUstream stream) {
    (void)subject;
    return (int)poolFreeAsync(pointer, stream);
}

static int synchronize_ours(const struct subject *subject, CUstream stream) {
    (void)subject;
    return (int)poolStreamSynchronize(stream);
}

static int open_cudas(struct subject *subject, uint64_t threshold) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool;
    CUresult error = subject->driver->cuMemPoolCreate(&pool, &props);
    if (error != CUDA_SUCCESS)
        return (int)error;
    subject->pool = pool;
    return (int)subject->driver->cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
}

static int close_cudas(struct subject *subject) {
    return (int)subject->driver->cuMemPoolDestroy(subject->pool);
}

static int allocate_cudas(const struct subject *subject, void **pointer, size_t size, CUstream stream) {
    CUdeviceptr address = 0;
    CUresult error = subject->driver->cuMemAllocFromPoolAsync(&address, size, subject->pool, stream);
    *pointer = (void *)(uintptr_t)address;
    return (int)error;
}

static int release_cudas(const struct subject *subject, void *pointer, CUstream stream) {
    return (int)subject->driver->cuMemFreeAsync((CUdeviceptr)(uintptr_t)pointer, stream);
}

static int synchronize_cudas(const struct subject *subject, CUstream stream) {
    return (int)subject->driver->cuStreamSynchronize(stream);
}

int subjects_init(struct subject subjects[SUBJECT_COUNT], const struct sp_driver *driver) {
    int has_pools = 0;
    subjects[SUBJECT_OURS] = (struct subject){"streampool", driver,        NULL,         open_ours,
                                              close_ours,   allocate_ours, release_ours, synchronize_ours};
    subjects[SUBJECT_CUDAS] =
        (struct subject){"CUDA's pool", driver,         NULL,          open_cudas,
                         close_cudas,   allocate_cudas, release_cudas, synchronize_cudas};
    driver->cuDeviceGetAttribute(&has_pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0);
    return has_pools && driver->cuMemPoolCreate ? SUBJECT_COUNT : 1;
}
