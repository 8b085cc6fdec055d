// Memory from the driver at each call: of the device, and of the host.
#include "subject.h"

static int open_direct(struct subject *subject, uint64_t threshold) {
    subject->threshold = threshold;
    return 0;
}

static int close_direct(struct subject *subject) {
    (void)subject;
    return 0;
}

static int allocate_direct(const struct subject *subject, void **pointer, size_t size,
                           CUstream stream) {
    (void)stream;
    CUdeviceptr address = 0;
    CUresult error = subject->driver->cuMemAlloc(&address, size);
    *pointer = (void *)(uintptr_t)address;
    return (int)error;
}

// It waits for the device by itself.
static int release_direct(const struct subject *subject, void *pointer, CUstream stream) {
    (void)stream;
    return (int)subject->driver->cuMemFree((CUdeviceptr)(uintptr_t)pointer);
}

static int synchronize_direct(const struct subject *subject, CUstream stream) {
    return (int)subject->driver->cuStreamSynchronize(stream);
}

static int allocate_pinned(const struct subject *subject, void **pointer, size_t size,
                           CUstream stream) {
    (void)stream;
    return (int)subject->driver->cuMemHostAlloc(
        pointer, size, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP);
}

static int release_pinned(const struct subject *subject, void *pointer, CUstream stream) {
    (void)stream;
    return (int)subject->driver->cuMemFreeHost(pointer);
}

const struct subject subject_direct = {.slow = true,
                                       .open = open_direct,
                                       .close = close_direct,
                                       .allocate = allocate_direct,
                                       .release = release_direct,
                                       .synchronize = synchronize_direct};

const struct subject subject_pinned = {.slow = true,
                                       .open = open_direct,
                                       .close = close_direct,
                                       .allocate = allocate_pinned,
                                       .release = release_pinned,
                                       .synchronize = synchronize_direct};
