// A manager of mam.h: one chunk with no streams.
#include "subject.h"

#include <streampool/mam.h>

// On a small device a quarter of what is free, so that the other subjects have room too.
static size_t chunk_of(const struct subject *subject) {
    const size_t most = (size_t)2 << 30;
    size_t available = 0, total = 0;
    subject->driver->cuMemGetInfo(&available, &total);
    return available / 4 < most ? available / 4 : most;
}

static int open_mam(struct subject *subject, uint64_t threshold) {
    poolMam_t mam = NULL;
    poolError_t error = subject->limit ? poolMamCreate(&mam, subject->limit, 0, poolMamFixed)
                                       : poolMamCreate(&mam, chunk_of(subject), 0, poolMamDefault);
    subject->pool = mam;
    subject->threshold = threshold;
    return (int)error;
}

static int close_mam(struct subject *subject) {
    poolError_t error = poolMamDestroy(subject->pool);
    subject->pool = NULL;
    return (int)error;
}

static int allocate_mam(const struct subject *subject, void **pointer, size_t size,
                        CUstream stream) {
    (void)stream;
    return (int)poolMamMalloc(subject->pool, pointer, size);
}

static int release_mam(const struct subject *subject, void *pointer, CUstream stream) {
    (void)stream;
    return (int)poolMamFree(subject->pool, pointer);
}

static int synchronize_mam(const struct subject *subject, CUstream stream) {
    (void)subject, (void)stream;
    return 0;
}

const struct subject subject_mam = {.open = open_mam,
                                    .close = close_mam,
                                    .allocate = allocate_mam,
                                    .release = release_mam,
                                    .synchronize = synchronize_mam};
