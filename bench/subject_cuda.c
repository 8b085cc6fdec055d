// CUDA's pool, made for the purpose or the default one of the device; and its pool of the host's
// memory, which the device may use, too.
#include "subject.h"

#include <dlfcn.h>
#include <string.h>

static int set_up(struct subject *subject, CUmemoryPool pool, uint64_t threshold) {
    subject->pool = pool;
    subject->threshold = threshold;
    return (int)subject->driver->cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
                                                       &threshold);
}

static int open_cudas(struct subject *subject, uint64_t threshold) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0},
                            .maxSize = subject->limit};
    CUmemoryPool pool;
    CUresult error = subject->driver->cuMemPoolCreate(&pool, &props);
    return error == CUDA_SUCCESS ? set_up(subject, pool, threshold) : (int)error;
}

// The library has no need of this entry point.
static CUresult let_device_use(const struct sp_driver *driver, CUmemoryPool pool) {
    const CUmemAccessDesc device = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUresult (*set_access)(CUmemoryPool pool, const CUmemAccessDesc *list, size_t count);
    void *library = dlopen(driver->path, RTLD_LAZY | RTLD_NOLOAD);
    void *found = library ? dlsym(library, "cuMemPoolSetAccess") : NULL;
    memcpy(&set_access, &found, sizeof found);
    CUresult error = found ? set_access(pool, &device, 1) : CUDA_ERROR_NOT_SUPPORTED;
    if (library)
        dlclose(library);
    return error;
}

// Drivers that know no such pools call the location invalid.
static int open_cudas_host(struct subject *subject, uint64_t threshold) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_HOST, 0}};
    CUmemoryPool pool;
    CUresult error = subject->driver->cuMemPoolCreate(&pool, &props);
    if (error != CUDA_SUCCESS)
        return error == CUDA_ERROR_INVALID_VALUE ? CUDA_ERROR_NOT_SUPPORTED : (int)error;
    int unset = set_up(subject, pool, threshold);
    return unset ? unset : (int)let_device_use(subject->driver, pool);
}

static int close_cudas(struct subject *subject) {
    CUresult error =
        subject->pool ? subject->driver->cuMemPoolDestroy(subject->pool) : CUDA_SUCCESS;
    subject->pool = NULL;
    return (int)error;
}

static int open_default(struct subject *subject, uint64_t threshold) {
    CUmemoryPool pool;
    CUresult error = subject->driver->cuDeviceGetDefaultMemPool(&pool, 0);
    return error == CUDA_SUCCESS ? set_up(subject, pool, threshold) : (int)error;
}

// It stays as it was found: the threshold that a device's default pool begins with is 0.
static int close_default(struct subject *subject) {
    CUmemoryPool pool = subject->pool;
    int error = pool ? set_up(subject, pool, 0) : 0;
    if (!error && pool)
        error = (int)subject->driver->cuMemPoolTrimTo(pool, 0);
    subject->pool = NULL;
    return error;
}

static int allocate_cudas(const struct subject *subject, void **pointer, size_t size,
                          CUstream stream) {
    CUdeviceptr address = 0;
    CUresult error =
        subject->driver->cuMemAllocFromPoolAsync(&address, size, subject->pool, stream);
    *pointer = (void *)(uintptr_t)address;
    return (int)error;
}

static int allocate_default(const struct subject *subject, void **pointer, size_t size,
                            CUstream stream) {
    CUdeviceptr address = 0;
    CUresult error = subject->driver->cuMemAllocAsync(&address, size, stream);
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
    return (int)subject->driver->cuMemPoolSetAttribute(subject->pool, (CUmemPool_attribute)policy,
                                                       &on);
}

static int reserved_cudas(const struct subject *subject, uint64_t *bytes) {
    return (int)subject->driver->cuMemPoolGetAttribute(subject->pool,
                                                       CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, bytes);
}

static int reserved_high_cudas(const struct subject *subject, uint64_t *bytes) {
    return (int)subject->driver->cuMemPoolGetAttribute(subject->pool,
                                                       CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, bytes);
}

static int set_again_cudas(const struct subject *subject) {
    uint64_t threshold = subject->threshold;
    return (int)subject->driver->cuMemPoolSetAttribute(
        subject->pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
}

static int trim_cudas(const struct subject *subject) {
    return (int)subject->driver->cuMemPoolTrimTo(subject->pool, 0);
}

static int synchronize_all_cudas(const struct subject *subject) {
    return (int)subject->driver->cuCtxSynchronize();
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

// ------------------------------------------------------------------------------------ the subjects

#define FUNCTIONS                                                                                  \
    .release = release_cudas, .synchronize = synchronize_cudas, .record = record_cudas,            \
    .wait = wait_cudas, .set_policy = set_policy_cudas, .reserved = reserved_cudas,                \
    .reserved_high = reserved_high_cudas, .trim = trim_cudas, .set_again = set_again_cudas,        \
    .synchronize_all = synchronize_all_cudas, .remapped = remapped_cudas, .held = held_cudas

const struct subject subject_cudas = {.role = SUBJECT_IS_REFERENCE,
                                      .open = open_cudas,
                                      .close = close_cudas,
                                      .allocate = allocate_cudas,
                                      FUNCTIONS};

const struct subject subject_cudas_default = {.role = SUBJECT_IS_REFERENCE,
                                              .open = open_default,
                                              .close = close_default,
                                              .allocate = allocate_default,
                                              FUNCTIONS};

const struct subject subject_cudas_host = {
    .open = open_cudas_host, .close = close_cudas, .allocate = allocate_cudas, FUNCTIONS};
