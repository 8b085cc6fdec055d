#include "region/collect.h"

#include "region/lane.h"
#include "region/owner.h"
#include "region/quick.h"
#include "region/settle.h"
#include "region/stitch.h"

// A block in a quick list has the lane that allocated it still.
void sp_collect_flush_locked(struct sp_pool *pool, struct sp_block *blocks, sp_settle_how *insert) {
    for (struct sp_block *block = blocks; block; block = blocks) {
        const struct sp_lane *account = sp_load_relaxed(&block->account);
        blocks = block->quick_next;
        block->quick_next = NULL;
        block->is_foreign = account && !sp_fence_set_is_of(&block->fences, account->stream->slot);
        if (sp_stitch_has_block(block))
            sp_stitch_end(pool, block);
        else
            insert(pool, block);
    }
}

void sp_collect_flush(struct sp_pool *pool, struct sp_block *blocks, sp_settle_how *insert) {
    if (!blocks)
        return;
    sp_lock_acquire(&pool->lock);
    sp_collect_flush_locked(pool, blocks, insert);
    sp_lock_release(&pool->lock);
}

void sp_collect_flush_detached(struct sp_pool *pool, struct sp_block *blocks,
                               sp_settle_how *insert) {
    sp_collect_flush(pool, blocks, insert);
    if (blocks)
        sp_in_flight_put(&pool->in_flight);
}

// Takes blocks from the front of a chain, up to so many. Returns where the list of them ends.
static struct sp_block **detach_front(struct sp_block **head, struct sp_block **list,
                                      unsigned *left) {
    *list = *head;
    while (*list && *left > 0) {
        list = &(*list)->quick_next;
        (*left)--;
    }
    *head = *list;
    *list = NULL;
    return list;
}

struct sp_block *sp_collect_detach_locked(struct sp_lane *lane) {
    struct sp_block *blocks = NULL;
    struct sp_block **end = &blocks;
    unsigned left = SP_DETACHED_AT_ONCE;
    while (sp_load_relaxed(&lane->quick_used) && left > 0) {
        unsigned index = sp_log2_floor(sp_load_relaxed(&lane->quick_used));
        end = detach_front(&lane->quick[index].head, end, &left);
        if (!lane->quick[index].head)
            sp_quick_note_empty(lane, index);
    }
    return blocks;
}

struct sp_block *sp_collect_detach_other_locked(struct sp_lane *lane, uint64_t size) {
    unsigned index = sp_quick_index(size);
    struct sp_quick_bin *bin = &lane->quick[index];
    struct sp_block *blocks = NULL;
    unsigned left = SP_DETACHED_AT_ONCE;
    if (!bin->head || bin->size == size)
        return NULL;
    sp_in_flight_take(&lane->pool->in_flight);
    detach_front(&bin->head, &blocks, &left);
    if (!bin->head)
        sp_quick_note_empty(lane, index);
    return blocks;
}

// Takes some of the blocks that stand in a bin behind so many others.
static struct sp_block *detach_surplus_locked(struct sp_lane *lane) {
    struct sp_block *blocks = NULL;
    for (uint32_t used = sp_load_relaxed(&lane->quick_used); used && !blocks; used &= used - 1) {
        struct sp_block **list = &lane->quick[sp_lowest_bit(used)].head;
        unsigned left = SP_DETACHED_AT_ONCE;
        for (unsigned kept = 0; *list && kept < SP_QUICK_BLOCKS; kept++)
            list = &(*list)->quick_next;
        detach_front(list, &blocks, &left);
    }
    if (blocks)
        sp_in_flight_take(&lane->pool->in_flight);
    return blocks;
}

void sp_collect_shorten(struct sp_lane *lane, struct sp_pool *pool,
                        const struct sp_stream *stream) {
    struct sp_block *blocks;
    do {
        sp_biased_lock_acquire(&lane->lock);
        blocks = sp_lane_is(lane, pool, stream) ? detach_surplus_locked(lane) : NULL;
        sp_biased_lock_release(&lane->lock);
        sp_collect_flush_detached(pool, blocks, sp_settle_insert);
    } while (blocks);
}

// Blocks that are in no list are seen by nobody, so there are never many.
static struct sp_block *detach_part_locked(struct sp_lane *lane) {
    if (sp_load_relaxed(&lane->quick_used))
        sp_in_flight_take(&lane->pool->in_flight);
    return sp_collect_detach_locked(lane);
}

void sp_collect_quick(struct sp_lane *lane, sp_settle_how *insert) {
    for (bool whole = false; !whole;) {
        sp_biased_lock_acquire(&lane->lock);
        struct sp_block *blocks = detach_part_locked(lane);
        whole = sp_load_relaxed(&lane->quick_used) == 0;
        sp_biased_lock_release(&lane->lock);
        sp_collect_flush_detached(lane->pool, blocks, insert);
    }
}

// The lane that offers may have the block no more, or be another pool's by now. A block that is in
// flight keeps its pool.
bool sp_collect_offered(struct sp_pool *pool, const struct sp_lane *to, uint64_t size) {
    struct sp_lane *from = sp_load_relaxed(&pool->lanes.offers);
    if (!from || from == to || !(sp_load_relaxed(&from->quick_used) & 1u << sp_quick_index(size)))
        return false;
    sp_biased_lock_acquire(&from->lock);
    struct sp_block *block = from->pool == pool ? sp_quick_take(from, size) : NULL;
    if (block) {
        block->quick_next = NULL;
        sp_in_flight_take(&pool->in_flight);
    }
    sp_biased_lock_release(&from->lock);
    sp_collect_flush_detached(pool, block, sp_settle_insert);
    return block != NULL;
}

// The run carries what the slab was last used at. There is room for it: a live block has one free
// place, and the join of the others is made first, so it fails before anything is changed.
void sp_collect_slab(struct sp_pool *pool, struct sp_lane *lane, struct sp_slab *slab) {
    struct sp_block *run = slab->run;
    struct sp_fence fence = {lane->stream->slot, slab->last_sequence};
    if (!sp_fence_set_join(&run->fences, &slab->foreign) ||
        !sp_fence_set_reserve(&run->fences, 1)) { // then it stays the lane's
        sp_biased_lock_acquire(&lane->lock);
        sp_lane_own_slab_locked(lane, slab);
        if (sp_slab_has_free(slab))
            sp_list_push_back(&lane->slabs[slab->class_index], &slab->link);
        if (slab->returned > 0)
            sp_list_push_back(&lane->returned_slabs[slab->class_index], &slab->returned_link);
        sp_lane_list_locked(lane);
        sp_biased_lock_release(&lane->lock);
        sp_in_flight_put(&pool->in_flight);
        return;
    }
    if (fence.sequence != 0)
        sp_fence_set_add(&run->fences, fence);
    sp_fence_set_prune(&run->fences, sp_pool_measure(pool));
    sp_owner_set_run(run, NULL);
    sp_block_set_live(run);                    // in nobody's account
    atomic_thread_fence(memory_order_release); // before it is a large block to anybody
    run->is_run = false;
    run->is_foreign = !sp_fence_set_is_of(&run->fences, lane->stream->slot);
    sp_biased_lock_acquire(&lane->lock);
    sp_store_plain(&slab->owner, NULL); // a thread that frees an address twice may come late
    sp_biased_lock_release(&lane->lock);
    sp_slab_destroy(slab);
    sp_lock_acquire(&pool->lock);
    sp_settle_insert(pool, run);
    sp_lock_release(&pool->lock);
    sp_in_flight_put(&pool->in_flight);
}

// Blocks that were returned to an empty slab need no separate wait: their fences go with the run.
static void detach_slabs_locked(struct sp_lane *lane, struct sp_list *empty) {
    SP_LIST_FOR_EACH_SAFE(link, &lane->owned_slabs) {
        struct sp_slab *slab = SP_CONTAINER_OF(link, struct sp_slab, owned_link);
        if (slab->live != 0)
            continue;
        sp_list_remove(&slab->link);
        sp_list_remove(&slab->returned_link);
        sp_lane_disown_slab_locked(lane, slab);
        sp_list_push_back(empty, &slab->owned_link);
    }
}

// The lane is listed until its lock is held, so nothing is overlooked; and again by a free from
// then on. It also is where something is left, as who waits for the pool's lock has it in between.
static bool collect_lane(struct sp_lane *lane) {
    struct sp_list slabs = {&slabs, &slabs}, *next;
    sp_biased_lock_acquire(&lane->lock);
    sp_lane_unlist_locked(lane, SP_LOOK_COLLECTED);
    struct sp_block *blocks = detach_part_locked(lane);
    detach_slabs_locked(lane, &slabs);
    bool whole = sp_load_relaxed(&lane->quick_used) == 0;
    if (!whole)
        sp_lane_list_locked(lane);
    sp_biased_lock_release(&lane->lock);
    sp_collect_flush_detached(lane->pool, blocks, sp_settle_insert);
    while ((next = sp_list_pop_front(&slabs)))
        sp_collect_slab(lane->pool, lane, SP_CONTAINER_OF(next, struct sp_slab, owned_link));
    return whole;
}

static bool has_something(const struct sp_lane *lane) {
    return sp_load_acquire(&lane->quick_used) != 0 || sp_load_acquire(&lane->slab_count) != 0;
}

// To lock a lane makes its thread wait, so a few that have nothing just stay in the list. That they
// have nothing is a hint: what was taken out of them counts as in flight by then.
bool sp_collect_part(struct sp_pool *pool, uint32_t *lanes) {
    struct sp_lane *named[SP_LANES_AT_ONCE];
    while (*lanes > 0) {
        bool few = sp_load_acquire(&pool->lanes.freed_count) <= SP_LANES_AT_ONCE;
        uint32_t most = (uint32_t)sp_min(*lanes, SP_LANES_AT_ONCE);
        uint32_t count = sp_lane_name_freed(pool, named, most);
        for (uint32_t i = 0; i < count; i++) {
            if ((!few || has_something(named[i])) && !collect_lane(named[i]))
                return false;
        }
        *lanes = count == 0 ? 0 : *lanes - count;
    }
    return true;
}

// This waits for nothing that is freed meanwhile, or it might never end.
void sp_collect_all(struct sp_pool *pool) {
    uint32_t lanes = sp_load_acquire(&pool->lanes.freed_count);
    while (!sp_collect_part(pool, &lanes))
        ;
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool);
    sp_lock_release(&pool->lock);
}
