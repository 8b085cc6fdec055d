#include "region/lane.h"

#include "order/identity.h"
#include "order/mark.h"
#include "order/progress.h"
#include "region/device.h"
#include "region/held.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_TABLE = 64 };

// Lanes that no pool uses. They are never given back to the system: see sp_lane_is.
static struct {
    struct sp_lock lock;
    struct sp_list lanes[2]; // linked by `link`; those with tiers are the second
} spare = {.lanes = {{&spare.lanes[0], &spare.lanes[0]}, {&spare.lanes[1], &spare.lanes[1]}}};

static void give_spare(struct sp_lane *lane) {
    sp_biased_lock_acquire(&lane->lock);
    sp_held_end(lane);
    lane->pool = NULL;
    lane->stream = NULL;
    sp_store_relaxed(&lane->puts, NULL);
    sp_biased_lock_release(&lane->lock);
    sp_lock_acquire(&spare.lock);
    sp_list_push_front(&spare.lanes[lane->unfenced != NULL], &lane->link);
    sp_lock_release(&spare.lock);
}

// A used lane has no slabs, no quick blocks and empty tiers: its pool had no memory left, unless it
// was demolished.
static void init_locked(struct sp_lane *lane, struct sp_pool *pool, struct sp_stream *stream) {
    lane->pool = pool;
    lane->stream = stream;
    lane->records_each_free = sp_identity_records_each_free(stream);
    sp_store_relaxed(&lane->puts, lane->records_each_free ? NULL : stream);
    sp_store_relaxed(&lane->unfenced_sequence, 0);
    lane->window = lane->window_size = 0;
    lane->uncounted = false;
    lane->confirmed = 0;
    sp_store_relaxed(&lane->holds, 0);
    sp_list_init(&lane->held_link);
    sp_calendar_init(&lane->due);
    sp_calendar_init(&lane->covered);
    sp_store_relaxed(&lane->hits, 0);
    sp_store_relaxed(&lane->records, 0);
    sp_store_relaxed(&lane->used, 0);
    sp_store_relaxed(&lane->allowance, 0);
    sp_store_relaxed(&lane->misses, 0);
    lane->consecutive_waits = lane->misses_at_wait = 0;
    sp_store_relaxed(&lane->by_address, false);
    sp_store_relaxed(&lane->latest, NULL);
    sp_store_relaxed(&lane->contention, 0);
    sp_biased_lock_forget_contention(&lane->lock);
    sp_store_relaxed(&lane->contended_frees, 0);
    sp_store_relaxed(&lane->quick_used, 0);
    sp_store_relaxed(&lane->slab_count, 0);
    lane->freed_unchecked = 0;
    sp_store_relaxed(&lane->next_shelf, NULL);
    for (int i = 0; i < SP_SHELVES; i++)
        sp_store_relaxed(&lane->shelves[i], i == 0 ? lane : NULL);
    memset(lane->quick, 0, sizeof lane->quick);
    for (int i = 0; i < SP_CLASS_COUNT; i++) {
        sp_list_init(&lane->slabs[i]);
        sp_list_init(&lane->returned_slabs[i]);
    }
    sp_list_init(&lane->owned_slabs);
    sp_list_init(&lane->link);
    sp_list_init(&lane->legacy_link);
    for (int i = 0; i < SP_REGION_COUNT && lane->unfenced; i++) {
        sp_tier_init(&lane->tiers[i], SP_BLOCK_FREE);
        sp_tier_init(&lane->unfenced[i], SP_BLOCK_FREE);
        lane->tiers[i].calendar = &lane->due;
        lane->unfenced[i].calendar = &lane->covered;
    }
}

static struct sp_lane *new_lane(struct sp_pool *pool, struct sp_stream *stream, bool has_tiers) {
    size_t tiers = has_tiers ? sizeof(struct sp_tier[2 * SP_REGION_COUNT]) : 0;
    size_t size = sp_round_up(sizeof(struct sp_lane) + tiers, _Alignof(struct sp_lane));
    sp_lock_acquire(&spare.lock);
    struct sp_list *link = sp_list_pop_front(&spare.lanes[has_tiers]);
    sp_lock_release(&spare.lock);
    struct sp_lane *lane = link ? SP_CONTAINER_OF(link, struct sp_lane, link) : NULL;
    if (!lane) {
        lane = aligned_alloc(_Alignof(struct sp_lane), size);
        if (!lane)
            return NULL;
        memset(lane, 0, size);
        lane->unfenced = has_tiers ? &lane->tiers[SP_REGION_COUNT] : NULL;
    }
    sp_biased_lock_acquire(&lane->lock);
    init_locked(lane, pool, stream);
    sp_biased_lock_release(&lane->lock);
    return lane;
}

// A table with room for the slot, which may be the present one. Null without host memory.
static struct sp_lane_table *table_for_locked(struct sp_pool *pool, uint32_t slot) {
    struct sp_lane_table *old = sp_load_relaxed(&pool->lane_table);
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
        atomic_init(&table->lanes[i], sp_load_relaxed(&old->lanes[i]));
    sp_store_release(&pool->lane_table, table);
    return table;
}

// Publishes a lane unless another thread was faster. A pool that several streams share places by
// address, but for one on a plain device, where each growth is memory by itself: the second lane
// tells the first one so.
struct sp_lane *sp_lane_make(struct sp_pool *pool, struct sp_stream *stream) {
    struct sp_lane *made = new_lane(pool, stream, true), *lane = NULL;
    if (!made)
        return NULL;
    sp_lock_acquire(&pool->lock);
    struct sp_lane_table *table = table_for_locked(pool, stream->slot);
    if (table)
        lane = sp_load_relaxed(&table->lanes[stream->slot]);
    if (table && !lane) {
        lane = made;
        if (sp_pool_is_deterministic(pool))
            sp_progress_set_strict(stream);
        sp_list_push_back(&pool->lanes.list, &lane->link);
        if (sp_stream_is_legacy(stream->handle))
            sp_list_push_back(&pool->lanes.legacy, &lane->legacy_link);
        sp_add_relaxed(&pool->lanes.count, 1);
        if (sp_pool_is_shared(pool) && sp_vmm_provider(&pool->device->vmm)->joins) {
            struct sp_lane *before = SP_CONTAINER_OF(lane->link.prev, struct sp_lane, link);
            sp_store_relaxed(&before->by_address, true);
            sp_store_relaxed(&lane->by_address, true);
        }
        sp_held_deal(pool, false);
        sp_store_release(&table->lanes[stream->slot], lane);
    }
    sp_lock_release(&pool->lock);
    if (lane != made)
        give_spare(made);
    return lane;
}

struct sp_lane *sp_lane_make_shelf(struct sp_lane *lane) {
    struct sp_pool *pool = lane->pool;
    if (!sp_biased_lock_is_contended(&lane->lock) || lane->records_each_free ||
        sp_load_relaxed(&lane->stream->acts))
        return lane;
    struct sp_lane *shelf = sp_lane_shelf(lane, pool);
    struct sp_lane *made = shelf ? NULL : new_lane(pool, lane->stream, false);
    if (!made)
        return shelf ? shelf : lane;
    struct sp_lane *_Atomic *place = &lane->shelves[sp_this_thread->shelf % SP_SHELVES];
    sp_lock_acquire(&pool->lock);
    shelf = sp_load_relaxed(place);
    if (!shelf) {
        atomic_store(&made->share, atomic_load(&lane->share));
        atomic_store(&made->looks, true);
        sp_store_relaxed(&made->next_shelf, sp_load_relaxed(&lane->next_shelf));
        sp_store_release(&lane->next_shelf, made);
        sp_store_release(place, made);
    }
    sp_lock_release(&pool->lock);
    if (!shelf)
        return made;
    give_spare(made);
    return shelf;
}

void sp_lane_go_to_shelf(const struct sp_lane *lane, const struct sp_lane *shelf) {
    struct sp_lock_owner *thread = sp_this_thread;
    if (thread->number == 0)
        return;
    for (uint32_t i = 0; i < SP_SHELVES; i++) {
        if (sp_load_relaxed(&lane->shelves[i]) == shelf)
            thread->shelf = i;
    }
    thread->stays = SP_SHELF_STAYS;
}

static struct sp_lane *next_locked(struct sp_pool *pool, const struct sp_lane *lane) {
    struct sp_list *next = lane ? lane->link.next : pool->lanes.list.next;
    return SP_LIST_AT(next, &pool->lanes.list, struct sp_lane, link);
}

struct sp_lane *sp_lane_next(struct sp_pool *pool, const struct sp_lane *lane) {
    sp_lock_acquire(&pool->lock);
    struct sp_lane *next = next_locked(pool, lane);
    sp_lock_release(&pool->lock);
    return next;
}

static bool has_slabs(const struct sp_lane *lane) {
    bool has = false;
    for (; lane && !has; lane = sp_load_acquire(&lane->next_shelf))
        has = sp_load_acquire(&lane->slab_count) != 0;
    return has;
}

struct sp_lane *sp_lane_next_to_collect(struct sp_pool *pool, const struct sp_lane *lane) {
    sp_lock_acquire(&pool->lock);
    struct sp_lane *next = next_locked(pool, lane);
    for (int looks = SP_LANES_AT_ONCE;
         next && looks > 0 && sp_load_acquire(&next->quick_used) == 0 && !has_slabs(next); looks--)
        next = next_locked(pool, next);
    sp_lock_release(&pool->lock);
    return next;
}

void sp_lane_free_all(struct sp_pool *pool) {
    struct sp_lane_table *table = sp_load_relaxed(&pool->lane_table);
    for (; table; table = table->smaller) {
        for (uint32_t i = 0; i < table->count; i++)
            sp_store_release(&table->lanes[i], NULL);
    }
    pool->lanes.collected_last = NULL;
    sp_store_relaxed(&pool->lanes.offers, NULL);
    while (sp_list_pop_front(&pool->lanes.legacy))
        ;
    for (struct sp_list *link; (link = sp_list_pop_front(&pool->lanes.list));) {
        struct sp_lane *shelf = SP_CONTAINER_OF(link, struct sp_lane, link);
        for (struct sp_lane *next; shelf; shelf = next) {
            next = sp_load_relaxed(&shelf->next_shelf);
            give_spare(shelf);
        }
    }
    sp_store_relaxed(&pool->lanes.count, 0);
}

void sp_lane_record(struct sp_lane *lane) {
    if (sp_is_done(sp_mark_record(lane->stream)))
        sp_pool_count(lane->pool, SP_STATISTIC_EventsRecorded);
}
