// Operations on atomic variables, named after the order that they keep.
//
// A *relaxed* one orders nothing else: it is for counters, hints, and whatever a lock guards for
// its writers. What a thread wrote before a *release* is seen by each thread whose *acquire* reads
// the value that was stored. Where one order for all threads is needed, the code calls C's
// atomic_load() and its like, which have that order.
#ifndef STREAMPOOL_BASE_ATOMIC_H
#define STREAMPOOL_BASE_ATOMIC_H

#include <stdatomic.h>
#include <stdint.h>

#define sp_load_relaxed(variable) atomic_load_explicit(variable, memory_order_relaxed)
#define sp_load_acquire(variable) atomic_load_explicit(variable, memory_order_acquire)

#define sp_store_relaxed(variable, value)                                                          \
    atomic_store_explicit(variable, value, memory_order_relaxed)
#define sp_store_release(variable, value)                                                          \
    atomic_store_explicit(variable, value, memory_order_release)

// These return the number from before.
#define sp_add_relaxed(variable, number)                                                           \
    atomic_fetch_add_explicit(variable, number, memory_order_relaxed)
#define sp_subtract_relaxed(variable, number)                                                      \
    atomic_fetch_sub_explicit(variable, number, memory_order_relaxed)

// These are for a plain variable that a lock guards, and that others look at without it. They cost
// what a plain access costs.
#define sp_load_plain(variable)         __atomic_load_n(variable, __ATOMIC_RELAXED)
#define sp_store_plain(variable, value) __atomic_store_n(variable, value, __ATOMIC_RELAXED)

// Raises a number that is lower to `least`, with release order.
static inline void sp_atomic_raise(_Atomic uint64_t *number, uint64_t least) {
    uint64_t known = sp_load_relaxed(number);
    while (known < least && !atomic_compare_exchange_weak_explicit(
                                number, &known, least, memory_order_release, memory_order_relaxed))
        ;
}

#endif
