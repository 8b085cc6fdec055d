// A pool's four figures: how they are counted, here and nowhere else.
#ifndef STREAMPOOL_POOL_FIGURES_H
#define STREAMPOOL_POOL_FIGURES_H

#include "pool/pool.h"

static inline void sp_figure_raise(_Atomic uint64_t *high, uint64_t current) {
    uint64_t known = atomic_load_explicit(high, memory_order_relaxed);
    while (known < current && !atomic_compare_exchange_weak_explicit(
                                  high, &known, current, memory_order_relaxed, memory_order_relaxed))
        ;
}

static inline void sp_figures_used_add(struct sp_pool *pool, uint64_t bytes) {
    uint64_t used = atomic_fetch_add_explicit(&pool->used, bytes, memory_order_relaxed) + bytes;
    sp_figure_raise(&pool->used_high, used);
}

// The last thing that a free does with the pool: a pool that was given up may be taken apart right after.
// Returns what is left.
static inline uint64_t sp_figures_used_subtract(struct sp_pool *pool, uint64_t bytes) {
    return atomic_fetch_sub_explicit(&pool->used, bytes, memory_order_acq_rel) - bytes;
}

static inline void sp_figures_reserved_add(struct sp_pool *pool, uint64_t bytes) {
    uint64_t reserved = atomic_fetch_add_explicit(&pool->reserved, bytes, memory_order_relaxed) + bytes;
    sp_figure_raise(&pool->reserved_high, reserved);
}

static inline void sp_figures_reserved_subtract(struct sp_pool *pool, uint64_t bytes) {
    atomic_fetch_sub_explicit(&pool->reserved, bytes, memory_order_relaxed);
}

#endif
