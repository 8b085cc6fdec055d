// Scenes drawn by lot, for tests of what a pool says: some streams and pools, with blocks that were
// allocated and freed on them, and work that is pending.
#ifndef STREAMPOOL_TESTS_UNIT_SCENE_H
#define STREAMPOOL_TESTS_UNIT_SCENE_H

#include "random/numbers.h"
#include "unit/pool/fixture.h"

enum { SCENE_STREAMS = 4, SCENE_POOLS = 3, SCENE_PIECES = 4000 };

struct scene_piece {
    void *block;
    CUstream stream;
};

struct scene {
    struct numbers numbers;
    CUstream streams[SCENE_STREAMS];
    poolMemPool_t pools[SCENE_POOLS];
    unsigned pool_count;
    struct scene_piece pieces[SCENE_PIECES]; // what is live
    unsigned piece_count;
};

extern struct scene scene;

bool scene_once_in(uint64_t times);
unsigned scene_below(uint64_t bound);
size_t scene_any_size(void);
CUstream scene_any_stream(void);

// Begins a test and draws its scene; `device` are more settings of the simulated driver, each with
// a comma before it. fixture_teardown() ends it.
void scene_open(uint64_t seed, const char *device);

// Frees so many blocks, as far as there are any.
void scene_free_some(unsigned count);

#endif
