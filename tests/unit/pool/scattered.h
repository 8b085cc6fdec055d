// Tests of memory in pieces: a pool of 64 MiB of 16 extents of one size, each of which two blocks
// of HALF fill.
#ifndef STREAMPOOL_UNIT_POOL_SCATTERED_H
#define STREAMPOOL_UNIT_POOL_SCATTERED_H

#include "region/settle.h"
#include "supply/bury.h"
#include "supply/growth.h"
#include "unit/pool/fixture.h"

#define EXTENT  SP_EXTENT_MIN
#define HALF    (EXTENT / 2)
#define POOL    MIB(64)
#define EXTENTS (POOL / EXTENT)
#define HALVES  (POOL / HALF)

extern poolMemPool_t pool;
extern CUstream a;
extern CUstream b;
extern void *blocks[HALVES];

// An empty pool and two streams.
int setup(void **state);

// Fills the pool with blocks of one size.
void fill_with(size_t size);

void drop(size_t index, CUstream stream);
void drop_every_other(CUstream stream);

// Back from the quick lists; and what has completed becomes ready.
void collect(void);
void settle(void);

uint64_t remaps(void);
uint64_t mapping_calls(void);

void refuse(size_t size, CUstream stream, unsigned flags);
bool lies_in_a_stitched_view(const void *pointer);
void limit_kept(uint32_t views, size_t mappings);
struct sp_outcome bury(void);

void leave_tails_wholes_and_a_front(void);

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

#endif
