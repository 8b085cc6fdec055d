#include "region/front.h"

#include "base/cold.h"

#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------- open and close

// Reads what front and lane count at different moments, so the sum may be less than nothing.
uint64_t sp_front_used(const struct sp_lane *lane) {
    const struct sp_front *fronts = sp_load_acquire(&lane->fronts);
    uint64_t used = sp_load_relaxed(&lane->used);
    for (int i = 0; fronts && i < SP_FRONT_COUNT; i++)
        used -= sp_load_relaxed(&fronts[i].granted) - sp_load_relaxed(&fronts[i].spent);
    return (int64_t)used > 0 ? used : 0;
}

uint64_t sp_front_hits(const struct sp_lane *lane) {
    const struct sp_front *fronts = sp_load_acquire(&lane->fronts);
    uint64_t hits = sp_load_relaxed(&lane->hits);
    for (int i = 0; fronts && i < SP_FRONT_COUNT; i++)
        hits += sp_load_relaxed(&fronts[i].hits);
    return hits;
}

// With both locks held: the lane counts for the front no more.
static void settle_locked(struct sp_lane *lane, struct sp_front *front) {
    uint64_t spent = sp_load_relaxed(&front->spent);
    uint64_t unspent = sp_load_relaxed(&front->granted) - spent;
    sp_store_relaxed(&lane->used, sp_load_relaxed(&lane->used) - unspent);
    sp_store_relaxed(&front->granted, spent);
    front->at_hand = spent;
    front->grants++;
}

// Opens or closes a front.
static void begin_locked(struct sp_lane *lane, struct sp_front *front, struct sp_pool *pool,
                         struct sp_stream *stream) {
    sp_biased_lock_acquire_shared(&front->lock);
    settle_locked(lane, front);
    sp_store_relaxed(&lane->hits, sp_load_relaxed(&lane->hits) + sp_load_relaxed(&front->hits));
    front->pool = pool;
    front->stream = stream;
    sp_store_relaxed(&front->hits, 0);
    sp_store_relaxed(&front->count, 0);
    sp_store_relaxed(&front->uses, 0);
    sp_store_relaxed(&front->uses_at_look, 0);
    front->all_at_look = 0;
    for (int i = 0; i < SP_FRONT_BINS; i++)
        front->bins[i].count = 0;
    sp_biased_lock_release_shared(&front->lock);
}

void sp_front_close_locked(struct sp_lane *lane) {
    struct sp_front *fronts = sp_load_relaxed(&lane->fronts);
    for (int i = 0; fronts && i < SP_FRONT_COUNT; i++)
        begin_locked(lane, &fronts[i], NULL, NULL);
    if (fronts)
        sp_store_relaxed(&lane->puts, lane->stream);
    sp_store_release(&lane->fronts, NULL);
    sp_biased_lock_forget_contention(&lane->lock);
}

static void set_open_locked(struct sp_lane *lane, struct sp_pool *pool, struct sp_stream *stream) {
    struct sp_front *fronts = sp_load_relaxed(&lane->fronts);
    for (int i = 0; fronts && i < SP_FRONT_COUNT; i++) {
        sp_biased_lock_acquire_shared(&fronts[i].lock);
        fronts[i].pool = pool;
        fronts[i].stream = stream;
        sp_biased_lock_release_shared(&fronts[i].lock);
    }
}

void sp_front_suspend_locked(struct sp_lane *lane) {
    set_open_locked(lane, NULL, NULL);
}

void sp_front_resume_locked(struct sp_lane *lane) {
    set_open_locked(lane, lane->pool, lane->stream);
}

bool sp_front_is_alone_locked(struct sp_lane *lane, struct sp_front *front) {
    const struct sp_front *fronts = sp_load_relaxed(&lane->fronts);
    uint32_t all = 0, uses = sp_load_relaxed(&front->uses);
    for (int i = 0; fronts && i < SP_FRONT_COUNT; i++)
        all += &fronts[i] == front ? uses : sp_load_relaxed(&fronts[i].uses);
    bool alone = all - front->all_at_look == uses - sp_load_relaxed(&front->uses_at_look);
    front->all_at_look = all;
    sp_store_relaxed(&front->uses_at_look, uses);
    return alone && fronts;
}

// Opens the fronts, of `made` where the lane keeps none, and then takes that. False when it lacks
// memory for them. Threads that have no numbers would all go to one front. An anonymous stream's
// frees are events, and a deterministic pool may not do what depends on who meets whom.
static bool try_open(struct sp_lane *lane, const struct sp_pool *pool,
                     const struct sp_stream *stream, struct sp_front **made) {
    bool lacks = false;
    sp_biased_lock_acquire(&lane->lock);
    if (!sp_load_relaxed(&lane->fronts)) {
        bool may = lane->pool == pool && lane->stream == stream && sp_this_thread->number != 0 &&
                   !lane->records_each_free && !sp_pool_is_deterministic(pool);
        if (may && !lane->fronts_made) {
            lane->fronts_made = *made;
            *made = NULL;
        }
        lacks = may && !lane->fronts_made;
        if (may && !lacks) {
            for (int i = 0; i < SP_FRONT_COUNT; i++)
                begin_locked(lane, &lane->fronts_made[i], lane->pool, lane->stream);
            sp_store_relaxed(&lane->puts, NULL);
            sp_store_release(&lane->fronts, lane->fronts_made);
        }
        if (!may)
            sp_biased_lock_forget_contention(&lane->lock);
    }
    sp_biased_lock_release(&lane->lock);
    return !lacks;
}

SP_COLD void sp_front_open(struct sp_lane *lane, const struct sp_pool *pool,
                           const struct sp_stream *stream) {
    struct sp_front *made = NULL;
    if (try_open(lane, pool, stream, &made))
        return;
    made = aligned_alloc(_Alignof(struct sp_front), SP_FRONT_COUNT * sizeof *made);
    if (made) {
        memset(made, 0, SP_FRONT_COUNT * sizeof *made);
        try_open(lane, pool, stream, &made);
        free(made);
        return;
    }
    sp_biased_lock_acquire(&lane->lock);
    if (!sp_load_relaxed(&lane->fronts))
        sp_biased_lock_forget_contention(&lane->lock);
    sp_biased_lock_release(&lane->lock);
}

// Each front's lock is taken, so whoever comes to it later sees what the caller wrote before.
void sp_front_settle_locked(struct sp_lane *lane) {
    struct sp_front *fronts = sp_load_relaxed(&lane->fronts);
    for (int i = 0; fronts && i < SP_FRONT_COUNT; i++) {
        sp_biased_lock_acquire_shared(&fronts[i].lock);
        settle_locked(lane, &fronts[i]);
        sp_biased_lock_release_shared(&fronts[i].lock);
    }
}

// ------------------------------------------------------------------------------------ take and put

static inline void count_use(struct sp_front *front) {
    sp_store_relaxed(&front->uses, sp_load_relaxed(&front->uses) + 1);
}

static inline void count(struct sp_front *front, struct sp_front_bin *bin, int more) {
    bin->count = (uint16_t)(bin->count + more);
    sp_store_relaxed(&front->count, sp_load_relaxed(&front->count) + (uint32_t)more);
}

uint64_t sp_front_take(struct sp_front *front, const struct sp_pool *pool,
                       const struct sp_stream *stream, size_t size) {
    unsigned class_index = sp_slab_class_of(size);
    struct sp_front_bin *bin = sp_front_bin_of(front, class_index);
    uint64_t address = 0;
    sp_biased_lock_acquire(&front->lock);
    uint64_t spent = sp_load_relaxed(&front->spent);
    if (SP_LIKELY(front->pool == pool && front->stream == stream) && bin->count > 0 &&
        bin->class_index == class_index && front->at_hand - spent >= size) {
        count(front, bin, -1);
        count_use(front);
        bin->strangers = 0;
        sp_store_relaxed(&front->spent, spent + size);
        sp_store_relaxed(&front->hits, sp_load_relaxed(&front->hits) + 1);
        const struct sp_front_block *block = &bin->blocks[bin->count];
        sp_slab_set_live(block->slab, block->index, size);
        address = block->address;
    }
    sp_biased_lock_release(&front->lock);
    return address;
}

// A lane that may hold back nothing looks at each free.
static bool has_room(const struct sp_front *front, const struct sp_front_free *free) {
    unsigned class_index = free->class_index;
    const struct sp_front_bin *bin = &front->bins[sp_front_bin_at(class_index)];
    if (bin->count > 0 &&
        (bin->class_index != class_index || bin->count >= sp_front_room(class_index)))
        return false;
    return front->stream == free->stream && !sp_load_relaxed(&free->lane->looks) &&
           !sp_pool_is_deterministic(front->pool);
}

// The slab was counted under the number or a later one: all of it is held back then.
static bool is_counted(const struct sp_front_free *free) {
    return sp_load_plain(&free->block.slab->last_sequence) >= free->sequence;
}

// The slab of an address that is freed twice may be another one's by now. One that is the lane's
// stays so as long as the lock of an open front is held: sp_fronts_retire waits for it. So the
// owner is looked at first: what is seen next is the lane's.
static bool claim_locked(const struct sp_front *front, struct sp_front_free *free, bool counted) {
    const struct sp_size_class *class = &sp_size_classes[free->class_index];
    struct sp_slab *slab = free->block.slab;
    if (front->stream != free->stream || sp_slab_owner(slab) != free->lane ||
        !sp_slab_is_fronted(slab) || slab->class_index != free->class_index ||
        (counted && !is_counted(free)))
        return false;
    uint64_t offset = free->block.address - slab->address;
    uint16_t index = (uint16_t)sp_slab_index(class, offset);
    if (index >= class->blocks || (uint64_t)index * class->block_size != offset ||
        !sp_slab_claim(slab, index))
        return false;
    free->block.index = index;
    free->requested = sp_slab_requested(slab, index);
    return true;
}

static void push_locked(struct sp_front *front, const struct sp_front_free *free) {
    unsigned class_index = free->class_index;
    struct sp_front_bin *bin = sp_front_bin_of(front, class_index);
    if (sp_load_relaxed(&free->stream->freed) < free->sequence)
        sp_atomic_raise(&free->stream->freed, free->sequence);
    bin->class_index = (uint16_t)class_index;
    bin->blocks[bin->count] = free->block;
    count(front, bin, 1);
    count_use(front);
    bin->strangers = 0;
    sp_store_relaxed(&front->spent, sp_load_relaxed(&front->spent) - free->requested);
}

bool sp_front_put(struct sp_front *front, struct sp_front_free *free) {
    sp_biased_lock_acquire(&front->lock);
    bool put = has_room(front, free) && claim_locked(front, free, true);
    if (SP_LIKELY(put))
        push_locked(front, free);
    sp_biased_lock_release(&front->lock);
    return put;
}

bool sp_front_claim(struct sp_front *front, struct sp_front_free *free) {
    sp_biased_lock_acquire(&front->lock);
    bool claimed = claim_locked(front, free, false);
    sp_biased_lock_release(&front->lock);
    return claimed;
}

// Fronts don't close as long as a block is claimed, so its slab is fronted still.
bool sp_front_put_claimed(struct sp_front *front, const struct sp_front_free *free) {
    sp_biased_lock_acquire(&front->lock);
    bool put = has_room(front, free) && is_counted(free);
    if (SP_LIKELY(put))
        push_locked(front, free);
    else
        sp_slab_set_live(free->block.slab, free->block.index, free->requested);
    sp_biased_lock_release(&front->lock);
    return put;
}

// ---------------------------------------------------------------------------- to and from the lane

// Takes so many of the oldest blocks out, with what is at hand beyond what those could need that
// are left.
static void detach(struct sp_front *front, struct sp_front_bin *bin, uint32_t number,
                   struct sp_front_batch *batch) {
    *batch = (struct sp_front_batch){.class_index = bin->class_index, .count = (uint16_t)number};
    memcpy(batch->blocks, bin->blocks, number * sizeof bin->blocks[0]);
    count(front, bin, -(int)number);
    memmove(bin->blocks, bin->blocks + number, bin->count * sizeof bin->blocks[0]);
    uint64_t unspent = front->at_hand - sp_load_relaxed(&front->spent), keep = 0;
    for (int i = 0; i < SP_FRONT_BINS; i++) {
        const struct sp_front_bin *some = &front->bins[i];
        if (some->count > 0)
            keep += (uint64_t)some->count * sp_size_classes[some->class_index].block_size;
    }
    batch->granted = sp_excess(unspent, keep);
    batch->grants = front->grants;
    front->at_hand -= batch->granted;
}

void sp_front_grant_locked(struct sp_lane *lane, struct sp_front *front, uint64_t bytes,
                           struct sp_front_batch *batch) {
    sp_store_relaxed(&lane->used, sp_load_relaxed(&lane->used) + bytes);
    sp_store_relaxed(&front->granted, sp_load_relaxed(&front->granted) + bytes);
    batch->granted += bytes;
    batch->grants = front->grants;
}

void sp_front_take_back_locked(struct sp_lane *lane, struct sp_front *front,
                               const struct sp_front_batch *batch) {
    if (batch->grants != front->grants)
        return;
    sp_store_relaxed(&lane->used, sp_load_relaxed(&lane->used) - batch->granted);
    sp_store_relaxed(&front->granted, sp_load_relaxed(&front->granted) - batch->granted);
}

void sp_front_make_room(struct sp_front *front, unsigned class_index,
                        struct sp_front_batch *batch) {
    struct sp_front_bin *bin = sp_front_bin_of(front, class_index);
    uint32_t room = sp_front_room(class_index), number = 0;
    sp_biased_lock_acquire(&front->lock);
    if (bin->count > 0 && bin->class_index != class_index) {
        number = bin->count;
        bin->strangers = 0;
    } else if (bin->count >= room)
        number = bin->count - room / 2;
    detach(front, bin, number, batch);
    sp_biased_lock_release(&front->lock);
}

void sp_front_empty_locked(struct sp_front *front, unsigned bin, struct sp_front_batch *batch) {
    sp_biased_lock_acquire_shared(&front->lock);
    detach(front, &front->bins[bin], front->bins[bin].count, batch);
    sp_biased_lock_release_shared(&front->lock);
}

void sp_front_fill(struct sp_front *front, struct sp_front_batch *batch) {
    struct sp_front_bin *bin = sp_front_bin_of(front, batch->class_index);
    sp_biased_lock_acquire(&front->lock);
    uint32_t room = front->pool ? sp_front_room(batch->class_index) : 0;
    if (batch->grants == front->grants) {
        front->at_hand += batch->granted;
        batch->granted = 0;
    }
    if (bin->count == 0)
        bin->class_index = batch->class_index;
    while (batch->count > 0 && bin->class_index == batch->class_index && bin->count < room) {
        bin->blocks[bin->count] = batch->blocks[--batch->count];
        count(front, bin, 1);
    }
    sp_biased_lock_release(&front->lock);
}
