#include "calls/release.h"

#include "base/cold.h"
#include "order/mark.h"
#include "order/poll.h"
#include "process/given_up.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/quick.h"
#include "region/settle.h"

// ------------------------------------------------------------------------------------------- lanes

bool sp_release_find_lanes(struct sp_release *release) {
    release->pool = release->account->pool;
    for (uint32_t i = 0; i < release->count; i++) {
        struct sp_release_point *point = &release->points[i];
        point->lane = sp_lane_of(release->pool, point->stream);
        if (!point->lane)
            return false;
        struct sp_fence fence = {point->stream->slot, point->sequence};
        bool is_own = release->slab && point->stream == release->account->stream;
        if (release->count > 1 && !is_own && !sp_fence_set_add(&release->fences, fence))
            return false;
    }
    return true;
}

void sp_release_count(struct sp_release *release) {
    for (uint32_t i = 0; i < release->count; i++) {
        struct sp_release_point *point = &release->points[i];
        struct sp_lane *lane = point->lane;
        sp_biased_lock_acquire(&lane->lock);
        point->left |=
            sp_at_hand_count_freed_locked(lane, point->sequence, release->address, point->counts);
        if (sp_identity_records_each_free(point->stream))
            sp_held_count_records_locked(lane, 1);
        sp_biased_lock_release(&lane->lock);
    }
}

// ---------------------------------------------------------------------------------------- a record

// A record that couldn't be made is counted no more. The lane may be another pool's by now.
void sp_release_record(struct sp_lane *lane, struct sp_stream *stream) {
    if (sp_is_done(sp_mark_anew(stream, true, NULL)))
        return;
    sp_biased_lock_acquire(&lane->lock);
    if (lane->stream == stream && sp_load_relaxed(&lane->records) > 0)
        sp_held_count_records_locked(lane, (uint64_t)-1);
    sp_biased_lock_release(&lane->lock);
}

// ---------------------------------------------------------------------------- into lists and tiers

// The block carries the fences of this free from here on, and those of its earlier owners that
// neither have completed nor are covered by them. There is room: for those of several points it
// was made among what hadn't completed then, and to give back what has completed since would end
// it.
static void stamp(struct sp_block *block, const struct sp_release *release) {
    const struct sp_release_point *first = release->points;
    if (release->count > 1) {
        sp_fence_set_join(&block->fences, &release->fences);
        return;
    }
    if (release->count == 1 && sp_fence_set_is_of(&block->fences, first->stream->slot)) {
        sp_fence_set_advance(&block->fences, first->stream->slot, first->sequence);
        return;
    }
    sp_fence_set_prune(&block->fences, sp_pool_measure(release->pool));
    if (release->count == 1)
        sp_fence_set_add(&block->fences, (struct sp_fence){first->stream->slot, first->sequence});
}

// The lane of the one stream that has a claim on the block, where it is one of this free. Else
// null.
static struct sp_lane *lane_alone(const struct sp_release *release) {
    const struct sp_fence_set *fences = &release->block->fences;
    if (release->count != 1 || fences->count != 1)
        return NULL;
    const struct sp_release_point *point = release->points;
    return sp_fence_set_at(fences, 0)->slot == point->stream->slot ? point->lane : NULL;
}

// A lane that places by address puts its blocks into tiers. Where threads stand in each other's way
// it leaves them in quick lists, and gives them out again without the pool's lock.
//
// A hit asks nobody. So on a plain device a block is for the next hits of a stream only if its
// memory is of the stream's context, and the stream has allocated: then nobody else gets its slot.
static bool stays_in_lane(const struct sp_release *release, struct sp_lane *lane) {
    if (sp_load_relaxed(&lane->by_address))
        return sp_quick_keeps(lane) || sp_quick_note_contention(lane);
    if (!sp_vmm_provider(&release->pool->device->vmm)->is_of_context)
        return true;
    const struct sp_plain *plain = &sp_segment_of(release->block)->view.plain;
    const struct sp_stream *stream = release->points->stream;
    return sp_load_relaxed(&stream->bound_to_context) &&
           sp_stream_is_of(stream, plain->context, plain->context_id);
}

// Into the lane's quick list, or where its fences say: where several streams have a claim that is
// in the tiers. Of blocks of another size that stand in the list's way some are returned, and have
// to go to the tiers. There may be more of them, and then the block isn't in yet.
static void put_back(const struct sp_release *release) {
    struct sp_block *block = release->block;
    stamp(block, release);
    block->quick_next = NULL;
    struct sp_lane *lane = lane_alone(release);
    if (!lane || !stays_in_lane(release, lane)) {
        sp_collect_flush(release->pool, block, sp_settle_insert_and_swallow);
        return;
    }
    for (bool inserted = false; !inserted;) {
        sp_biased_lock_acquire(&lane->lock);
        struct sp_block *out = sp_collect_detach_other_locked(lane, block->size);
        inserted = sp_quick_put(lane, block);
        sp_lane_list_locked(lane);
        sp_biased_lock_release(&lane->lock);
        sp_collect_flush_detached(lane->pool, out, sp_settle_insert_and_swallow);
    }
}

// Takes a given-up pool apart with its last free. The struct may be another pool's by now, which
// does no harm: whoever reaps looks again.
SP_COLD static void reap_if_last(struct sp_pool *pool) {
    if (sp_figures_any_used(pool))
        sp_given_up_wake(pool->device, pool);
    else
        sp_given_up_reap_pool(pool->device, pool);
}

// Memory of a stream of another context is out of that stream's reach until somebody asks here, and
// a program may only ever free here.
static void make_known(const struct sp_release *release, const struct sp_release_point *point) {
    const struct sp_stream *owner = release->account->stream;
    struct sp_stream *stream = point->stream;
    if (sp_identity_records_each_free(stream))
        return;
    if (point->left & SP_LEFT_RECORD)
        sp_release_record(point->lane, stream);
    else if (sp_load_acquire(&release->pool->destroyed))
        sp_lane_record(point->lane);
    if (!sp_stream_is_of(stream, owner->context, owner->context_id) &&
        sp_pool_may_ask(release->pool))
        sp_poll_stream(stream);
}

// Events are recorded first: a block that waits for several streams comes as one with events
// behind it then, and is looked at again only when something completes.
void sp_release_finish(const struct sp_release *release) {
    struct sp_pool *pool = release->pool;
    for (uint32_t i = 0; i < release->count; i++)
        make_known(release, &release->points[i]);
    if (release->left & SP_LEFT_SLAB)
        sp_collect_slab(pool, release->account, release->slab);
    if (release->left & SP_LEFT_BLOCK)
        put_back(release);
    for (uint32_t i = 0; i < release->count; i++) {
        const struct sp_release_point *point = &release->points[i];
        if (point->left & SP_LEFT_SHORTEN)
            sp_collect_shorten(point->lane, pool, point->stream);
    }
    sp_biased_lock_acquire(&release->account->lock);
    sp_at_hand_return_locked(release->account, release->requested);
    sp_biased_lock_release(&release->account->lock);
    if (SP_UNLIKELY(sp_load_acquire(&pool->destroyed)))
        reap_if_last(pool);
}
