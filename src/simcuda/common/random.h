// A seeded sequence of numbers (splitmix64): the same on every machine.
#ifndef STREAMPOOL_SIMCUDA_COMMON_RANDOM_H
#define STREAMPOOL_SIMCUDA_COMMON_RANDOM_H

#include <stdint.h>

struct sim_random {
    uint64_t state;
};

static inline uint64_t sim_random_next(struct sim_random *random) {
    random->state += 0x9E3779B97F4A7C15u;
    uint64_t x = random->state;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

// A number below `bound`, which is not 0.
static inline uint64_t sim_random_below(struct sim_random *random, uint64_t bound) {
    return sim_random_next(random) % bound;
}

#endif
