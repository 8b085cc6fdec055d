// A lane: what one stream has in one pool.
//
// It has the slabs of the stream's small blocks, a quick list of large blocks as they were freed,
// and the tiers of the memory that was last freed on the stream. It is made by the stream's first
// call that names the pool, and stays until the pool is taken apart; then its struct is used again
// for another one, and never given back to the system.
//
// There may be thousands, most of which have nothing, so none of those costs anything: its tiers
// are made for the first block that is filed there, and go once they are empty; and who looks
// through lanes finds in lists those on which something was freed, or that have tiers.
//
// Threads that allocate and free on one stream stand in each other's way at its lane's lock and
// cache lines. So a lane whose lock is contended is *crowded* and gets *shelves*, of which it is
// the first one: up to 15 further lanes, for small blocks alone. A block is freed
// where its slab is. All shelves are of one stream, so what was freed on any of them is had by rule
// 1. How threads part, and that no pool grows beside what its shelves have free, is in
// docs/notes/locks.md.
//
//   what a stream uses in a pool == the sum over its lane's shelves, likewise for each other figure
#ifndef STREAMPOOL_REGION_LANE_H
#define STREAMPOOL_REGION_LANE_H

#include "base/cold.h"
#include "region/pool.h"

enum { SP_QUICK_BINS = 32, SP_SHELVES = 16 };

// Freed large blocks of one size, last in first out.
struct sp_quick_bin {
    uint64_t size;
    struct sp_block *head; // null: the bin is empty and may take another size
};

// A lane's tiers in one region. All fences are of its stream, and an event stands
// behind each of `fenced`; behind those of `unfenced` none did when they were last looked through.
// Guarded by the pool's lock.
struct sp_lane_tiers {
    struct sp_list link; // in region.lanes
    struct sp_lane *lane;
    struct sp_tier fenced, unfenced;
    struct sp_calendar due;     // of `fenced`: what is known complete
    struct sp_calendar covered; // of `unfenced`: what has an event behind it
};

// Those of a lane that has none: always empty.
extern __attribute__((visibility("hidden"))) struct sp_lane_tiers sp_lane_no_tiers;

// Why a free has to look further.
enum sp_look {
    SP_LOOK_DEALT = 1,     // what the lane may leave without an event may have changed
    SP_LOOK_COLLECTED = 2, // the lane isn't in pool.lanes.freed: the free puts it in
    SP_LOOK_COVERED = 4,   // likewise pool.lanes.uncovered
    SP_LOOK_LISTS = SP_LOOK_COLLECTED | SP_LOOK_COVERED
};

struct sp_lane {
    // Each malloc and free needs these two cache lines. The atomics but `looks` are written
    // under the lock alone, so by a load and a store, and read by whoever asks for a figure.
    _Alignas(64) struct sp_biased_lock lock;
    struct sp_pool *pool;
    struct sp_stream *stream;
    _Atomic uint64_t used;              // bytes of the live blocks that were allocated on the lane
    _Atomic uint64_t allowance;         // see region/figures.h
    _Atomic uint64_t unfenced_sequence; // the latest number under which something was freed
    // A free in this range under that number needs no further look, unless the lane `looks`.
    uint64_t window;
    uint64_t window_size;
    _Atomic uint8_t looks; // enum sp_look; also whoever deals writes it, without the lock
    // Allocations out of the slabs, the quick lists and the lane's own tier.
    _Atomic uint64_t hits;
    _Atomic uint64_t records; // events that were recorded behind frees
    // The stream, or null where each of its frees records an event before it is put back, or the
    // lane is alien. A free looks at it without the lock, and again with it.
    const struct sp_stream *_Atomic puts;
    _Atomic uint32_t quick_used; // a bit for each bin that is not empty
    // Large blocks are placed by address: see region/find.h. Written under the pool's lock.
    _Atomic bool by_address;
    struct sp_block *_Atomic latest; // that the lane gave out, or one that stood in its place
    // See region/quick.h.
    _Atomic uint32_t contention;      // how often another thread held the pool's lock of late
    _Atomic uint32_t contended_frees; // so many frees more

    struct sp_list slabs[SP_CLASS_COUNT];          // with free blocks, by class
    struct sp_list returned_slabs[SP_CLASS_COUNT]; // with returned blocks, by class
    struct sp_list owned_slabs;                    // all
    _Atomic uint32_t slab_count;                   // of these
    struct sp_quick_bin quick[SP_QUICK_BINS];
    _Atomic uint32_t misses;  // of the quick lists
    uint64_t freed_unchecked; // bytes, since it was seen how long these are
    // Written under the pool's lock. A lane that is no further shelf has its shelves by their
    // numbers, the first one itself, others made when a thread needs them; and in a list.
    struct sp_lane *_Atomic shelves[SP_SHELVES];
    struct sp_lane *_Atomic next_shelf;
    bool records_each_free; // before it is put back; of the stream
    // Its memory is of another context than its stream, which may go on when that has ended. A hit
    // asks nobody, so an alien lane has nothing at hand: no slabs, and nothing in quick lists.
    _Atomic bool is_alien;
    // See region/held.h.
    _Atomic int share; // enum sp_held_share
    uint32_t learned;  // what the stream's was when the lane was last made lazy again
    bool uncounted; // something was freed that lies in no extent that it holds, and isn't covered
    uint64_t confirmed; // extents that were looked at under unfenced_sequence
    // Guarded by device.space.finding:
    _Atomic uint64_t holds; // extents
    struct sp_list held_link;
    struct sp_list freed_link, uncovered_link; // in pool.lanes
    // Guarded by the pool's lock:
    struct sp_list link;        // in pool.lanes.list
    struct sp_list legacy_link; // in pool.lanes.legacy, if its stream is one
    struct sp_lane_tiers *tiers[SP_REGION_COUNT];
    // So often in a row the stream was made to wait instead of a growth, and what `misses` was at
    // the last of these waits.
    uint32_t consecutive_waits;
    uint32_t misses_at_wait;
    // Guarded by the device's lock, of a pool that was given up; see process/given_up.h:
    struct sp_tree_node awaited; // in device.awaited
    uint64_t awaits;             // the number of the stream, or 0: it is in no tree
};

// Lanes by stream slot. A larger table replaces a full one and keeps it, for readers take no lock.
struct sp_lane_table {
    struct sp_lane_table *smaller;
    uint32_t count;
    struct sp_lane *_Atomic lanes[];
};

// The lane of a stream in a pool, or null when it has none yet.
static inline struct sp_lane *sp_lane_find(const struct sp_pool *pool, uint32_t slot) {
    struct sp_lane_table *table = sp_load_acquire(&pool->lane_table);
    return table && slot < table->count ? sp_load_acquire(&table->lanes[slot]) : NULL;
}

// An allocation finds no lane while the pool isn't resident: so the
// common pair needs no test for that. One that has begun before may still get memory.
static inline struct sp_lane *sp_lane_find_for_malloc(const struct sp_pool *pool, uint32_t slot) {
    struct sp_lane_table *table = sp_load_acquire(&pool->table_for_mallocs);
    return table && slot < table->count ? sp_load_acquire(&table->lanes[slot]) : NULL;
}

// A slot above those of all streams that have lanes in the pool.
static inline uint32_t sp_lane_slots(const struct sp_pool *pool) {
    const struct sp_lane_table *table = sp_load_acquire(&pool->lane_table);
    return table ? table->count : 0;
}

// Return the lane of a stream, and make it if need be. Null without host memory.
struct sp_lane *sp_lane_make(struct sp_pool *pool, struct sp_stream *stream);
static inline struct sp_lane *sp_lane_of(struct sp_pool *pool, struct sp_stream *stream) {
    struct sp_lane *lane = sp_lane_find(pool, stream->slot);
    return lane ? lane : sp_lane_make(pool, stream);
}

// Sets whether the pool is resident, with its map lock and its lock held.
void sp_lane_set_residency(struct sp_pool *pool, enum sp_residency_state state);

// Looks whether the lane is alien, once its stream is admitted (calls/admit.h) and before it
// allocates.
void sp_lane_look_at_context(struct sp_lane *lane);

// The shelf of a crowded lane on which the calling thread allocates small blocks; null where it
// isn't made yet. Who meets another thread there goes to the next shelf; not in a deterministic
// pool, as that depends on who meets whom.
static inline struct sp_lane *sp_lane_shelf(struct sp_lane *lane, const struct sp_pool *pool) {
    struct sp_lock_owner *thread = sp_this_thread;
    if (SP_UNLIKELY(thread->number == 0 || sp_pool_is_deterministic(pool)))
        return lane;
    struct sp_lane *shelf = sp_load_acquire(&lane->shelves[thread->shelf % SP_SHELVES]);
    if (SP_LIKELY(!shelf || !sp_lock_is_held(&shelf->lock.shared)))
        return shelf;
    if (thread->stays == 0)
        return sp_load_acquire(&lane->shelves[++thread->shelf % SP_SHELVES]);
    thread->stays--;
    return shelf;
}

// Returns that shelf, and makes it if need be; the lane itself without host memory, or where it has
// no shelves: an anonymous stream's frees are events, and one that acts wants to know of each. The
// pool is pinned.
struct sp_lane *sp_lane_make_shelf(struct sp_lane *lane);

// Has the calling thread allocate on this shelf from now on, as others have nothing: it stays for
// so many meetings at least.
enum { SP_SHELF_STAYS = 64 };
void sp_lane_go_to_shelf(const struct sp_lane *lane, const struct sp_lane *shelf);

// The lane behind this one, at first null, and null behind the last one. Lanes are only added at
// the end, and freed with the pool, so a walk needs the pool's lock for each step alone.
struct sp_lane *sp_lane_next(struct sp_pool *pool, const struct sp_lane *lane);

// With the lane's lock held: the slab is one of the lane's from now on, or no more. Then it is in
// flight, up to sp_collect_slab().
static inline void sp_lane_own_slab_locked(struct sp_lane *lane, struct sp_slab *slab) {
    sp_list_push_back(&lane->owned_slabs, &slab->owned_link);
    sp_store_relaxed(&lane->slab_count, sp_load_relaxed(&lane->slab_count) + 1);
    sp_add_relaxed(&lane->pool->slabs.bytes, sp_slab_bytes(slab));
}
static inline void sp_lane_disown_slab_locked(struct sp_lane *lane, struct sp_slab *slab) {
    sp_in_flight_take(&lane->pool->in_flight);
    sp_list_remove(&slab->owned_link);
    sp_subtract_relaxed(&lane->pool->slabs.bytes, sp_slab_bytes(slab));
    sp_store_release(&lane->slab_count, sp_load_relaxed(&lane->slab_count) - 1);
}

// With the lane's lock held: something was freed on the lane, and whoever collects or asks is to
// find it. A lane that stands in their lists stays where it is.
void sp_lane_list_locked(struct sp_lane *lane);

// Takes a lane out of one of these lists, with its lock held: up to then whoever looks there finds
// it.
void sp_lane_unlist_locked(struct sp_lane *lane, enum sp_look list);

// Name up to `most` lanes, or shelves, to be collected from, the longest wait first; and those that
// may have freed what isn't covered, by turns. They return how many.
uint32_t sp_lane_name_freed(struct sp_pool *pool, struct sp_lane **lanes, uint32_t most);
uint32_t sp_lane_name_uncovered(struct sp_pool *pool, struct sp_lane **lanes, uint32_t most);

// With the pool's lock held. Makes the tiers of a lane that has none in the region; null without
// host memory. The second ends those that are empty, or whose pool ends.
struct sp_lane_tiers *sp_lane_make_tiers(struct sp_lane *lane, enum sp_region_kind kind);
void sp_lane_end_tiers(struct sp_lane *lane, enum sp_region_kind kind);
static inline bool sp_lane_has_tiers(const struct sp_lane *lane, enum sp_region_kind kind) {
    return lane->tiers[kind] != &sp_lane_no_tiers;
}

// Says that a new pool has no lanes, and takes them away from one that has no memory left.
void sp_lane_init_all(struct sp_pool *pool);
void sp_lane_free_all(struct sp_pool *pool);

// With the lane's lock held: the lane still is the one of this pool and stream. Between a look and
// the lock the pool can be taken apart, and the lane be used again for another one.
static inline bool sp_lane_is(const struct sp_lane *lane, const struct sp_pool *pool,
                              const struct sp_stream *stream) {
    return lane->pool == pool && lane->stream == stream;
}

// Records a mark behind the lane's frees. For a call that was made with the lane's stream, or has
// borrowed it.
void sp_lane_record(struct sp_lane *lane);

#endif
