// Pools that pause under test, on the simulated driver: blocks with bytes that tell where they come
// from, and a folder for files.
#ifndef STREAMPOOL_TESTS_SWAP_FIXTURE_H
#define STREAMPOOL_TESTS_SWAP_FIXTURE_H

#include "copy/fixture.h"

#include <streampool/swap.h>

// Like those of copies. Behind a test nothing is saved any more, the folder is empty, and the host
// has no limit. The test's pools are destroyed by then.
int swap_begin(const char *settings);
int swap_setup(void **state);
int swap_teardown(void **state);

// From now on there is a folder for files.
void swap_use_folder(void);
const char *swap_folder(void);

struct swap_block {
    unsigned char *pointer; // null: none
    size_t size;
    uint64_t seed;
};

struct swap_block swap_block(poolMemPool_t pool, size_t size, uint64_t seed, CUstream stream);
void swap_free(struct swap_block *block, CUstream stream);

// The block has the bytes that it was made with: all of them, or those of a part.
bool swap_is_intact(const struct swap_block *block);
bool swap_is_intact_from(const struct swap_block *block, size_t from, size_t to);
bool swap_has_memory(const struct swap_block *block);

poolMemPool_t swap_tagged(poolMemPool_t pool, const char *tag);
struct poolMemPoolPaused swap_pause(poolMemPool_t pool, const char *tag, enum poolPauseLevel level);
void swap_resume(poolMemPool_t pool, const char *tag);
struct poolMemPoolPaused swap_paused(poolMemPool_t pool, const char *tag);

// What the pool of the host has given to what is saved.
uint64_t swap_in_host(void);

#endif
