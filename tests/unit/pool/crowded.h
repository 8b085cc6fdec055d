// Tests of a crowded lane: a pool, a stream, and the lane, whose fronts are opened as if many
// threads had met at its lock.
#ifndef STREAMPOOL_UNIT_POOL_CROWDED_H
#define STREAMPOOL_UNIT_POOL_CROWDED_H

#include "region/lane.h"
#include "unit/pool/fixture.h"

extern poolMemPool_t pool;
extern CUstream stream;
extern struct sp_lane *crowded;

int crowded_setup(void **state);

void make_crowded(struct sp_lane *of);

void *take(size_t size);
void put(void *block);

// Returns how many blocks the lane's fronts have.
uint32_t in_fronts(void);

// Has the lane's fronts open, with one block in that of this thread: its first free under a number
// is the lane's.
void *block_in_front(size_t size);

// Empties the fronts.
void drain(void);

struct sp_slab *slab_of(void *block);

#define TEST(function) cmocka_unit_test_setup_teardown(function, crowded_setup, fixture_teardown)

#endif
