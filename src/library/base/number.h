// Numbers (sizes, addresses, sequence numbers): how they compare, and where their bits are.
#ifndef STREAMPOOL_BASE_NUMBER_H
#define STREAMPOOL_BASE_NUMBER_H

#include <assert.h>
#include <stdint.h>

static inline uint64_t sp_min(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

static inline uint64_t sp_max(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static inline void sp_raise(uint64_t *most, uint64_t value) {
    *most = sp_max(*most, value);
}

// By how much `a` is larger than `b`: 0 when it isn't.
static inline uint64_t sp_excess(uint64_t a, uint64_t b) {
    return a > b ? a - b : 0;
}

// Returns less than, equal to or greater than 0 as `a` is less than, equal to or greater than `b`.
static inline int sp_compare(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

// Compares two pairs of numbers, by the second numbers where the first ones are equal.
static inline int sp_compare_pairs(uint64_t first_a, uint64_t second_a, uint64_t first_b,
                                   uint64_t second_b) {
    if (first_a != first_b)
        return first_a < first_b ? -1 : 1;
    return sp_compare(second_a, second_b);
}

// Positions of bits are not defined for 0, which has no bit.

// The largest k with 2^k <= n.
static inline unsigned sp_log2_floor(uint64_t n) {
    assert(n != 0);
    return 63u - (unsigned)__builtin_clzll(n);
}

static inline unsigned sp_lowest_bit(uint64_t n) {
    assert(n != 0);
    return (unsigned)__builtin_ctzll(n);
}

#endif
