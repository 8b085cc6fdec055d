// A hash of one word, which spreads addresses and small numbers alike.
//
// It is the word times 2^64 divided by the golden ratio, modulo 2^64. The upper bits of the product
// depend on all bits of the word, so they are what is taken.
#ifndef STREAMPOOL_BASE_HASH_H
#define STREAMPOOL_BASE_HASH_H

#include <stdint.h>

// The hash in so many bits, 1 to 64.
#define sp_hash_bits(word, bits) ((uint64_t)(word)*UINT64_C(0x9E3779B97F4A7C15) >> (64 - (bits)))

static inline uint64_t sp_hash(uint64_t word) {
    return sp_hash_bits(word, 32);
}

#endif
