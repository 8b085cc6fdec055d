// Whether everything that a pool keeps about its memory is true.
#ifndef STREAMPOOL_TESTS_INSIDE_CHECK_H
#define STREAMPOOL_TESTS_INSIDE_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include <streampool/streampool.h>

// Walks the whole pool and compares it with the invariants that the headers state. False, and the
// first one that does not hold in `why`, when one doesn't. No other thread may use the pool
// meanwhile.
bool inside_check(poolMemPool_t handle, char *why, size_t length);

#endif
