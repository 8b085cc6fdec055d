#include "region/held.h"

#include "base/cold.h"
#include "base/number.h"
#include "order/resolve.h"
#include "region/collect.h"
#include "region/device.h"

enum { LOOKS = 8 }; // at other lanes that may have something to give back

// A pool with a limit has nothing beside that, so little of it may be out of reach.
uint64_t sp_held_max(const struct sp_pool *pool) {
    if (sp_load_relaxed(&pool->attributes.unfenced_max_set))
        return sp_load_relaxed(&pool->attributes.unfenced_max);
    uint64_t most = sp_min(pool->device->vmm.total_memory, sp_load_relaxed(&pool->limit));
    return sp_min(SP_HELD_MAX, most / SP_HELD_PART);
}

bool sp_held_is_promised(const struct sp_pool *pool) {
    enum { OPEN = poolPromiseStreamDestroy | poolPromiseNeverCapture };
    return (sp_pool_promises(pool) & OPEN) == OPEN;
}

bool sp_held_may_be_lazy(const struct sp_pool *pool) {
    return sp_held_is_promised(pool) || sp_borrow_is_allowed();
}

// A pool that goes by synchronises alone learns of no other thing.
bool sp_held_may_borrow(const struct sp_pool *pool, const struct sp_stream *stream) {
    bool is_known = !stream->is_default && sp_load_relaxed(&stream->known_as) != 0;
    return (sp_held_is_promised(pool) || (is_known && sp_borrow_is_allowed())) &&
           sp_borrow_is_possible(stream) && !sp_pool_is_deterministic(pool);
}

// Others wait for what is freed in a pool that is short of memory. Where there is one stream alone,
// and the library may record on it at any time, it does so when another pool wants the memory. (So
// a manager's frees call no driver: docs/mam.md.)
//
// Where nothing is promised, a lane is lazy while it is the pool's only one. Among several, an
// event behind the free itself lets others have the memory sooner, and to record on another's
// stream blocks the caller while that stream's queue is full.
static enum sp_held_share share_of(const struct sp_lane *lane, bool closed) {
    const struct sp_pool *pool = lane->pool;
    bool is_alone = sp_load_relaxed(&pool->lanes.count) <= 1;
    bool is_promised = sp_held_is_promised(pool);
    bool is_waited_for = sp_load_relaxed(&pool->is_short) || sp_load_relaxed(&pool->wants_complete);
    if ((is_waited_for && !(is_promised && is_alone)) || sp_load_acquire(&pool->destroyed))
        return SP_HELD_NOTHING;
    if (!closed && (is_alone || is_promised) && sp_held_may_borrow(pool, lane->stream))
        return SP_HELD_ALL;
    if (sp_held_max(pool) == 0)
        return SP_HELD_NOTHING;
    return sp_pool_is_deterministic(pool) ? SP_HELD_ONE : SP_HELD_SOME;
}

// In this order: the lane takes note of the second before it reads the first.
void sp_held_deal_to(struct sp_lane *lane, bool closed) {
    enum sp_held_share share = share_of(lane, closed);
    for (struct sp_lane *shelf = lane; shelf; shelf = sp_load_relaxed(&shelf->next_shelf)) {
        atomic_store(&shelf->share, share);
        atomic_fetch_or(&shelf->looks, SP_LOOK_DEALT);
    }
}

void sp_held_deal(struct sp_pool *pool, bool closed) {
    SP_LIST_FOR_EACH_OF(struct sp_lane, lane, link, &pool->lanes.list)
        sp_held_deal_to(lane, closed);
}

// ----------------------------------------------------------------------------------- held extents

// `_locked`: with the lock of the held extents.
static void give_back_locked(struct sp_held *held, struct sp_lane *lane) {
    for (uint64_t bits = lane->holds; bits; bits &= bits - 1) {
        struct sp_held_extent *extent = &held->extents[sp_lowest_bit(bits)];
        if (--extent->lanes > 0)
            continue;
        held->bytes -= sp_load_relaxed(&extent->size);
        held->taken &= ~(bits & -bits);
    }
    sp_store_relaxed(&lane->holds, 0);
    sp_list_remove(&lane->held_link);
}

static void look_at_others_locked(struct sp_held *held) {
    struct sp_list *last = held->lanes.prev, *link = NULL;
    for (int i = 0; i < LOOKS && link != last && (link = sp_list_pop_front(&held->lanes)); i++) {
        struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, held_link);
        if (!sp_held_back_here(lane))
            give_back_locked(held, lane);
        else
            sp_list_push_back(&held->lanes, link);
    }
}

static bool has_room_locked(const struct sp_held *held, const struct sp_lane *lane, uint64_t size) {
    uint64_t left = sp_excess(sp_held_max(lane->pool), held->bytes);
    uint64_t mine = 0;
    for (uint64_t bits = lane->holds; bits; bits &= bits - 1)
        mine += sp_load_relaxed(&held->extents[sp_lowest_bit(bits)].size);
    return held->taken != UINT64_MAX && size <= left && mine + size <= (mine + left) / 2;
}

// False where the lane has no room for the extent. The place that it had may be another one's now.
static bool hold_locked(struct sp_held *held, struct sp_lane *lane,
                        struct sp_space_extent *extent) {
    struct sp_held_extent *place = extent->held > 0 ? &held->extents[extent->held - 1] : NULL;
    if (!place || place->lanes == 0 || sp_load_relaxed(&place->address) != extent->address) {
        if (!has_room_locked(held, lane, extent->size))
            look_at_others_locked(held);
        if (!has_room_locked(held, lane, extent->size))
            return false;
        unsigned index = sp_lowest_bit(~held->taken);
        held->taken |= UINT64_C(1) << index;
        held->bytes += extent->size;
        place = &held->extents[index];
        sp_store_relaxed(&place->address, extent->address);
        sp_store_relaxed(&place->size, extent->size);
        place->lanes = 0;
        extent->held = index + 1;
    }
    uint64_t bit = UINT64_C(1) << (place - held->extents);
    if (!(lane->holds & bit)) {
        place->lanes++;
        if (lane->holds == 0)
            sp_list_push_back(&held->lanes, &lane->held_link);
        sp_store_relaxed(&lane->holds, lane->holds | bit);
    }
    lane->confirmed |= bit;
    lane->freed_unchecked += extent->size;
    return true;
}

// Others make a lane hold nothing, but none something.
void sp_held_end(struct sp_lane *lane) {
    if (sp_load_relaxed(&lane->holds) == 0)
        return;
    struct sp_device *device = lane->pool->device;
    sp_lock_acquire(&device->space.finding);
    if (lane->holds)
        give_back_locked(&device->held, lane);
    sp_lock_release(&device->space.finding);
}

static void set_window(struct sp_lane *lane, uint64_t address, uint64_t size) {
    lane->window = address;
    lane->window_size = size;
}

// An extent that was looked at under this number stays what it is: the lane's stream has freed
// something there that isn't covered.
static bool find_confirmed(struct sp_lane *lane, uint64_t address, uint64_t bytes) {
    const struct sp_held *held = &lane->pool->device->held;
    for (uint64_t bits = lane->confirmed; bits; bits &= bits - 1) {
        const struct sp_held_extent *extent = &held->extents[sp_lowest_bit(bits)];
        uint64_t begin = sp_load_relaxed(&extent->address), size = sp_load_relaxed(&extent->size);
        if (address - begin < size && size - (address - begin) >= bytes) {
            set_window(lane, begin, size);
            return true;
        }
    }
    return false;
}

// A block that is larger than what may be held needs no look. In a stitched view lie extents whose
// homes are elsewhere: the window is a home, which stays as long as it is held.
static bool hold_all(struct sp_lane *lane, uint64_t address, uint64_t bytes) {
    struct sp_device *device = lane->pool->device;
    struct sp_space *space = &device->space;
    bool holds = bytes <= sp_held_max(lane->pool);
    if (!holds)
        return false;
    sp_lock_acquire(&space->finding);
    for (uint64_t at = address; holds && at < address + bytes;) {
        const struct sp_space_extent *extent = sp_space_extent_at_locked(space, at);
        holds = extent && hold_locked(&device->held, lane, extent->home);
        if (holds) {
            set_window(lane, extent->home->address, extent->home->size);
            at = extent->address + extent->size;
        }
    }
    sp_lock_release(&space->finding);
    return holds;
}

// The first extent under the number stays the window, and no other one takes its place.
static bool be_in_one(struct sp_lane *lane, uint64_t address, uint64_t bytes) {
    struct sp_space *space = &lane->pool->device->space;
    sp_lock_acquire(&space->finding);
    const struct sp_space_extent *extent = sp_space_extent_at_locked(space, address);
    bool is_one = extent && extent->home == extent && lane->window_size == 0 &&
                  address + bytes <= extent->address + extent->size &&
                  extent->size <= sp_held_max(lane->pool);
    if (is_one)
        set_window(lane, extent->address, extent->size);
    sp_lock_release(&space->finding);
    return is_one;
}

static bool may_leave(struct sp_lane *lane, enum sp_held_share share, uint64_t address,
                      uint64_t bytes) {
    switch (share) {
    case SP_HELD_ALL:
        set_window(lane, 0, UINT64_MAX);
        return true;
    case SP_HELD_ONE:
        return be_in_one(lane, address, bytes);
    case SP_HELD_SOME:
        return !lane->uncounted &&
               (find_confirmed(lane, address, bytes) || hold_all(lane, address, bytes));
    case SP_HELD_NOTHING:
        break;
    }
    return false;
}

// The lane gives back what it holds for older numbers once these are covered: all of it, or none.
bool sp_held_add_locked(struct sp_lane *lane, uint64_t sequence, uint64_t address, uint64_t bytes) {
    bool changed = sp_load_relaxed(&lane->looks) & SP_LOOK_DEALT &&
                   atomic_fetch_and(&lane->looks, (uint8_t)~SP_LOOK_DEALT) & SP_LOOK_DEALT;
    enum sp_held_share share = (enum sp_held_share)atomic_load(&lane->share);
    if (share == SP_HELD_NOTHING)
        atomic_fetch_or(&lane->looks, SP_LOOK_DEALT);
    if (changed)
        set_window(lane, 0, 0);
    if (sp_load_relaxed(&lane->unfenced_sequence) < sequence) {
        if (!sp_held_back_here(lane)) {
            lane->uncounted = false;
            sp_held_end(lane);
        }
        lane->confirmed = 0;
        set_window(lane, 0, 0);
        sp_store_relaxed(&lane->unfenced_sequence, sequence);
    }
    if (lane->records_each_free)
        return true;
    if (bytes == 0)
        return share != SP_HELD_NOTHING || !sp_held_back_here(lane);
    bool may = may_leave(lane, share, address, bytes);
    if (!may && lane->learned != atomic_load(&lane->stream->handle_use.learned)) {
        // The stream was forgotten and is known again: it may have its lane open from the next
        // free on.
        lane->learned = atomic_load(&lane->stream->handle_use.learned);
        sp_lock_acquire(&lane->pool->lock);
        if (share_of(lane, false) != share)
            sp_held_deal(lane->pool, false);
        sp_lock_release(&lane->pool->lock);
    }
    lane->uncounted = lane->uncounted || !may || share != SP_HELD_SOME; // an event may fail
    return may;
}

// An anonymous stream has recorded each free already. Whoever gives a pool up takes each lane's
// lock afterwards, to see what is used: so a free whose section is a later one sees that it was.
// Others may have what has an event behind it: see region/collect.h. The quick lists grow by what
// is freed: by no more than the extents that were held have, and a page at least with each event.
SP_APART unsigned sp_held_count_freed_locked(struct sp_lane *lane, uint64_t sequence,
                                             uint64_t address, uint64_t bytes) {
    struct sp_lane *_Atomic *offers = &lane->pool->lanes.offers;
    unsigned left = sp_load_acquire(&lane->pool->destroyed) ? SP_LEFT_REAP : 0;
    if (sp_held_add_locked(lane, sequence, address, bytes))
        return left;
    if (!lane->records_each_free) {
        sp_held_count_records_locked(lane, 1);
        left |= SP_LEFT_RECORD;
        if (sp_load_relaxed(&lane->by_address) && sp_load_relaxed(offers) != lane)
            sp_store_relaxed(offers, lane);
    }
    lane->freed_unchecked += SP_PAGE_SIZE;
    if (lane->freed_unchecked < SP_QUICK_BLOCKS / 4 * SP_PAGE_SIZE)
        return left;
    lane->freed_unchecked = 0;
    return left | SP_LEFT_SHORTEN;
}
