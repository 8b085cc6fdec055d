// Unfenced memory, which was freed with no event behind it yet, and the *held extents* of a device,
// in which it lies.
//
// A free that no event stands behind keeps its memory from all streams but its own, which may end,
// and an extent is mapped elsewhere or given back only whole. So such frees are counted in the
// extents that they lie in, whatever is live there: each extent once, whoever holds it, over all
// pools of the device. A lane that may hold no more records an event in the free.
//
// A lane adds an extent only as long as it holds no more than half of what others leave: so who
// comes later finds something left. It gives its extents back once an event or a completion covers
// its latest free; others that are refused look whether that is so.
//
// A *lazy* lane holds no extent and records nothing by itself, for the library may ask its stream,
// or record on it, whenever somebody else needs to know (region/ask.h). Lanes are lazy of streams
// that the program has promised to destroy through the library and never to capture; and, while no
// stream captures (process/promises.h), a pool's only one, if its stream is known by its handle.
#ifndef STREAMPOOL_REGION_HELD_H
#define STREAMPOOL_REGION_HELD_H

#include "base/number.h"
#include "region/lane.h"

// The most bytes of a device that lie in held extents, or that part of it where it is less: what
// poolMemPoolAttrUnfencedBytesMax is by default. See docs/notes/events.md.
#define SP_HELD_MAX  ((uint64_t)64 << 20)
#define SP_HELD_PART 64

enum { SP_HELD_EXTENTS = 64 }; // a bit for each in sp_lane.holds

struct sp_held_extent {
    // A lane that holds it reads these without the lock. A free that is late reads another one's,
    // perhaps, under a number that is covered by then.
    _Atomic uint64_t address, size;
    uint32_t lanes; // that hold it
};

// The held extents of a device. The lock `finding` of its address space guards them, so that
// extents stay. An extent knows its place here, counted from 1, as long as it has one.
struct sp_held {
    uint64_t bytes;
    uint64_t taken;       // a bit for each place that an extent has
    struct sp_list lanes; // that hold something; those that were looked at last stand behind
    struct sp_held_extent extents[SP_HELD_EXTENTS];
};

// The value of poolMemPoolAttrUnfencedBytesMax now.
uint64_t sp_held_max(const struct sp_pool *pool);

// A lane may leave without an event: nothing; in a deterministic pool, what lies in one extent;
// what lies in the extents that it holds; or all, as the library may record behind it at any time.
// A deterministic pool takes no part in the count: what others hold depends on how fast their
// streams are, and the program's synchronises show all of it.
enum sp_held_share { SP_HELD_NOTHING, SP_HELD_ONE, SP_HELD_SOME, SP_HELD_ALL };

// The program has promised what it takes for lazy lanes; lanes of the pool may be lazy, by that or
// because no stream captures; the stream may be borrowed for what its lane holds back.
bool sp_held_is_promised(const struct sp_pool *pool);
bool sp_held_may_be_lazy(const struct sp_pool *pool);
bool sp_held_may_borrow(const struct sp_pool *pool, const struct sp_stream *stream);

static inline bool sp_held_is_lazy(const struct sp_lane *lane) {
    return sp_load_relaxed(&lane->share) == SP_HELD_ALL;
}

// An event stands behind what was freed on the lane under a number, or it is known to be complete;
// or others can have one recorded.
static inline bool sp_held_is_covered(const struct sp_lane *lane, uint64_t sequence) {
    return sequence <= sp_pool_covered_of(lane->pool, lane->stream) || sp_held_is_lazy(lane);
}

// Something that was freed on the shelf, or on any of the lane, may be pending, and no event stands
// behind it.
static inline bool sp_held_back_here(const struct sp_lane *lane) {
    return sp_load_relaxed(&lane->unfenced_sequence) > sp_pool_covered_of(lane->pool, lane->stream);
}
static inline bool sp_held_back_any(const struct sp_lane *lane) {
    bool any = false;
    for (; lane && !any; lane = sp_load_acquire(&lane->next_shelf))
        any = sp_held_back_here(lane);
    return any;
}

// With the pool's lock held: tells all lanes what they may leave when that has changed: by the
// pool's attribute, the number of its lanes, its promises, that it is short of memory or given up.
// `closed`: no lane is lazy any more, until a call without that. The second tells one lane alone.
void sp_held_deal(struct sp_pool *pool, bool closed);
void sp_held_deal_to(struct sp_lane *lane, bool closed);

// With the lane's lock held: so many bytes at an address, which are live or were until now, are
// freed under the number. True when they may be left without an event. With no bytes the number
// alone counts.
bool sp_held_add_locked(struct sp_lane *lane, uint64_t sequence, uint64_t address, uint64_t bytes);

// A put leaves these things to do, once the lane's lock is given back.
enum sp_left {
    SP_LEFT_RECORD = 1,  // an event behind the free, as the lane would hold back more than it may
    SP_LEFT_SHORTEN = 2, // its quick lists may have become long
    SP_LEFT_SLAB = 4,    // the slab is empty and unlinked: its run goes back to the region
    SP_LEFT_BLOCK = 8,   // the large block is BUSY: the quick lists have no place for it
    SP_LEFT_REAP = 16,   // the pool is given up
    SP_LEFT_ALL = 32,    // nothing was done: no live block of the lane begins there
    // The pool is needed for it. So the bytes are taken off the account last: a pool that was given
    // up may be taken apart once nothing is used.
    SP_LEFT_WITH_POOL = SP_LEFT_SLAB | SP_LEFT_BLOCK | SP_LEFT_REAP
};

// Counts a free that lies in another place than the last one, or is the first under the number,
// likewise, and returns what that leaves to do. Of a slab that was counted under the number there
// are no bytes.
unsigned sp_held_count_freed_locked(struct sp_lane *lane, uint64_t sequence, uint64_t address,
                                    uint64_t bytes);

// With the lane's lock held: so many events more were recorded behind its frees.
static inline void sp_held_count_records_locked(struct sp_lane *lane, uint64_t more) {
    sp_store_relaxed(&lane->records, sp_load_relaxed(&lane->records) + more);
}

// The lane holds nothing any more: its pool has no memory left.
void sp_held_end(struct sp_lane *lane);

#endif
