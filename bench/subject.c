#include "subject.h"

#include <streampool/streampool.h>
#include <string.h>

// -------------------------------------------------------------------------------------------- streampool

static int open_ours(struct subject *subject, uint64_t threshold) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeDevice, 0},
                                     .maxSize = subject->limit};
    poolMemPool_t pool = NULL;
    poolError_t error = poolMemPoolCreate(&pool, &props);
    if (error != poolSuccess)
        return (int)error;
    subject->pool = pool;
    return (int)poolMemPoolSetAttribute(pool, poolMemPoolAttrReleaseThreshold, &threshold);
}

static int close_ours(struct subject *subject) {
    poolError_t error = subject->pool ? poolMemPoolDestroy(subject->pool) : poolSuccess;
    subject->pool = NULL;
    return (int)error;
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

static int record_ours(const struct subject *subject, CUevent event, CUstream stream) {
    (void)subject;
    return (int)poolEventRecord(event, stream);
}

static int wait_ours(const struct subject *subject, CUstream stream, CUevent event) {
    (void)subject;
    return (int)poolStreamWaitEvent(stream, event, 0);
}

static int set_policy_ours(const struct subject *subject, int policy, int on) {
    return (int)poolMemPoolSetAttribute(subject->pool, (enum poolMemPoolAttr)policy, &on);
}

static int reserved_ours(const struct subject *subject, uint64_t *bytes) {
    return (int)poolMemPoolGetAttribute(subject->pool, poolMemPoolAttrReservedMemCurrent, bytes);
}

static int reserved_high_ours(const struct subject *subject, uint64_t *bytes) {
    return (int)poolMemPoolGetAttribute(subject->pool, poolMemPoolAttrReservedMemHigh, bytes);
}

// By name: not every version of the library counts everything.
static bool statistic(const struct subject *subject, const char *wanted, uint64_t *count) {
    const char *name;
    for (int number = poolMemPoolStatReuseSameStream;
         (name = poolMemPoolGetStatisticName((enum poolMemPoolAttr)number)); number++)
        if (strcmp(name, wanted) == 0)
            return poolMemPoolGetAttribute(subject->pool, (enum poolMemPoolAttr)number, count) == poolSuccess;
    return false;
}

static struct remapped remapped_ours(const struct subject *subject) {
    struct remapped remapped = {0};
    uint64_t without_mapping = 0;
    statistic(subject, "Remaps", &remapped.calls);
    statistic(subject, "KeptViewsUsed", &without_mapping);
    remapped.calls -= without_mapping;
    remapped.has_extents = statistic(subject, "RemappedExtents", &remapped.extents) &&
                           statistic(subject, "RemappedBytes", &remapped.bytes);
    return remapped;
}

static struct held held_ours(const struct subject *subject) {
    struct held held = {0};
    poolMemPoolGetAttribute(subject->pool, poolMemPoolStatKeptMappings, &held.mappings);
    poolMemPoolGetAttribute(subject->pool, poolMemPoolStatAddressSpace, &held.address_space);
    poolMemPoolGetAttribute(subject->pool, poolMemPoolStatReaperTime, &held.reaper_time);
    return held;
}

// ------------------------------------------------------------------------------------------- CUDA's pool

static int open_cudas(struct subject *subject, uint64_t threshold) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                            .maxSize = subject->limit};
    CUmemoryPool pool;
    CUresult error = subject->driver->cuMemPoolCreate(&pool, &props);
    if (error != CUDA_SUCCESS)
        return (int)error;
    subject->pool = pool;
    return (int)subject->driver->cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
}

static int close_cudas(struct subject *subject) {
    CUresult error = subject->pool ? subject->driver->cuMemPoolDestroy(subject->pool) : CUDA_SUCCESS;
    subject->pool = NULL;
    return (int)error;
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

static int record_cudas(const struct subject *subject, CUevent event, CUstream stream) {
    return (int)subject->driver->cuEventRecord(event, stream);
}

static int wait_cudas(const struct subject *subject, CUstream stream, CUevent event) {
    return (int)subject->driver->cuStreamWaitEvent(stream, event, 0);
}

static int set_policy_cudas(const struct subject *subject, int policy, int on) {
    return (int)subject->driver->cuMemPoolSetAttribute(subject->pool, (CUmemPool_attribute)policy, &on);
}

static int reserved_cudas(const struct subject *subject, uint64_t *bytes) {
    return (int)subject->driver->cuMemPoolGetAttribute(subject->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT,
                                                       bytes);
}

static int reserved_high_cudas(const struct subject *subject, uint64_t *bytes) {
    return (int)subject->driver->cuMemPoolGetAttribute(subject->pool, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH,
                                                       bytes);
}

// It doesn't say.
static struct remapped remapped_cudas(const struct subject *subject) {
    (void)subject;
    return (struct remapped){0};
}

static struct held held_cudas(const struct subject *subject) {
    (void)subject;
    return (struct held){0};
}

// -------------------------------------------------------------------------------------------------- both

#define FUNCTIONS(which)                                                                                     \
    .open = open_##which, .close = close_##which, .allocate = allocate_##which, .release = release_##which,  \
    .synchronize = synchronize_##which, .record = record_##which, .wait = wait_##which,                      \
    .set_policy = set_policy_##which, .reserved = reserved_##which, .reserved_high = reserved_high_##which,  \
    .remapped = remapped_##which, .held = held_##which

int subjects_init(struct subject subjects[SUBJECT_COUNT], const struct sp_driver *driver) {
    int has_pools = 0;
    subjects[SUBJECT_OURS] = (struct subject){.name = "streampool", .driver = driver, FUNCTIONS(ours)};
    subjects[SUBJECT_CUDAS] = (struct subject){.name = "CUDA's pool", .driver = driver, FUNCTIONS(cudas)};
    driver->cuDeviceGetAttribute(&has_pools, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0);
    return has_pools && driver->cuMemPoolCreate ? SUBJECT_COUNT : 1;
}
