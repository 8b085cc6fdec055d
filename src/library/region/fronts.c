#include "region/fronts.h"

#include "base/cold.h"
#include "region/at_hand.h"
#include "region/held.h"

// -------------------------------------------------------------------------------- into the slabs

// `empty`, where the caller has it, gets the slabs that the lane has no use for.
static void put_locked(struct sp_lane *lane, struct sp_front *front,
                       const struct sp_front_batch *batch, struct sp_list *empty) {
    for (unsigned i = 0; i < batch->count; i++) {
        struct sp_slab *slab = batch->blocks[i].slab;
        sp_at_hand_put_aside_locked(lane, slab, batch->blocks[i].index);
        if (empty && sp_at_hand_slab_left_locked(lane, slab))
            sp_list_push_back(empty, &slab->owned_link);
    }
    sp_front_take_back_locked(lane, front, batch);
}

static void put_back(struct sp_lane *lane, struct sp_front *front,
                     const struct sp_front_batch *batch) {
    if (batch->count == 0 && batch->granted == 0)
        return;
    sp_biased_lock_acquire(&lane->lock);
    put_locked(lane, front, batch, NULL);
    sp_biased_lock_release(&lane->lock);
}

void sp_fronts_drain_locked(struct sp_lane *lane) {
    struct sp_front *fronts = sp_load_relaxed(&lane->fronts);
    struct sp_front_batch batch;
    for (struct sp_front *front = fronts; fronts && front < fronts + SP_FRONT_COUNT; front++) {
        for (unsigned bin = 0; bin < SP_FRONT_BINS && sp_load_relaxed(&front->count) > 0; bin++) {
            sp_front_empty_locked(front, bin, &batch);
            put_locked(lane, front, &batch, NULL);
        }
    }
}

// A block may be on its way between a front and the lane.
static bool is_any_aside_locked(const struct sp_lane *lane) {
    SP_LIST_FOR_EACH(link, &lane->owned_slabs) {
        if (sp_slab_has_aside(SP_CONTAINER_OF(link, struct sp_slab, owned_link)))
            return true;
    }
    return false;
}

SP_COLD bool sp_fronts_has_some_on_their_way(struct sp_lane *lane) {
    if (!sp_front_is_any(lane))
        return false;
    sp_biased_lock_acquire(&lane->lock);
    sp_fronts_drain_locked(lane);
    bool has = is_any_aside_locked(lane);
    sp_biased_lock_release(&lane->lock);
    return has;
}

static void destroy_retired_locked(struct sp_lane *lane) {
    while (lane->retired) {
        struct sp_slab *slab = lane->retired;
        lane->retired = slab->next_spare;
        sp_slab_destroy(slab);
    }
    lane->retired_count = 0;
}

// No block of the slab is live, so a claim fails as long as it is that slab. To settle takes the
// lock of each front: who had one before is done then, and who gets it later sees that the slab is
// nobody's. That goes for a slab that isn't fronted too: it may be fronted once it is another one.
SP_COLD void sp_fronts_retire(struct sp_lane *lane, struct sp_slab *slab) {
    enum { RETIRED_MOST = 16 };
    sp_biased_lock_acquire(&lane->lock);
    sp_store_plain(&slab->owner, NULL);
    slab->next_spare = lane->retired;
    lane->retired = slab;
    if (++lane->retired_count >= RETIRED_MOST || !sp_front_is_any(lane)) {
        sp_front_settle_locked(lane);
        destroy_retired_locked(lane);
    }
    sp_biased_lock_release(&lane->lock);
}

static void try_to_close_locked(struct sp_lane *lane) {
    if (!sp_front_is_any(lane))
        return;
    sp_front_suspend_locked(lane);
    sp_fronts_drain_locked(lane);
    if (is_any_aside_locked(lane)) {
        sp_front_resume_locked(lane);
        return;
    }
    sp_front_close_locked(lane);
    destroy_retired_locked(lane);
    SP_LIST_FOR_EACH(link, &lane->owned_slabs)
        sp_slab_end_fronted(SP_CONTAINER_OF(link, struct sp_slab, owned_link));
}

SP_COLD void sp_fronts_look(struct sp_lane *lane, struct sp_front *front) {
    sp_biased_lock_acquire(&lane->lock);
    if (sp_front_is_alone_locked(lane, front))
        try_to_close_locked(lane);
    sp_biased_lock_release(&lane->lock);
}

void sp_fronts_close(struct sp_lane *lane) {
    sp_biased_lock_acquire(&lane->lock);
    try_to_close_locked(lane);
    sp_biased_lock_release(&lane->lock);
}

// ----------------------------------------------------------------------------------------- taking

// As many as the allowance covers, up to half of what a front has room for.
static void set_aside_locked(struct sp_lane *lane, struct sp_front *front,
                             struct sp_front_batch *batch) {
    struct sp_list *slabs = &lane->slabs[batch->class_index];
    uint32_t block_size = sp_size_classes[batch->class_index].block_size;
    uint32_t most = sp_front_room(batch->class_index) / 2;
    while (batch->count < most && !sp_list_empty(slabs)) {
        struct sp_slab *slab = SP_CONTAINER_OF(slabs->next, struct sp_slab, link);
        if (!slab->fronted)
            sp_slab_begin_fronted(slab);
        if (sp_load_relaxed(&lane->used) + block_size > sp_load_relaxed(&lane->allowance))
            return;
        sp_front_grant_locked(lane, front, block_size, batch);
        uint16_t index = sp_slab_set_aside(slab);
        uint64_t address = slab->address + (uint64_t)index * block_size;
        batch->blocks[batch->count++] = (struct sp_front_block){slab, address, index};
        if (!sp_slab_has_free(slab))
            sp_list_remove(&slab->link);
    }
}

bool sp_fronts_has_place(struct sp_front *front, unsigned class_index) {
    enum { STRANGERS_MOST = 8 };
    struct sp_front_bin *bin = sp_front_bin_of(front, class_index);
    sp_biased_lock_acquire(&front->lock);
    bool has =
        bin->count == 0 || bin->class_index == class_index || ++bin->strangers > STRANGERS_MOST;
    sp_biased_lock_release(&front->lock);
    return has;
}

// The caller gets a block, and his front some: as long as the block is live its pool stays. What a
// thread doesn't use any longer goes, where it stands in the way.
static uint64_t take_from_lane(struct sp_pool *pool, struct sp_lane *lane,
                               const struct sp_stream *stream, struct sp_front *front,
                               size_t size) {
    struct sp_front_batch batch = {.class_index = (uint16_t)sp_slab_class_of(size)};
    uint64_t address = 0;
    bool covered = true;
    sp_biased_lock_acquire(&lane->lock);
    if (SP_LIKELY(sp_lane_is(lane, pool, stream)))
        address = sp_at_hand_take_small_locked(lane, size, poolMallocDefault, NULL);
    if (SP_LIKELY(address)) {
        sp_at_hand_count_hit_locked(lane);
        covered = sp_at_hand_use_locked(lane, size);
        if (front && covered && sp_front_is_any(lane)) // open still
            set_aside_locked(lane, front, &batch);
    }
    sp_biased_lock_release(&lane->lock);
    if (SP_UNLIKELY(!covered))
        sp_figures_cover(pool, lane);
    if (batch.count > 0) {
        struct sp_front_batch old;
        sp_front_make_room(front, batch.class_index, &old);
        put_back(lane, front, &old);
        sp_front_fill(front, &batch);
        put_back(lane, front, &batch);
    }
    return address;
}

uint64_t sp_fronts_take(struct sp_pool *pool, const struct sp_stream *stream, size_t size) {
    struct sp_lane *lane = sp_lane_find(pool, stream->slot);
    if (!lane || !sp_biased_lock_is_contended(&lane->lock))
        return 0;
    if (SP_UNLIKELY(!sp_front_is_any(lane)))
        sp_front_open(lane, pool, stream);
    struct sp_front *front = sp_front_of_thread(lane);
    if (front && SP_UNLIKELY(sp_front_is_look_due(front)))
        sp_fronts_look(lane, front);
    if (front && SP_UNLIKELY(sp_pool_is_deterministic(pool))) {
        sp_fronts_close(lane); // a block was on its way when the pool became so
        front = NULL;
    }
    uint64_t address = front ? sp_front_take(front, pool, stream, size) : 0;
    if (SP_LIKELY(address))
        return address;
    if (front && !sp_fronts_has_place(front, sp_slab_class_of(size)))
        front = NULL;
    return take_from_lane(pool, lane, stream, front, size);
}

// ----------------------------------------------------------------------------------------- freeing

void sp_fronts_make_room(struct sp_front *front, const struct sp_front_free *free,
                         struct sp_list *empty) {
    struct sp_slab *slab = free->block.slab;
    struct sp_front_batch batch;
    sp_front_make_room(front, free->class_index, &batch);
    sp_biased_lock_acquire(&free->lane->lock);
    put_locked(free->lane, front, &batch, empty);
    if (slab->last_sequence < free->sequence &&
        sp_held_add_locked(free->lane, free->sequence, slab->address, sp_slab_bytes(slab)))
        sp_at_hand_stamp_locked(slab, free->sequence);
    sp_biased_lock_release(&free->lane->lock);
}
