// Arithmetic on sizes that tells when it overflows, and rounding to powers of two.
//
// Sizes come from callers, and SIZE_MAX is a legal argument of an allocation. So every sum, product
// and rounding of a size that has not been checked goes through here. A function that returns false
// leaves its output as it was.
#ifndef STREAMPOOL_BASE_CHECKED_H
#define STREAMPOOL_BASE_CHECKED_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

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

#endif
