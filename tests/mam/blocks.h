// Blocks of a manager with contents, for tests that allocate at random: each block says at both of
// its ends, on the device, whose it is.
#ifndef STREAMPOOL_TESTS_MAM_BLOCKS_H
#define STREAMPOOL_TESTS_MAM_BLOCKS_H

#include <stdbool.h>
#include <stdint.h>
#include <streampool/mam.h>

struct block {
    void *pointer; // null: none
    size_t size;
    uint64_t stamp;
};

// A size from 1 byte to `most`, each power of two as often.
size_t blocks_size(uint64_t *random, size_t most);
uint64_t blocks_random(uint64_t *random);

// Allocates a block and writes its ends. False when there is no memory; any other failure ends the
// program.
bool blocks_allocate(poolMam_t mam, struct block *block, size_t size, uint64_t stamp);

// Compares the ends with what was written, and frees the block.
void blocks_free(poolMam_t mam, struct block *block);

// The same check alone.
void blocks_check(const struct block *block);

#endif
