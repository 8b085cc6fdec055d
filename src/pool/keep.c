#include "pool/keep.h"

#include "pool/runtime.h"

#include "base/checked.h"

static uint64_t read_relaxed(const _Atomic uint64_t *number) {
    return atomic_load_explicit(number, memory_order_relaxed);
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

// Bytes that are neither ready nor missing: live, held by a lane, or pending.
static uint64_t occupied(const struct sp_pool *pool) {
    uint64_t bytes = read_relaxed(&pool->reserved);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        bytes -= pool->regions[kind].ready.bytes;
    return bytes;
}

// What is kept if so much is not free.
static uint64_t keep_beside(const struct sp_pool *pool, uint64_t not_free) {
    uint64_t primed =
        smaller(not_free + read_relaxed(&pool->keep.primed), read_relaxed(&pool->keep.primed_until));
    size_t rounded;
    uint64_t bytes = larger(read_relaxed(&pool->release_threshold), primed);
    return sp_checked_round_up(bytes, pool->device->vmm.granule, &rounded) ? rounded : UINT64_MAX;
}

uint64_t sp_keep_at_synchronize(const struct sp_pool *pool) {
    return keep_beside(pool, occupied(pool));
}

// A used byte is occupied.
uint64_t sp_keep_at_least(const struct sp_pool *pool) {
    return keep_beside(pool, read_relaxed(&pool->used));
}

void sp_keep_primed(struct sp_pool *pool, uint64_t bytes) {
    struct sp_keep *keep = &pool->keep;
    atomic_store_explicit(&keep->primed, larger(read_relaxed(&keep->primed), bytes), memory_order_relaxed);
    atomic_store_explicit(&keep->primed_until,
                          larger(read_relaxed(&keep->primed_until), read_relaxed(&pool->reserved)),
                          memory_order_relaxed);
}

void sp_keep_no_more_than(struct sp_pool *pool, uint64_t bytes) {
    struct sp_keep *keep = &pool->keep;
    atomic_store_explicit(&keep->primed, smaller(read_relaxed(&keep->primed), bytes), memory_order_relaxed);
    atomic_store_explicit(&keep->primed_until, smaller(read_relaxed(&keep->primed_until), bytes),
                          memory_order_relaxed);
}

// Fixed blocks have no part in it, so those that came later don't end it.
bool sp_keep_is_primed(const struct sp_pool *pool) {
    return pool->regions[SP_REGION_LARGE].mapped + pool->regions[SP_REGION_PAGES].mapped <=
           read_relaxed(&pool->keep.primed_until);
}
