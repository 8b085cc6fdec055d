// From the lanes back to the regions: quick lists, and slabs in which nothing is live.
#include "pool/owner.h"
#include "pool/settle.h"
#include "pool/stitch.h"

void sp_pool_insert_cached_locked(struct sp_pool *pool, struct sp_block *blocks, sp_insert *insert) {
    while (blocks) {
        struct sp_block *next = blocks->quick_next;
        blocks->quick_next = NULL;
        if (sp_block_is_stitched(blocks))
            sp_stitch_dissolve(pool, blocks);
        else
            insert(pool, blocks);
        blocks = next;
    }
}

void sp_pool_insert_cached(struct sp_pool *pool, struct sp_block *blocks, sp_insert *insert) {
    if (!blocks)
        return;
    sp_lock_acquire(&pool->lock);
    sp_pool_insert_cached_locked(pool, blocks, insert);
    sp_lock_release(&pool->lock);
}

// Puts list `more` in front of list `blocks`.
static struct sp_block *concatenate(struct sp_block *more, struct sp_block *blocks) {
    struct sp_block *last = more;
    while (last->quick_next)
        last = last->quick_next;
    last->quick_next = blocks;
    return more;
}

struct sp_block *sp_lane_detach_quick_locked(struct sp_lane *lane) {
    struct sp_block *blocks = NULL;
    while (lane->quick_used) {
        struct sp_quick_bin *bin = &lane->quick[sp_lowest_bit(lane->quick_used)];
        lane->quick_used &= lane->quick_used - 1;
        blocks = concatenate(bin->head, blocks);
        bin->head = NULL;
    }
    return blocks;
}

void sp_lane_flush_quick(struct sp_lane *lane, sp_insert *insert) {
    sp_biased_acquire(&lane->lock);
    struct sp_block *blocks = sp_lane_detach_quick_locked(lane);
    sp_biased_release(&lane->lock);
    sp_pool_insert_cached(lane->pool, blocks, insert);
}

// ------------------------------------------------------------------------------------------------ slabs

// The run carries what the slab was last used at. There is room for it: a live block has one free place, and
// the join of the others is made first, so it fails before anything is changed.
static bool stamp_run(struct sp_lane *lane, struct sp_slab *slab) {
    struct sp_fence fence = {lane->stream->slot, slab->last_sequence};
    if (!sp_fence_set_join(&slab->run->fences, &slab->foreign) ||
        !sp_fence_set_reserve(&slab->run->fences, 1))
        return false;
    if (slab->last_sequence != 0)
        sp_fence_set_add(&slab->run->fences, fence);
    sp_fence_set_prune(&slab->run->fences, sp_pool_measure(lane->pool));
    return true;
}

static void relink(struct sp_lane *lane, struct sp_slab *slab) {
    sp_biased_acquire(&lane->lock);
    sp_list_push_back(&lane->owned_slabs, &slab->owned_link);
    if (sp_slab_has_free(slab))
        sp_list_push_back(&lane->slabs[slab->class_index], &slab->link);
    if (slab->returned > 0)
        sp_list_push_back(&lane->returned_slabs[slab->class_index], &slab->returned_link);
    sp_biased_release(&lane->lock);
}

void sp_pool_release_slab(struct sp_pool *pool, struct sp_lane *lane, struct sp_slab *slab) {
    struct sp_block *run = slab->run;
    if (!stamp_run(lane, slab)) {
        relink(lane, slab);
        return;
    }
    sp_owner_set_run(run, NULL);
    sp_block_set_live(run);                    // in nobody's account
    atomic_thread_fence(memory_order_release); // before it is a large block to anybody
    run->is_run = false;
    sp_slab_destroy(slab);
    sp_lock_acquire(&pool->lock);
    sp_pool_insert(pool, run);
    sp_lock_release(&pool->lock);
}

// Unlinks the empty slabs of a lane. What was returned to an empty slab needs no separate wait: its fences go
// along with the run.
static void detach_empty_slabs_locked(struct sp_lane *lane, struct sp_list *empty) {
    SP_LIST_FOR_EACH_SAFE(link, &lane->owned_slabs) {
        struct sp_slab *slab = SP_CONTAINER_OF(link, struct sp_slab, owned_link);
        if (slab->live != 0)
            continue;
        sp_list_remove(&slab->link);
        sp_list_remove(&slab->returned_link);
        sp_list_remove(&slab->owned_link);
        sp_list_push_back(empty, &slab->owned_link);
    }
}

static void collect_slabs(struct sp_lane *lane) {
    struct sp_list empty;
    sp_list_init(&empty);
    sp_biased_acquire(&lane->lock);
    detach_empty_slabs_locked(lane, &empty);
    sp_biased_release(&lane->lock);
    while (!sp_list_empty(&empty)) {
        struct sp_slab *slab = SP_CONTAINER_OF(sp_list_pop_front(&empty), struct sp_slab, owned_link);
        sp_pool_release_slab(lane->pool, lane, slab);
    }
}

// Lanes are only ever added at the end, and freed with the pool, so the walk needs the lock for each step
// alone.
static struct sp_lane *next_lane(struct sp_pool *pool, const struct sp_lane *lane) {
    sp_lock_acquire(&pool->lock);
    const struct sp_list *next = lane ? lane->link.next : pool->lanes.next;
    struct sp_lane *found = next == &pool->lanes ? NULL : SP_CONTAINER_OF(next, struct sp_lane, link);
    sp_lock_release(&pool->lock);
    return found;
}

static void collect_lane(struct sp_lane *lane) {
    sp_lane_flush_quick(lane, sp_pool_insert);
    collect_slabs(lane);
}

void sp_pool_collect(struct sp_pool *pool) {
    for (struct sp_lane *lane = next_lane(pool, NULL); lane; lane = next_lane(pool, lane))
        collect_lane(lane);
}

static struct sp_lane *lane_in_turn(struct sp_pool *pool) {
    sp_lock_acquire(&pool->lock);
    struct sp_list *link = pool->in_turn ? pool->in_turn->next : pool->lanes.next;
    if (link == &pool->lanes)
        link = pool->lanes.next; // there is one: that of the stream which asks
    pool->in_turn = link;
    sp_lock_release(&pool->lock);
    return SP_CONTAINER_OF(link, struct sp_lane, link);
}

void sp_pool_collect_some(struct sp_pool *pool) {
    if (!sp_pool_has_many_lanes(pool)) {
        sp_pool_collect(pool);
        return;
    }
    for (int i = 0; i < SP_LANES_IN_TURN; i++)
        collect_lane(lane_in_turn(pool));
}

void sp_pool_free_slabs(struct sp_pool *pool) {
    SP_LIST_FOR_EACH(lane_link, &pool->lanes) {
        struct sp_lane *lane = SP_CONTAINER_OF(lane_link, struct sp_lane, link);
        while (!sp_list_empty(&lane->owned_slabs)) {
            struct sp_list *link = sp_list_pop_front(&lane->owned_slabs);
            sp_slab_destroy(SP_CONTAINER_OF(link, struct sp_slab, owned_link));
        }
    }
}
