#include "region/handle.h"

enum { INDEX_BITS = 20, MAX_POOLS = SP_HANDLE_MOST + 1 };
static_assert(MAX_POOLS == 1 << INDEX_BITS, "an index has just the bits that it needs");

// Indices that were in use before and are free are a stack, so that a handle is found whatever the
// number of pools. The arrays take memory as far as they are used.
static struct {
    struct sp_lock lock;
    uintptr_t last_serial;
    uint32_t last_index; // that was ever in use; 0 is none
    uint32_t free_index; // the top of the stack, or 0
    uint32_t free_below[MAX_POOLS];
    struct sp_pool *_Atomic pools[MAX_POOLS]; // by index; null: free
} registry;

struct sp_pool *sp_handle_pool(poolMemPool_t handle) {
    size_t index = (uintptr_t)handle & (MAX_POOLS - 1);
    struct sp_pool *pool = sp_load_acquire(&registry.pools[index]);
    return pool && sp_load_acquire(&pool->handle) == handle ? pool : NULL;
}

bool sp_handle_publish(struct sp_pool *pool) {
    sp_lock_acquire(&registry.lock);
    uint32_t index = registry.free_index; // 0 when all are in use
    if (index != 0)
        registry.free_index = registry.free_below[index];
    else if (registry.last_index < MAX_POOLS - 1)
        index = ++registry.last_index;
    if (index != 0) {
        uintptr_t value = ++registry.last_serial << INDEX_BITS | index;
        sp_store_release(&pool->handle, (poolMemPool_t)value);
        sp_store_release(&registry.pools[index], pool);
    }
    sp_lock_release(&registry.lock);
    return index != 0;
}

bool sp_handle_withdraw(struct sp_pool *pool, poolMemPool_t handle) {
    size_t index = (uintptr_t)handle & (MAX_POOLS - 1);
    sp_lock_acquire(&registry.lock);
    bool ours = sp_load_relaxed(&registry.pools[index]) == pool && sp_handle_is(pool, handle);
    if (ours) {
        sp_store_release(&registry.pools[index], NULL);
        registry.free_below[index] = registry.free_index;
        registry.free_index = (uint32_t)index;
    }
    sp_lock_release(&registry.lock);
    return ours;
}
