// Positions of bits in 64-bit words. They are not defined for 0, which has no bit.
#ifndef STREAMPOOL_BASE_BITS_H
#define STREAMPOOL_BASE_BITS_H

#include <assert.h>
#include <stdint.h>

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
