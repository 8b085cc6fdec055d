// Priming: the program has memory mapped before it needs it (supply/ahead.h). What other pools keep
// and what is complete by now makes room for it.
#ifndef STREAMPOOL_CALLS_PRIME_H
#define STREAMPOOL_CALLS_PRIME_H

#include "region/pool.h"

// Maps what is missing to `bytes` of free memory, and has synchronises leave it. All or nothing.
poolError_t sp_prime(struct sp_pool *pool, size_t bytes);

#endif
