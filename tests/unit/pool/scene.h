// Scenes that are drawn by lot: streams, pools with settings of all kinds, and what a program has
// done with them, each call with its own check.
#ifndef STREAMPOOL_TESTS_UNIT_SCENE_H
#define STREAMPOOL_TESTS_UNIT_SCENE_H

#include "random/numbers.h"
#include "unit/pool/fixture.h"

enum { SCENE_STREAMS = 4, SCENE_POOLS = 3, SCENE_PIECES = 4000 };

struct scene_piece {
    void *block;
    size_t size;
    CUstream stream; // its contents are in the order of
    bool outlived;   // a reset of the device
};

struct scene {
    uint64_t seed;
    struct numbers numbers;
    CUstream streams[SCENE_STREAMS];
    poolMemPool_t pools[SCENE_POOLS];
    unsigned pool_count;
    struct scene_piece pieces[SCENE_PIECES]; // that are live
    unsigned piece_count;
};
extern struct scene scene;

bool scene_once_in(uint64_t times);
unsigned scene_below(uint64_t bound);
CUstream scene_any_stream(void);
size_t scene_any_size(void);

// Begins with an empty device: memory and pools are drawn, `settings` are more of the simulated
// driver's, with a comma before each.
void scene_open(uint64_t seed, const char *settings);

// Opens a pool of drawn settings in that place.
void scene_open_pool(unsigned place);

// Allocates, frees, synchronises or trims, some.
void scene_take_step(void);

// Frees the pieces that have outlived a reset.
void scene_free_outlived(void);

// Frees that many pieces, or all that there are, on any streams.
void scene_free_some(unsigned count);

// Opens the scenes of the seeds from 1 on with these settings, one after the other, takes some
// hundreds of steps in each, and shows what has come of them.
void scene_play(uint64_t seeds, const char *settings, void (*show)(void));

#endif
