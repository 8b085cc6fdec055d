#include "holes.h"

#include "samples.h"

#include <stdlib.h>

static int release_every(struct holes *holes, const struct subject *subject, size_t first, size_t step,
                         CUstream stream) {
    int first_error = 0;
    for (size_t i = first; i < holes->count; i += step) {
        int error = holes->blocks[i] ? subject->release(subject, holes->blocks[i], stream) : 0;
        holes->blocks[i] = NULL;
        first_error = first_error ? first_error : error;
    }
    int error = subject->synchronize(subject, stream);
    return first_error ? first_error : error;
}

int holes_open(struct holes *holes, const struct subject *subject, size_t count, size_t size,
               CUstream stream) {
    *holes = (struct holes){.blocks = calloc(count, sizeof *holes->blocks), .count = count};
    if (!holes->blocks) {
        holes->count = 0;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    int error = 0;
    for (size_t i = 0; i < count && !error; i++)
        error = subject->allocate(subject, &holes->blocks[i], size, stream);
    return error ? error : release_every(holes, subject, 1, 2, stream);
}

int holes_close(struct holes *holes, const struct subject *subject, CUstream stream) {
    int error = release_every(holes, subject, 0, 1, stream);
    free(holes->blocks);
    return error;
}

static int allocate(const struct subject *subject, size_t size, CUstream stream, struct wanted *wanted,
                    void **block) {
    uint64_t before = 0, after = 0;
    struct remapped remapped = subject->remapped(subject);
    int error = subject->reserved(subject, &before);
    if (error)
        return error;
    double begin = samples_clock();
    error = subject->allocate(subject, block, size, stream);
    wanted->microseconds = (samples_clock() - begin) / 1000;
    wanted->remapped = subject->remapped(subject);
    wanted->remapped.calls -= remapped.calls;
    wanted->remapped.extents -= remapped.extents;
    wanted->remapped.bytes -= remapped.bytes;
    if (!error)
        error = subject->reserved(subject, &after);
    wanted->grown = ((double)after - (double)before) / (1 << 20);
    return error;
}

int holes_want(const struct subject *subject, size_t size, CUstream stream, struct wanted *wanted) {
    void *block = NULL;
    int error = allocate(subject, size, stream, wanted, &block);
    int released = block ? subject->release(subject, block, stream) : 0;
    return error ? error : released;
}
