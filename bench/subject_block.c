// The floor of what a program does with its memory: each thread has one block, and a malloc returns
// it again and again. It is replaced by a larger one when that is wanted.
#include "subject.h"

#include <stdlib.h>

struct block {
    _Alignas(128) CUdeviceptr address;
    size_t size; // 0: there is none
};

struct blocks {
    struct block blocks[SUBJECT_PLACES];
};

static int open_block(struct subject *subject, uint64_t threshold) {
    struct blocks *blocks = aligned_alloc(_Alignof(struct blocks), sizeof *blocks);
    if (!blocks)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *blocks = (struct blocks){0};
    subject->pool = blocks;
    subject->threshold = threshold;
    return 0;
}

static CUresult forget(const struct sp_driver *driver, struct block *block) {
    CUresult error = block->size ? driver->cuMemFree(block->address) : CUDA_SUCCESS;
    block->size = 0;
    return error;
}

static int close_block(struct subject *subject) {
    struct blocks *blocks = subject->pool;
    CUresult first = CUDA_SUCCESS;
    for (int i = 0; blocks && i < SUBJECT_PLACES; i++) {
        CUresult error = forget(subject->driver, &blocks->blocks[i]);
        first = first != CUDA_SUCCESS ? first : error;
    }
    free(blocks);
    subject->pool = NULL;
    return (int)first;
}

static CUresult replace(const struct sp_driver *driver, struct block *block, size_t size) {
    CUresult error = forget(driver, block);
    if (error == CUDA_SUCCESS)
        error = driver->cuMemAlloc(&block->address, size);
    if (error == CUDA_SUCCESS)
        block->size = size;
    return error;
}

static int allocate_block(const struct subject *subject, void **pointer, size_t size,
                          CUstream stream) {
    (void)stream;
    struct blocks *blocks = subject->pool;
    struct block *block = &blocks->blocks[subject_place()];
    CUresult error = size > block->size ? replace(subject->driver, block, size) : CUDA_SUCCESS;
    *pointer = (void *)(uintptr_t)block->address;
    return (int)error;
}

static int release_block(const struct subject *subject, void *pointer, CUstream stream) {
    (void)subject, (void)pointer, (void)stream;
    return 0;
}

static int synchronize_block(const struct subject *subject, CUstream stream) {
    return (int)subject->driver->cuStreamSynchronize(stream);
}

const struct subject subject_block = {.role = SUBJECT_IS_FLOOR,
                                      .open = open_block,
                                      .close = close_block,
                                      .allocate = allocate_block,
                                      .release = release_block,
                                      .synchronize = synchronize_block};
