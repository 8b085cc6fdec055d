// Numbers for tests that try operations in no particular order: the same ones in each run.
#ifndef STREAMPOOL_TESTS_UNIT_RANDOM_H
#define STREAMPOOL_TESTS_UNIT_RANDOM_H

#include <stdint.h>

static inline uint64_t random_next(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed >> 33;
}

// From 0 to below - 1.
static inline uint64_t random_below(uint64_t *seed, uint64_t below) {
    return random_next(seed) % below;
}

#endif
