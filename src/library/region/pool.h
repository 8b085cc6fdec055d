// A pool, its lanes and its memory: the types that region/, supply/, process/ and calls/
// share, and who guards what.
//
// A pool has three *regions*. A region has segments (a view and the chain of blocks over it) and
// the tiers of its free blocks. A lane (region/lane.h) is what one stream has in one pool.
//
// docs/notes/locks.md has all locks in the order in which they are taken. Of them the map lock is
// held across driver calls that map and unmap; whoever finds memory without these never waits for
// it. The reaper alone gives it back after each extent or view, and makes way for others. A lane's
// lock and the pool's are held for a few instructions, or given back now and then, and never across
// a driver call.
//
// A malloc or free that finds what it wants in its lane takes lane.lock alone, and writes no cache
// line that another stream's does: what is written often stands in lines of its own, apart from
// what is only read.
#ifndef STREAMPOOL_REGION_POOL_H
#define STREAMPOOL_REGION_POOL_H

#include "base/biased_lock.h"
#include "base/worker.h"
#include "heap/block.h"
#include "heap/slab.h"
#include "heap/tier.h"
#include "order/action.h"
#include "region/fail.h"
#include "region/in_flight.h"
#include "vmm/view.h"

#include <streampool/lists.h>

// Large blocks; the pages that slabs are cut from; and blocks that must lie in one extent, each
// segment having one at most. Stitched views belong to no region, for they have no memory of their
// own.
enum sp_region_kind {
    SP_REGION_LARGE,
    SP_REGION_PAGES,
    SP_REGION_FIXED,
    SP_REGION_COUNT,
    SP_STITCHED = SP_REGION_COUNT
};

struct sp_lane;
struct sp_lane_table;

struct sp_segment {
    struct sp_list link; // in the region
    struct sp_pool *pool;
    enum sp_region_kind kind;
    // As far as is known there is address space behind it; guarded by the pool's lock, as is.
    bool extends;
    bool is_lost; // see region/segment.h; written under the map lock and the pool's
    struct sp_view view;
    struct sp_chain chain;
};

struct sp_region {
    struct sp_list segments;
    size_t mapped;           // sum of the views' mapped bytes; written under `lock` and `map_lock`
    struct sp_tier ready;    // no fence pending: anybody's
    struct sp_tier waiting;  // fences of several streams, or of one without a lane: nobody's yet
    struct sp_tier unfenced; // likewise, and no event stood behind one when the block came
    struct sp_tier holes;    // address space of the segments that has no memory
    struct sp_list lanes;    // the tiers here of lanes that have some
    uint64_t rows_from;      // where a search for rows that was cut short goes on; 0: none was
    uint64_t lanes_most;     // no block in a lane's tiers is larger
};

// Statistics, in the order of the attributes from poolMemPoolStatReuseSameStream on.
enum sp_statistic {
#define SP_STATISTIC(name, number, text) SP_STATISTIC_##name,
    STREAMPOOL_POOL_STATISTICS(SP_STATISTIC)
#undef SP_STATISTIC
        SP_STATISTIC_COUNT
};

// Figures that say how much a synchronise leaves beyond the release threshold; see region/retain.h.
struct sp_retain {
    _Atomic uint64_t primed;        // free bytes; written under the pool's lock, as is
    _Atomic uint64_t primed_until;  // as long as no more than this is reserved
    _Atomic uint64_t release_delay; // attribute: so many synchronises

    // Guarded by the pool's lock:
    uint64_t leaving; // set aside by a trim, and not given back yet
    uint64_t peak;    // the most that was not ready at once since the last synchronise
    uint64_t held;    // the most of the last synchronises, and so what is left
    uint64_t below;   // the most since that was reached last
    uint64_t left;    // synchronises until `below` takes the place of `held`
};

// The values of the attributes that can be set; see process/attributes.c.
struct sp_attributes {
    _Atomic bool reuse_policies[3];
    _Atomic uint64_t release_threshold;
    _Atomic uint64_t unfenced_max;
    _Atomic bool unfenced_max_set;  // by the program: then it stays
    _Atomic uint64_t host_wait_max; // nanoseconds
    _Atomic bool deterministic;
    _Atomic bool context_fence;
    _Atomic uint64_t context_wait_max; // nanoseconds
    _Atomic int defragmentation;       // enum poolDefragmentation
    _Atomic uint64_t remap_time_max;
    _Atomic uint64_t growth_beyond_use; // percent; UINT64_MAX: without limit
    _Atomic bool reaper;
    _Atomic bool trim_by_reaper;
    _Atomic uint64_t host_overflow_max;
};

// The figures of what is used. The lanes count it; see region/figures.h.
struct sp_figures {
    _Atomic uint64_t used_high; // the sum of the lanes' allowances
    _Atomic uint64_t unlooked;  // of this: added with no look at the other lanes, at most
    _Atomic uint64_t grown_for; // the most that was in use, or wanted beside, at a look at growth
    struct sp_lock allowances;
    uint32_t covered_last;        // the slot of the lane whose allowance was brought up last
    uint32_t short_looks;         // see region/figures.c
    _Atomic uint64_t used_lately; // see sp_figures_used_lately
    _Atomic uint32_t used_calls;  // that may still have it
};

// The memory of the slabs, and how much of it is in use; see region/loose.h.
struct sp_slabs {
    _Atomic uint64_t bytes;    // of the slabs that lanes own
    _Atomic uint64_t live;     // of these, when somebody looked last
    _Atomic uint32_t rests;    // so many loose blocks before the next look
    _Atomic uint64_t idle_min; // a test may set less
};

// The stitched views; see region/stitch.h. Guarded by the pool's lock.
struct sp_kept {
    struct sp_list views;   // stitched views, the one that was used last first
    struct sp_list zombies; // stitched views that wait for their work to complete
    uint32_t view_count;
    size_t mapping_count;
    _Atomic uint32_t zombie_count; // written under the pool's lock
    uint32_t views_max;            // a test may set fewer
    size_t mappings_max;
};

// How the most that was in use rose, by the misses of all lanes; see supply/growth.c. Guarded by
// the pool's lock.
struct sp_rise {
    struct sp_rise_point {
        uint64_t misses;
        uint64_t used_high; // 0: nobody has looked yet
    } before, last;
    struct sp_rise_point same; // the first look that found as much as the latest one
};

// The lanes of a pool, beside their table, and which come next. Guarded by the pool's lock.
struct sp_lanes {
    struct sp_list list;
    struct sp_list legacy; // those of legacy streams
    uint32_t with_tiers;   // how many tiers of lanes there are in the regions
    // Lanes, and shelves of them, on which something was freed since they were last collected from,
    // and since all that they had freed was last seen to be covered; the longest wait first.
    // Guarded by `listing`, under which no lock is taken.
    struct sp_lock listing;
    struct sp_list freed, uncovered;
    _Atomic uint32_t freed_count, uncovered_count;
    _Atomic uint32_t count; // written under the pool's lock
    // A thread asks for its lane; see calls/miss.h. Of many that ask at once each waits for the
    // driver.
    _Atomic bool asks;
    // Each lane asks at each miss, unless the pool's lock is contended: the pool has grown because
    // its free memory lay in pieces. See sp_growth_note().
    _Atomic bool ask_each_miss;
    struct sp_lane *_Atomic offers; // see region/collect.h
};

// The work that is left to the worker; see supply/defer.h.
struct sp_deferred {
    struct sp_task task;
    _Atomic bool trim_due;     // a trim to the threshold was left to it
    _Atomic bool synchronized; // the pool was, since a visit last looked
};

// The lists of its device in which a pool stands. Guarded by the device's lock.
struct sp_listing {
    struct sp_list link;  // in device.pools, or spare_pools
    struct sp_list holds; // in one of device.holders; guarded by holders_lock, too, as is
    bool given_up;        // in which
};

// The waiting of a given-up pool; see process/given_up.h. Guarded by the device's lock.
struct sp_given_up {
    struct sp_list due;      // in device.due
    bool waits;              // some of its lanes stand in device.awaited
    bool awaits_synchronize; // in which
    bool woken;              // claimed: something of it was freed meanwhile
};

// The stages of a pool's struct.
enum sp_pool_stage {
    SP_POOL_SPARE,
    SP_POOL_IN_USE,
    SP_POOL_GIVEN_UP,
    SP_POOL_CLAIMED // given up, and one thread takes it apart
};

// The pool's memory is there, or isn't: see supply/evict.h for its extents, and calls/residency.h
// for the calls.
enum sp_residency_state {
    SP_RESIDENT,
    SP_CLOSED,  // all is there, and nothing is allocated
    SP_EVICTED, // nor given back; some or all of the live memory isn't there
};

struct sp_residency {
    _Atomic int state;      // enum sp_residency_state; written under the map lock and the pool's
    _Atomic uint64_t bytes; // of evicted extents, which stay reserved; written under the map lock
    _Atomic bool changes;   // one thread at a time changes the state
};

// Names whom to tell why the pool grew; see tell/explain.h.
struct sp_watch {
    _Atomic bool is_on;                 // somebody is
    struct sp_lock telling;             // held while the observer runs, and where it is changed
    poolMemPoolGrowthObserver observer; // or null
    void *user;
};

struct sp_pool {
    struct sp_device *device; // of the struct, for good: see life.c

    // Each malloc and free reads these, one cache line with the device and the handle.
    struct sp_lane_table
        *_Atomic table_for_mallocs; // lane_table, or null: see sp_lane_find_for_malloc()
    struct sp_lane_table *_Atomic lane_table;
    bool (*_Atomic is_complete)(
        struct sp_fence fence); // what this pool takes for known: see poolMemPoolAttrDeterministic
    _Atomic int promises;       // enum poolStreamPromise
    // The last growth found no memory: each free is recorded, since others wait for it.
    _Atomic bool is_short;
    // Requests for complete memory come: each free is recorded, since nothing else tells them.
    _Atomic bool wants_complete;
    _Atomic bool destroyed;

    // Set when the pool is made. A thread that comes late reads those of the struct's next pool,
    // and tells by the handle that they are.
    _Atomic(poolMemPool_t) handle;
    _Atomic size_t limit;          // of reserved bytes
    struct poolMemPoolProps props; // read by threads that hold a pin or a live allocation

    struct sp_attributes attributes; // written rarely, by any thread

    // Where it overflows to, or null; and of an overflow the handle of the pool that it is for,
    // else null. See process/overflow.h. The first is written under `lock`, and stays while the
    // pool is pinned.
    struct sp_pool *_Atomic overflow;
    _Atomic(poolMemPool_t) overflow_of;

    // For tell/name.h, whose lock guards the name: "" where the program gave none.
    _Atomic uint32_t number; // of a default pool 0
    char name[STREAMPOOL_NAME_BYTES];

    _Alignas(64) _Atomic uint64_t statistics[SP_STATISTIC_COUNT];

    _Alignas(64) struct sp_figures figures;
    _Alignas(64) _Atomic uint64_t reserved; // written under `lock`
    _Atomic uint64_t reserved_high;
    _Atomic uint64_t unpublished; // was mapped for a remap whose stream is being made to wait

    struct sp_in_flight in_flight;
    _Atomic uint32_t mappers; // threads that hold the map lock or want it, but for the reaper
    struct sp_lock map_lock;
    struct sp_lock lock;
    struct sp_retain retain;
    struct sp_region regions[SP_REGION_COUNT];
    struct sp_kept kept;
    struct sp_slabs slabs;
    struct sp_rise rise;
    struct sp_lanes lanes;
    uint64_t settled;       // sp_progress_news() when the tiers were last looked through
    uint64_t settled_lanes; // and when those of the lanes were
    uint64_t refine_grown;  // see region/refine.h; guarded by `lock`, as is
    uint32_t refine_rests;  // see region/refine.h; guarded by `lock`

    struct sp_access access; // written under `map_lock`
    // For plain devices (vmm/view.h).
    uint64_t next_rank;          // that of the next piece; guarded by `map_lock`
    _Atomic uint64_t context_id; // what the pool has of other contexts is lost, as far as it ended
    _Atomic uint32_t lost;       // segments; written under `lock`
    _Atomic uint32_t lost_whole; // lost segments with nothing live; written under `lock`

    struct sp_deferred deferred;
    struct sp_watch watch;
    struct sp_residency residency;

    // Guarded by the device's lock:
    enum sp_pool_stage stage;
    struct sp_listing listing;
    struct sp_given_up given_up;
    uint32_t pins; // threads that stand on this pool: none of them sees it taken apart
};

static inline struct sp_segment *sp_segment_of(const struct sp_block *block) {
    return SP_CONTAINER_OF(block->chain, struct sp_segment, chain);
}

// The bytes of the host that it has reserved by overflow.
static inline uint64_t sp_pool_reserved_of_host(const struct sp_pool *pool) {
    const struct sp_pool *overflow = sp_load_acquire(&pool->overflow);
    return overflow ? sp_load_relaxed(&overflow->reserved) : 0;
}

static inline bool sp_pool_policy(const struct sp_pool *pool, enum poolMemPoolAttr attribute) {
    return sp_load_relaxed(&pool->attributes.reuse_policies[attribute - 1]) != 0;
}

static inline bool sp_pool_is_deterministic(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->attributes.deterministic);
}

// The test by which the pool takes a fence for complete, and its result for a fence.
static inline bool (*sp_pool_measure(const struct sp_pool *pool))(struct sp_fence fence) {
    return sp_load_relaxed(&pool->is_complete);
}
static inline bool sp_pool_knows(const struct sp_pool *pool, struct sp_fence fence) {
    return sp_pool_measure(pool)(fence);
}

// How the pool learns of completion; up to where it takes a stream's frees for complete; and up to
// where others in the pool can learn of them.
static inline enum sp_knowledge sp_pool_goes_by(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->is_complete) == sp_progress_is_synchronized ? SP_SYNCHRONIZED
                                                                              : SP_FOUND;
}
static inline uint64_t sp_pool_known_of(const struct sp_pool *pool,
                                        const struct sp_stream *stream) {
    return sp_pool_goes_by(pool) == SP_SYNCHRONIZED ? sp_progress_synchronized(stream)
                                                    : sp_progress_completed(stream);
}
static inline uint64_t sp_pool_covered_of(const struct sp_pool *pool,
                                          const struct sp_stream *stream) {
    bool by_all = sp_load_relaxed(&pool->is_complete) != sp_progress_is_synchronized;
    return sp_max(sp_load_relaxed(&stream->recorded),
                  sp_load_relaxed(by_all ? &stream->completed : &stream->synchronized));
}

// A pool whose doings must not depend on the answers asks nothing.
static inline bool sp_pool_may_ask(const struct sp_pool *pool) {
    return sp_pool_policy(pool, poolMemPoolReuseAllowOpportunistic) &&
           !sp_pool_is_deterministic(pool);
}

static inline void sp_pool_add(struct sp_pool *pool, enum sp_statistic statistic, uint64_t number) {
    sp_add_relaxed(&pool->statistics[statistic], number);
}

static inline void sp_pool_count(struct sp_pool *pool, enum sp_statistic statistic) {
    sp_pool_add(pool, statistic, 1);
}

static inline enum sp_residency_state sp_pool_residency(const struct sp_pool *pool) {
    return (enum sp_residency_state)sp_load_acquire(&pool->residency.state);
}

// There are zombies: see region/stitch.h. A hint.
static inline bool sp_pool_has_zombies(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->kept.zombie_count) > 0;
}

// The map lock, taken so that the reaper sees that it is wanted.
static inline void sp_pool_begin_mapping(struct sp_pool *pool) {
    sp_add_relaxed(&pool->mappers, 1);
    sp_lock_acquire(&pool->map_lock);
}

static inline void sp_pool_end_mapping(struct sp_pool *pool) {
    sp_lock_release(&pool->map_lock);
    sp_subtract_relaxed(&pool->mappers, 1);
}

// Where there are more lanes than this, a call looks at some, or at all as seldom as costs a look
// at so many each time.
enum { SP_LANES_AT_ONCE = 64 };
static inline bool sp_pool_has_very_many_lanes(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->lanes.count) > SP_LANES_AT_ONCE;
}

// A request collects from so many of more than that, before it brings in all.
enum { SP_LANES_COLLECTED = 8 };

// Several streams have used the pool. A hint: read without the lock.
static inline bool sp_pool_is_shared(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->lanes.count) > 1;
}

// The program's promises about the streams that it uses the pool with: enum poolStreamPromise.
static inline int sp_pool_promises(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->promises);
}

// True when the legacy stream's order counts for the pool's memory: see order/action.h.
static inline bool sp_pool_follows_legacy(const struct sp_pool *pool) {
    return !(sp_pool_promises(pool) & poolPromiseNoLegacyOrder);
}

#endif
