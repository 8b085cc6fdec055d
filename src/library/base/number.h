// Numbers (sizes, addresses, sequence numbers): sums and roundings that tell when they overflow,
// how numbers compare, where their bits are, and a hash.
//
// Sizes come from callers, and SIZE_MAX is a legal argument of an allocation. So every sum, product
// and rounding of a size that has not been checked goes through here. A function that returns false
// leaves its output as it was.
#ifndef STREAMPOOL_BASE_NUMBER_H
#define STREAMPOOL_BASE_NUMBER_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool sp_is_power_of_two(size_t n) {
    return n != 0 && (n & (n - 1)) == 0;
}

static inline bool sp_checked_add(size_t a, size_t b, size_t *sum) {
    size_t result;
    if (__builtin_add_overflow(a, b, &result))
        return false;
    *sum = result;
    return true;
}

static inline bool sp_checked_mul(size_t a, size_t b, size_t *product) {
    size_t result;
    if (__builtin_mul_overflow(a, b, &result))
        return false;
    *product = result;
    return true;
}

static inline size_t sp_round_down(size_t n, size_t power_of_two) {
    assert(sp_is_power_of_two(power_of_two));
    return n & ~(power_of_two - 1);
}

// Rounds a size up that is known to be far from SIZE_MAX. The checked form is for all others.
static inline size_t sp_round_up(size_t n, size_t power_of_two) {
    assert(n + (power_of_two - 1) >= n);
    return sp_round_down(n + (power_of_two - 1), power_of_two);
}

static inline bool sp_checked_round_up(size_t n, size_t power_of_two, size_t *out) {
    size_t raised;
    if (!sp_checked_add(n, power_of_two - 1, &raised))
        return false;
    *out = sp_round_down(raised, power_of_two);
    return true;
}

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
    return first_a != first_b ? sp_compare(first_a, first_b) : sp_compare(second_a, second_b);
}

// The largest k with 2^k <= n.
static inline unsigned sp_log2_floor(uint64_t n) {
    assert(n != 0);
    return 63u - (unsigned)__builtin_clzll(n);
}

static inline unsigned sp_lowest_bit(uint64_t n) {
    assert(n != 0);
    return (unsigned)__builtin_ctzll(n);
}

// A hash of one word in so many bits, 1 to 64, which spreads addresses and small numbers alike: the
// word times 2^64 divided by the golden ratio, modulo 2^64. The upper bits of the product depend on
// all bits of the word, so they are what is taken.
#define sp_hash_bits(word, bits) ((uint64_t)(word)*UINT64_C(0x9E3779B97F4A7C15) >> (64 - (bits)))

static inline uint64_t sp_hash(uint64_t word) {
    return sp_hash_bits(word, 32);
}

#endif
