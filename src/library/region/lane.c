#include "region/lane.h"

#include "order/identity.h"
#include "order/mark.h"
#include "order/progress.h"
#include "region/device.h"
#include "region/held.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_TABLE = 64, SPARE_TIERS = 64 };

struct sp_lane_tiers sp_lane_no_tiers; // is never written

// Lanes that no pool uses. They are never given back to the system: see sp_lane_is. Of tiers, which
// nobody looks at without the lock of the pool that has them, a few are kept.
static struct {
    struct sp_lock lock;
    struct sp_list lanes, tiers; // by `link`
    unsigned tiers_count;
} spare = {.lanes = {&spare.lanes, &spare.lanes}, .tiers = {&spare.tiers, &spare.tiers}};

static struct sp_list *take_spare(struct sp_list *list) {
    sp_lock_acquire(&spare.lock);
    struct sp_list *link = sp_list_pop_front(list);
    spare.tiers_count -= link && list == &spare.tiers;
    sp_lock_release(&spare.lock);
    return link;
}

// ------------------------------------------------------------------------------------------- tiers

// Empty tiers have no pointer to anything, so spare ones are as good as new.
struct sp_lane_tiers *sp_lane_make_tiers(struct sp_lane *lane, enum sp_region_kind kind) {
    struct sp_pool *pool = lane->pool;
    struct sp_list *link = take_spare(&spare.tiers);
    struct sp_lane_tiers *tiers =
        link ? SP_CONTAINER_OF(link, struct sp_lane_tiers, link) : malloc(sizeof *tiers);
    if (!tiers)
        return NULL;
    if (!link) {
        sp_tier_init(&tiers->fenced, SP_BLOCK_FREE);
        sp_tier_init(&tiers->unfenced, SP_BLOCK_FREE);
        sp_calendar_init(&tiers->due);
        sp_calendar_init(&tiers->covered);
        tiers->fenced.calendar = &tiers->due;
        tiers->unfenced.calendar = &tiers->covered;
    }
    tiers->lane = lane;
    tiers->due.now = sp_pool_known_of(pool, lane->stream);
    tiers->covered.now = sp_pool_covered_of(pool, lane->stream);
    sp_list_push_back(&pool->regions[kind].lanes, &tiers->link);
    pool->lanes.with_tiers++;
    return lane->tiers[kind] = tiers;
}

void sp_lane_end_tiers(struct sp_lane *lane, enum sp_region_kind kind) {
    struct sp_lane_tiers *tiers = lane->tiers[kind];
    if (!sp_lane_has_tiers(lane, kind))
        return;
    lane->tiers[kind] = &sp_lane_no_tiers;
    lane->pool->lanes.with_tiers--;
    sp_list_remove(&tiers->link);
    bool is_empty = tiers->fenced.bytes == 0 && tiers->unfenced.bytes == 0;
    sp_lock_acquire(&spare.lock);
    bool keeps = is_empty && spare.tiers_count < SPARE_TIERS;
    spare.tiers_count += keeps;
    if (keeps)
        sp_list_push_front(&spare.tiers, &tiers->link);
    sp_lock_release(&spare.lock);
    if (!keeps)
        free(tiers);
}

// ------------------------------------------------------------------------------------------- lanes

static void give_spare(struct sp_lane *lane) {
    sp_biased_lock_acquire(&lane->lock);
    sp_held_end(lane);
    lane->pool = NULL;
    lane->stream = NULL;
    sp_store_relaxed(&lane->puts, NULL);
    sp_biased_lock_release(&lane->lock);
    sp_lock_acquire(&spare.lock);
    sp_list_push_front(&spare.lanes, &lane->link);
    sp_lock_release(&spare.lock);
}

// A used lane has no slabs, no quick blocks and no tiers, as its pool had no memory left, unless it
// was demolished; and it is in no list.
static void init_locked(struct sp_lane *lane, struct sp_pool *pool, struct sp_stream *stream) {
    lane->pool = pool;
    lane->stream = stream;
    lane->records_each_free = sp_identity_records_each_free(stream);
    sp_store_relaxed(&lane->puts, lane->records_each_free ? NULL : stream);
    sp_store_relaxed(&lane->is_alien, false);
    sp_store_relaxed(&lane->unfenced_sequence, 0);
    lane->window = lane->window_size = 0;
    lane->uncounted = false;
    lane->confirmed = 0;
    sp_store_relaxed(&lane->holds, 0);
    atomic_store(&lane->looks, SP_LOOK_DEALT | SP_LOOK_LISTS);
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
    for (int kind = 0; kind < SP_REGION_COUNT; kind++)
        lane->tiers[kind] = &sp_lane_no_tiers;
}

static struct sp_lane *new_lane(struct sp_pool *pool, struct sp_stream *stream) {
    struct sp_list *link = take_spare(&spare.lanes);
    struct sp_lane *lane = link ? SP_CONTAINER_OF(link, struct sp_lane, link)
                                : aligned_alloc(_Alignof(struct sp_lane), sizeof *lane);
    if (!lane)
        return NULL;
    if (!link) {
        memset(lane, 0, sizeof *lane);
        sp_list_init(&lane->held_link);
        sp_list_init(&lane->freed_link);
        sp_list_init(&lane->uncovered_link);
        sp_list_init(&lane->link);
        sp_list_init(&lane->legacy_link);
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
    if (sp_pool_residency(pool) == SP_RESIDENT)
        sp_store_release(&pool->table_for_mallocs, table);
    return table;
}

void sp_lane_set_residency(struct sp_pool *pool, enum sp_residency_state state) {
    struct sp_lane_table *table = sp_load_relaxed(&pool->lane_table);
    sp_store_release(&pool->residency.state, (int)state);
    sp_store_release(&pool->table_for_mallocs, state == SP_RESIDENT ? table : NULL);
}

// Publishes a lane unless another thread was faster. A pool that several streams share places by
// address, but for one on a plain device, where each growth is memory by itself: the second lane
// tells the first one so.
struct sp_lane *sp_lane_make(struct sp_pool *pool, struct sp_stream *stream) {
    struct sp_lane *made = new_lane(pool, stream), *lane = NULL;
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
        sp_held_deal_to(lane, false);
        if (sp_load_relaxed(&pool->lanes.count) == 2)
            sp_held_deal(pool, false); // the first one is alone no more
        sp_store_release(&table->lanes[stream->slot], lane);
    }
    sp_lock_release(&pool->lock);
    if (lane != made)
        give_spare(made);
    return lane;
}

void sp_lane_look_at_context(struct sp_lane *lane) {
    const struct sp_pool *pool = lane->pool;
    struct sp_stream *stream = lane->stream;
    bool is_alien = sp_vmm_provider(&pool->device->vmm)->is_of_context &&
                    sp_load_relaxed(&stream->context_id) != sp_load_relaxed(&pool->context_id);
    if (SP_LIKELY(is_alien == sp_load_relaxed(&lane->is_alien)))
        return;
    sp_biased_lock_acquire(&lane->lock);
    sp_store_relaxed(&lane->is_alien, is_alien);
    sp_store_relaxed(&lane->puts, is_alien || lane->records_each_free ? NULL : stream);
    sp_biased_lock_release(&lane->lock);
}

struct sp_lane *sp_lane_make_shelf(struct sp_lane *lane) {
    struct sp_pool *pool = lane->pool;
    if (!sp_biased_lock_is_contended(&lane->lock) || lane->records_each_free ||
        sp_load_relaxed(&lane->is_alien) || sp_load_relaxed(&lane->stream->acts))
        return lane;
    struct sp_lane *shelf = sp_lane_shelf(lane, pool);
    struct sp_lane *made = shelf ? NULL : new_lane(pool, lane->stream);
    if (!made)
        return shelf ? shelf : lane;
    struct sp_lane *_Atomic *place = &lane->shelves[sp_this_thread->shelf % SP_SHELVES];
    sp_lock_acquire(&pool->lock);
    shelf = sp_load_relaxed(place);
    if (!shelf) {
        atomic_store(&made->share, atomic_load(&lane->share));
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

struct sp_lane *sp_lane_next(struct sp_pool *pool, const struct sp_lane *lane) {
    sp_lock_acquire(&pool->lock);
    struct sp_list *next = lane ? lane->link.next : pool->lanes.list.next;
    sp_lock_release(&pool->lock);
    return SP_LIST_AT(next, &pool->lanes.list, struct sp_lane, link);
}

// -------------------------------------------------------------------- what is to be looked through

void sp_lane_list_locked(struct sp_lane *lane) {
    struct sp_lanes *lanes = &lane->pool->lanes;
    if (!(sp_load_relaxed(&lane->looks) & SP_LOOK_LISTS))
        return;
    uint8_t looks = atomic_fetch_and(&lane->looks, (uint8_t)~SP_LOOK_LISTS);
    sp_lock_acquire(&lanes->listing);
    if (looks & SP_LOOK_COLLECTED) {
        sp_list_push_back(&lanes->freed, &lane->freed_link);
        sp_add_relaxed(&lanes->freed_count, 1);
    }
    if (looks & SP_LOOK_COVERED) {
        sp_list_push_back(&lanes->uncovered, &lane->uncovered_link);
        sp_add_relaxed(&lanes->uncovered_count, 1);
    }
    sp_lock_release(&lanes->listing);
}

void sp_lane_unlist_locked(struct sp_lane *lane, enum sp_look list) {
    struct sp_lanes *lanes = &lane->pool->lanes;
    if (atomic_fetch_or(&lane->looks, (uint8_t)list) & list)
        return;
    bool is_freed = list == SP_LOOK_COLLECTED;
    sp_lock_acquire(&lanes->listing);
    sp_list_remove(is_freed ? &lane->freed_link : &lane->uncovered_link);
    sp_subtract_relaxed(is_freed ? &lanes->freed_count : &lanes->uncovered_count, 1);
    sp_lock_release(&lanes->listing);
}

uint32_t sp_lane_name_freed(struct sp_pool *pool, struct sp_lane **lanes, uint32_t most) {
    uint32_t count = 0;
    sp_lock_acquire(&pool->lanes.listing);
    SP_LIST_FOR_EACH_OF(struct sp_lane, lane, freed_link, &pool->lanes.freed) {
        if (count == most)
            break;
        lanes[count++] = lane;
    }
    sp_lock_release(&pool->lanes.listing);
    return count;
}

uint32_t sp_lane_name_uncovered(struct sp_pool *pool, struct sp_lane **lanes, uint32_t most) {
    uint32_t count = 0;
    sp_lock_acquire(&pool->lanes.listing);
    most = (uint32_t)sp_min(most, sp_load_relaxed(&pool->lanes.uncovered_count));
    while (count < most) {
        struct sp_list *link = sp_list_pop_front(&pool->lanes.uncovered);
        sp_list_push_back(&pool->lanes.uncovered, link);
        lanes[count++] = SP_CONTAINER_OF(link, struct sp_lane, uncovered_link);
    }
    sp_lock_release(&pool->lanes.listing);
    return count;
}

// ------------------------------------------------------------------------------- those of a pool

void sp_lane_init_all(struct sp_pool *pool) {
    struct sp_lanes *lanes = &pool->lanes;
    sp_list_init(&lanes->list);
    sp_list_init(&lanes->legacy);
    sp_list_init(&lanes->freed);
    sp_list_init(&lanes->uncovered);
    sp_store_relaxed(&lanes->freed_count, 0);
    sp_store_relaxed(&lanes->uncovered_count, 0);
    sp_store_relaxed(&lanes->ask_each_miss, false);
    sp_store_relaxed(&lanes->offers, NULL);
    sp_store_relaxed(&lanes->count, 0);
    lanes->with_tiers = 0;
}

void sp_lane_free_all(struct sp_pool *pool) {
    struct sp_lane_table *table = sp_load_relaxed(&pool->lane_table);
    for (; table; table = table->smaller) {
        for (uint32_t i = 0; i < table->count; i++)
            sp_store_release(&table->lanes[i], NULL);
    }
    while (sp_list_pop_front(&pool->lanes.freed) || sp_list_pop_front(&pool->lanes.uncovered))
        ;
    while (sp_list_pop_front(&pool->lanes.legacy))
        ;
    for (struct sp_list *link; (link = sp_list_pop_front(&pool->lanes.list));) {
        struct sp_lane *shelf = SP_CONTAINER_OF(link, struct sp_lane, link);
        for (struct sp_lane *next; shelf; shelf = next) {
            next = sp_load_relaxed(&shelf->next_shelf);
            for (int kind = 0; kind < SP_REGION_COUNT; kind++)
                sp_lane_end_tiers(shelf, (enum sp_region_kind)kind);
            give_spare(shelf);
        }
    }
    sp_lane_init_all(pool);
}

void sp_lane_record(struct sp_lane *lane) {
    if (sp_is_done(sp_mark_record(lane->stream)))
        sp_pool_count(lane->pool, SP_STATISTIC_EventsRecorded);
}
