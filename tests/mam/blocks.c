#include "mam/blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <streampool/simcuda.h>

static void stop(const char *what, const struct block *block, poolError_t error) {
    fprintf(stderr, "%s: %p, %zu bytes, stamp %llu: %s, %s\n", what, block->pointer, block->size,
            (unsigned long long)block->stamp, poolGetErrorName(error), poolGetLastErrorDetail());
    abort();
}

uint64_t blocks_random(uint64_t *random) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

size_t blocks_size(uint64_t *random, size_t most) {
    unsigned powers = 0;
    while (most >> powers > 1)
        powers++;
    size_t least = (size_t)1 << blocks_random(random) % (powers + 1);
    size_t size = least + blocks_random(random) % least;
    return size < most ? size : most;
}

enum { ENDS = 2 };

// The ends of a small block don't overlap, but for those of one byte.
static size_t length_of(const struct block *block) {
    size_t half = block->size / 2;
    return half == 0 ? 1 : half < sizeof block->stamp ? half : sizeof block->stamp;
}

static uint64_t address_of(const struct block *block, int end) {
    uint64_t address = (uintptr_t)block->pointer;
    return end == 0 ? address : address + block->size - length_of(block);
}

bool blocks_allocate(poolMam_t mam, struct block *block, size_t size, uint64_t stamp) {
    *block = (struct block){NULL, size, stamp};
    poolError_t error = poolMamMalloc(mam, &block->pointer, size);
    if (error == poolErrorMemoryAllocation)
        return false;
    if (error != poolSuccess || (uintptr_t)block->pointer % 256 != 0)
        stop("malloc", block, error);
    for (int end = 0; end < ENDS; end++)
        if (simcudaPoke(address_of(block, end), &stamp, length_of(block)) != 0)
            stop("not mapped", block, poolSuccess);
    return true;
}

void blocks_check(const struct block *block) {
    for (int end = 0; end < ENDS; end++) {
        uint64_t found = 0, stamp = 0;
        memcpy(&stamp, &block->stamp, length_of(block));
        if (simcudaPeek(&found, address_of(block, end), length_of(block)) != 0 || found != stamp)
            stop("another's contents", block, poolSuccess);
    }
}

void blocks_free(poolMam_t mam, struct block *block) {
    blocks_check(block);
    poolError_t error = poolMamFree(mam, block->pointer);
    if (error != poolSuccess)
        stop("free", block, error);
    block->pointer = NULL;
}
