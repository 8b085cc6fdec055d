// A seeded sequence of numbers: all choices of one thread of a program come from one of these.
#ifndef STREAMPOOL_TESTS_RANDOM_NUMBERS_H
#define STREAMPOOL_TESTS_RANDOM_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

struct numbers {
    uint64_t state;
};

static inline uint64_t numbers_next(struct numbers *numbers) {
    numbers->state += 0x9E3779B97F4A7C15u;
    uint64_t x = numbers->state;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

// A number below `bound`, which is not 0.
static inline uint64_t numbers_below(struct numbers *numbers, uint64_t bound) {
    return numbers_next(numbers) % bound;
}

// True once in `times`.
static inline bool numbers_once_in(struct numbers *numbers, uint64_t times) {
    return numbers_below(numbers, times) == 0;
}

#endif
