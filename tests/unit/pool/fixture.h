// Pools under unit tests, on the simulated driver: what a test does often, each with its own check.
// A test ends with a walk through every pool that is left.
#ifndef STREAMPOOL_TESTS_UNIT_FIXTURE_H
#define STREAMPOOL_TESTS_UNIT_FIXTURE_H

#include "order/poll.h"
#include "process/runtime.h"
#include "region/handle.h"
#include "unit/order/simulated.h"

#define KIB(n) ((size_t)(n) << 10)
#define MIB(n) ((size_t)(n) << 20)
#define GIB(n) ((size_t)(n) << 30)

int fixture_begin(const char *settings);
int fixture_setup(void **state);
int fixture_teardown(void **state);

// Of the pools below, so that the free of a block of more than half of it has an event behind it.
#define FIXTURE_HELD MIB(16)

// A pool of device 0 that keeps its memory at a synchronise; with at most that many bytes, 0 for no
// limit.
poolMemPool_t fixture_pool(void);
poolMemPool_t fixture_pool_of_at_most(size_t max_size);

struct sp_pool *fixture_inside(poolMemPool_t pool);
struct sp_stream *fixture_stream(CUstream stream);
struct sp_lane *fixture_lane(poolMemPool_t pool, CUstream stream);

// What the lane has free in its tiers for large blocks, whether an event stands behind it or not.
uint64_t fixture_lane_bytes(const struct sp_lane *lane);

void *fixture_malloc(poolMemPool_t pool, size_t size, CUstream stream);
void fixture_free(void *pointer, CUstream stream);
void fixture_synchronize(CUstream stream);

// Has a stream run after what another one was given so far.
void fixture_order(CUstream later, CUstream earlier);

void fixture_trim(poolMemPool_t pool, size_t keep);

uint64_t fixture_attribute(poolMemPool_t pool, enum poolMemPoolAttr attribute);
void fixture_set(poolMemPool_t pool, enum poolMemPoolAttr attribute, uint64_t value);
void fixture_set_flag(poolMemPool_t pool, enum poolMemPoolAttr attribute, int value);
uint64_t fixture_reserved(poolMemPool_t pool);
uint64_t fixture_used(poolMemPool_t pool);

// Every invariant of the pool holds.
void fixture_check(poolMemPool_t pool);

// Calls `function` once, when the calling thread takes its next lock, as another thread could have
// run there.
void fixture_at_next_lock(void (*function)(void));

#endif
