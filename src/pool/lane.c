// Lanes: finding the one of a stream, making it, counting what is not fenced yet.
#include "pool/pool.h"

#include <stdlib.h>

enum { FIRST_TABLE = 64 };

bool sp_lane_count_unfenced(struct sp_lane *lane, uint64_t sequence, uint64_t bytes) {
    if (lane->unfenced_sequence != sequence) {
        lane->unfenced_sequence = sequence;
        lane->unfenced_bytes = 0;
    }
    lane->unfenced_bytes += bytes;
    return lane->unfenced_bytes > atomic_load_explicit(&lane->pool->unfenced_max, memory_order_relaxed);
}

static struct sp_lane *new_lane(struct sp_pool *pool, struct sp_stream *stream) {
    struct sp_lane *lane = aligned_alloc(64, (sizeof *lane + 63) & ~(size_t)63);
    if (!lane)
        return NULL;
    *lane = (struct sp_lane){.pool = pool, .stream = stream};
    for (int i = 0; i < SP_CLASS_COUNT; i++)
        sp_list_init(&lane->slabs[i]);
    sp_list_init(&lane->returned_slabs);
    sp_list_init(&lane->owned_slabs);
    sp_list_init(&lane->link);
    for (int i = 0; i < SP_REGION_COUNT; i++)
        sp_tier_init(&lane->tiers[i], SP_BLOCK_FREE);
    return lane;
}

// A table with room for the slot, which may be the present one. Null without host memory.
static struct sp_lane_table *table_for_locked(struct sp_pool *pool, uint32_t slot) {
    struct sp_lane_table *old = atomic_load_explicit(&pool->lane_table, memory_order_relaxed);
    if (old && slot < old->count)
        return old;
    uint32_t count = old ? old->count : FIRST_TABLE;
    while (count <= slot)
        count *= 2;
    struct sp_lane_table *table = calloc(1, sizeof *table + count * sizeof table->lanes[0]);
    if (!table)
        return NULL;
    table->smaller = old;
    table->count = count;
    for (uint32_t i = 0; old && i < old->count; i++)
        atomic_init(&table->lanes[i], atomic_load_explicit(&old->lanes[i], memory_order_relaxed));
    atomic_store_explicit(&pool->lane_table, table, memory_order_release);
    return table;
}

// Publishes a lane unless another thread was faster. Returns the one in the table, or null without host
// memory.
static struct sp_lane *add_locked(struct sp_pool *pool, struct sp_lane *lane) {
    struct sp_lane_table *table = table_for_locked(pool, lane->stream->slot);
    if (!table)
        return NULL;
    struct sp_lane *known = atomic_load_explicit(&table->lanes[lane->stream->slot], memory_order_relaxed);
    if (known)
        return known;
    sp_list_push_back(&pool->lanes, &lane->link);
    atomic_fetch_add_explicit(&pool->lane_count, 1, memory_order_relaxed);
    atomic_store_explicit(&table->lanes[lane->stream->slot], lane, memory_order_release);
    return lane;
}

static struct sp_lane *make_lane(struct sp_pool *pool, struct sp_stream *stream) {
    struct sp_lane *made = new_lane(pool, stream);
    if (!made)
        return NULL;
    sp_lock_acquire(&pool->lock);
    struct sp_lane *lane = add_locked(pool, made);
    sp_lock_release(&pool->lock);
    if (lane != made)
        free(made);
    return lane;
}

struct sp_lane *sp_pool_lane(struct sp_pool *pool, struct sp_stream *stream) {
    struct sp_lane *lane = sp_pool_find_lane(pool, stream->slot);
    return lane ? lane : make_lane(pool, stream);
}

void sp_pool_free_lanes(struct sp_pool *pool) {
    struct sp_lane_table *table = atomic_exchange(&pool->lane_table, NULL);
    while (table) {
        struct sp_lane_table *smaller = table->smaller;
        free(table);
        table = smaller;
    }
    while (!sp_list_empty(&pool->lanes)) {
        struct sp_lane *lane = SP_CONTAINER_OF(sp_list_pop_front(&pool->lanes), struct sp_lane, link);
        free(lane);
    }
}
