// Lanes: finding the one of a stream, making it, counting what is not fenced yet.
#include "order/borrow.h"
#include "order/mark.h"
#include "order/synchronize.h"
#include "pool/pool.h"
#include "pool/runtime.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_TABLE = 64 };

// Lanes that no pool uses. They are never given back to the system: see sp_lane_is.
static struct {
    struct sp_lock lock;
    struct sp_list lanes; // linked by `link`
} spare = {.lanes = {&spare.lanes, &spare.lanes}};

// What was counted so far is fenced once a record, or a completion that the pool goes by, covers
// the latest number among it. That a number was closed says nothing: a query of a pending stream
// and a record that failed close theirs too. But what covers a number has closed it, so frees under
// one and the same number needn't look.
static bool is_fenced(const struct sp_lane *lane, uint64_t sequence) {
    const struct sp_stream *stream = lane->stream;
    return atomic_load_explicit(&stream->recorded, memory_order_relaxed) >= sequence ||
           sp_pool_knows(lane->pool, (struct sp_fence){stream->slot, sequence});
}

void sp_lane_begin_unfenced(struct sp_lane *lane, uint64_t sequence) {
    uint64_t latest = atomic_load_explicit(&lane->unfenced_sequence, memory_order_relaxed);
    if (is_fenced(lane, latest))
        atomic_store_explicit(&lane->unfenced_bytes, 0, memory_order_relaxed);
    if (latest < sequence)
        atomic_store_explicit(&lane->unfenced_sequence, sequence, memory_order_relaxed);
}

bool sp_lane_holds_back(const struct sp_lane *lane) {
    struct sp_fence last = {lane->stream->slot,
                            atomic_load_explicit(&lane->unfenced_sequence, memory_order_relaxed)};
    return atomic_load_explicit(&lane->unfenced_bytes, memory_order_relaxed) > 0 &&
           last.sequence > sp_progress_covered(lane->stream);
}

static struct sp_lane *take_spare(void) {
    sp_lock_acquire(&spare.lock);
    struct sp_list *link = sp_list_pop_front(&spare.lanes);
    sp_lock_release(&spare.lock);
    return link ? SP_CONTAINER_OF(link, struct sp_lane, link) : NULL;
}

static void give_spare(struct sp_lane *lane) {
    sp_biased_acquire(&lane->lock);
    lane->pool = NULL;
    lane->stream = NULL;
    sp_biased_release(&lane->lock);
    sp_lock_acquire(&spare.lock);
    sp_list_push_front(&spare.lanes, &lane->link);
    sp_lock_release(&spare.lock);
}

// A used lane has no slabs, no quick blocks and empty tiers: its pool had no memory left, unless it
// was demolished.
static void init_locked(struct sp_lane *lane, struct sp_pool *pool, struct sp_stream *stream) {
    lane->pool = pool;
    lane->stream = stream;
    atomic_store_explicit(&lane->unfenced_sequence, 0, memory_order_relaxed);
    atomic_store_explicit(&lane->unfenced_bytes, 0, memory_order_relaxed);
    sp_calendar_init(&lane->due);
    sp_calendar_init(&lane->covered);
    lane->was_open = false;
    atomic_store_explicit(&lane->hits, 0, memory_order_relaxed);
    atomic_store_explicit(&lane->records, 0, memory_order_relaxed);
    atomic_store_explicit(&lane->used, 0, memory_order_relaxed);
    atomic_store_explicit(&lane->allowance, 0, memory_order_relaxed);
    atomic_store_explicit(&lane->misses, 0, memory_order_relaxed);
    lane->quick_used = 0;
    lane->freed_unchecked = 0;
    memset(lane->quick, 0, sizeof lane->quick);
    for (int i = 0; i < SP_CLASS_COUNT; i++) {
        sp_list_init(&lane->slabs[i]);
        sp_list_init(&lane->returned_slabs[i]);
    }
    sp_list_init(&lane->owned_slabs);
    sp_list_init(&lane->link);
    sp_list_init(&lane->legacy_link);
    for (int i = 0; i < SP_REGION_COUNT; i++) {
        sp_tier_init_with_calendar(&lane->tiers[i], &lane->due);
        sp_tier_init_with_calendar(&lane->unfenced[i], &lane->covered);
    }
}

static struct sp_lane *new_lane(struct sp_pool *pool, struct sp_stream *stream) {
    struct sp_lane *lane = take_spare();
    if (!lane) {
        lane = aligned_alloc(_Alignof(struct sp_lane), sizeof *lane);
        if (!lane)
            return NULL;
        memset(lane, 0, sizeof *lane);
    }
    sp_biased_acquire(&lane->lock);
    init_locked(lane, pool, stream);
    sp_biased_release(&lane->lock);
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

// What others can't see yet is little beside what there is.
uint64_t sp_pool_unfenced_max(const struct sp_pool *pool) {
    uint64_t most = atomic_load_explicit(&pool->unfenced_max, memory_order_relaxed);
    uint64_t part = atomic_load_explicit(&pool->reserved, memory_order_relaxed) / SP_UNFENCED_PART;
    bool is_set = atomic_load_explicit(&pool->unfenced_max_set, memory_order_relaxed);
    return is_set || most > part ? most : part;
}

// Each lane may hold back an equal part of what the pool may. A stream that is gone keeps what it
// held back, so the n-th of streams that come and go may hold back an n-th: together they do so
// little more than one.
static uint64_t unfenced_share(const struct sp_pool *pool) {
    uint32_t lanes = atomic_load_explicit(&pool->lane_count, memory_order_relaxed);
    uint64_t most = sp_pool_unfenced_max(pool);
    return lanes > 1 ? most / lanes : most;
}

// In a pool that is short of memory others wait for what is freed; one that was given up goes when
// all of it is free and complete. Of a program that makes and destroys pools, each may hold back
// some memory when it is given up: where several wait for that already, the next ones leave an
// event.
static bool records_each_free(const struct sp_pool *pool) {
    enum { WAITING_MOST = 4 };
    return atomic_load_explicit(&pool->is_short, memory_order_relaxed) ||
           atomic_load_explicit(&pool->destroyed, memory_order_acquire) ||
           atomic_load_explicit(&pool->device->given_up, memory_order_relaxed) >= WAITING_MOST;
}

static bool promises_open_lanes(const struct sp_pool *pool) {
    enum { OPEN = poolPromiseStreamDestroy | poolPromiseNeverCapture };
    return (sp_pool_promises(pool) & OPEN) == OPEN;
}

// A pool that goes by synchronises alone learns of no other thing.
static bool is_open(const struct sp_pool *pool, const struct sp_stream *stream) {
    return promises_open_lanes(pool) && sp_borrow_is_possible(stream) &&
           !sp_pool_is_deterministic(pool);
}

static void set_share(struct sp_lane *lane, uint64_t share, bool closed) {
    bool none = records_each_free(lane->pool);
    uint64_t most = none ? 0 : !closed && is_open(lane->pool, lane->stream) ? UINT64_MAX : share;
    atomic_store_explicit(&lane->unfenced_most, most, memory_order_relaxed);
}

static void share_unfenced(struct sp_pool *pool, bool closed) {
    pool->shared = unfenced_share(pool);
    SP_LIST_FOR_EACH(link, &pool->lanes)
        set_share(SP_CONTAINER_OF(link, struct sp_lane, link), pool->shared, closed);
}

void sp_pool_share_unfenced(struct sp_pool *pool) {
    share_unfenced(pool, false);
}

void sp_pool_share_unfenced_again(struct sp_pool *pool) {
    uint64_t share = unfenced_share(pool);
    uint64_t change = share > pool->shared ? share - pool->shared : pool->shared - share;
    if (!sp_pool_has_many_lanes(pool) || change > pool->shared / 8)
        share_unfenced(pool, false);
}

// -------------------------------------------------------------------------------------- open lanes

// Has freed more than any lane may that records, and nothing stands behind it.
static bool is_unfenced(const struct sp_lane *lane, uint64_t share) {
    return is_open(lane->pool, lane->stream) &&
           atomic_load_explicit(&lane->unfenced_bytes, memory_order_relaxed) > share &&
           atomic_load_explicit(&lane->unfenced_sequence, memory_order_relaxed) >
               sp_progress_covered(lane->stream);
}

// A stream that is idle needs no event: what it has freed is complete. A record on a legacy stream
// that is busy would make the later work of all blocking streams wait for what they have pending,
// so that is for who needs an event and can't do with an answer.
static CUresult ask_or_record(struct sp_lane *lane, bool may_ask) {
    CUresult error = may_ask ? sp_synchronize_ask(lane->stream) : CUDA_ERROR_NOT_READY;
    if (error != CUDA_ERROR_NOT_READY)
        return error;
    if (may_ask && sp_stream_is_legacy(lane->stream->handle))
        return CUDA_SUCCESS;
    sp_lane_record(lane);
    return CUDA_SUCCESS;
}

static CUresult fence_open(struct sp_lane *lane, const struct sp_lane *caller, bool may_ask) {
    if (!sp_borrow_stream(lane->stream, caller ? caller->stream : NULL))
        return CUDA_SUCCESS;
    CUresult error = ask_or_record(lane, may_ask);
    sp_borrow_end(lane->stream);
    return error;
}

// Of a table's lanes so many, from a slot on.
static CUresult fence_open_of(const struct sp_lane_table *table, uint32_t from, uint32_t count,
                              const struct sp_lane *caller, bool may_ask, uint64_t share) {
    CUresult first = CUDA_SUCCESS;
    for (uint32_t i = 0; i < count; i++) {
        struct sp_lane *lane =
            atomic_load_explicit(&table->lanes[(from + i) % table->count], memory_order_acquire);
        if (!lane || lane == caller || !is_unfenced(lane, share))
            continue;
        CUresult error = fence_open(lane, caller, may_ask);
        first = first == CUDA_SUCCESS ? error : first;
    }
    return first;
}

CUresult sp_pool_fence_open_lanes(struct sp_pool *pool, const struct sp_lane *caller,
                                  bool may_ask) {
    const struct sp_lane_table *table =
        atomic_load_explicit(&pool->lane_table, memory_order_acquire);
    if (!table || !promises_open_lanes(pool))
        return CUDA_SUCCESS;
    return fence_open_of(table, 0, table->count, caller, may_ask, unfenced_share(pool));
}

CUresult sp_pool_ask_some_open_lanes(struct sp_pool *pool, const struct sp_lane *caller) {
    const struct sp_lane_table *table =
        atomic_load_explicit(&pool->lane_table, memory_order_acquire);
    if (!table || !promises_open_lanes(pool))
        return CUDA_SUCCESS;
    uint32_t count = table->count < SP_LANES_AT_ONCE ? table->count : SP_LANES_AT_ONCE;
    uint32_t from = atomic_fetch_add_explicit(&pool->open_in_turn, count, memory_order_relaxed);
    return fence_open_of(table, from % table->count, count, caller, true, unfenced_share(pool));
}

// A free that found its lane open is counted when the lane's lock can be had.
static void await_frees(const struct sp_pool *pool) {
    const struct sp_lane_table *table =
        atomic_load_explicit(&pool->lane_table, memory_order_acquire);
    for (uint32_t slot = 0; table && slot < table->count; slot++) {
        struct sp_lane *lane = atomic_load_explicit(&table->lanes[slot], memory_order_acquire);
        if (!lane)
            continue;
        sp_biased_acquire(&lane->lock);
        sp_biased_release(&lane->lock);
    }
}

void sp_pool_close_lanes(struct sp_pool *pool) {
    if (!promises_open_lanes(pool))
        return;
    sp_lock_acquire(&pool->lock);
    share_unfenced(pool, true);
    sp_lock_release(&pool->lock);
    await_frees(pool);
    sp_pool_fence_open_lanes(pool, NULL, false);
}

// ----------------------------------------------------------------------------------- a lane's life

// Publishes a lane unless another thread was faster. Returns the one in the table, or null without
// host memory.
static struct sp_lane *add_locked(struct sp_pool *pool, struct sp_lane *lane) {
    struct sp_lane_table *table = table_for_locked(pool, lane->stream->slot);
    if (!table)
        return NULL;
    struct sp_lane *known =
        atomic_load_explicit(&table->lanes[lane->stream->slot], memory_order_relaxed);
    if (known)
        return known;
    if (sp_pool_is_deterministic(pool))
        sp_progress_set_strict(lane->stream);
    sp_list_push_back(&pool->lanes, &lane->link);
    if (sp_stream_is_legacy(lane->stream->handle))
        sp_list_push_back(&pool->legacy_lanes, &lane->legacy_link);
    atomic_fetch_add_explicit(&pool->lane_count, 1, memory_order_relaxed);
    set_share(lane, unfenced_share(pool), false);
    sp_pool_share_unfenced_again(pool);
    atomic_store_explicit(&table->lanes[lane->stream->slot], lane, memory_order_release);
    return lane;
}

struct sp_lane *sp_pool_make_lane(struct sp_pool *pool, struct sp_stream *stream) {
    struct sp_lane *made = new_lane(pool, stream);
    if (!made)
        return NULL;
    sp_lock_acquire(&pool->lock);
    struct sp_lane *lane = add_locked(pool, made);
    sp_lock_release(&pool->lock);
    if (lane != made)
        give_spare(made);
    return lane;
}

void sp_pool_free_lanes(struct sp_pool *pool) {
    struct sp_lane_table *table = atomic_load_explicit(&pool->lane_table, memory_order_relaxed);
    for (; table; table = table->smaller) {
        for (uint32_t i = 0; i < table->count; i++)
            atomic_store_explicit(&table->lanes[i], NULL, memory_order_release);
    }
    pool->in_turn = NULL;
    while (!sp_list_empty(&pool->legacy_lanes))
        sp_list_pop_front(&pool->legacy_lanes);
    while (!sp_list_empty(&pool->lanes))
        give_spare(SP_CONTAINER_OF(sp_list_pop_front(&pool->lanes), struct sp_lane, link));
    atomic_store_explicit(&pool->lane_count, 0, memory_order_relaxed);
}

void sp_lane_record(struct sp_lane *lane) {
    if (sp_mark_record(lane->stream) == CUDA_SUCCESS)
        sp_pool_count(lane->pool, SP_STATISTIC_EventsRecorded);
}
