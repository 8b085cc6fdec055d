// A request on its way up the ladder: what is wanted, for whom, and what that stream may take.
//
// The stream's clock is copied once, when the request is opened, and again after each wait that the
// request itself has inserted; so the search looks at plain values and takes no stream's lock. A
// clock that is a little old only finds less.
#ifndef STREAMPOOL_REGION_REQUEST_H
#define STREAMPOOL_REGION_REQUEST_H

#include "base/number.h"
#include "region/lane.h"

#include <limits.h>

// How the attribute GrowthBeyondUse stands to a request.
enum sp_bound {
    SP_BOUND_NONE,  // it doesn't hold the request back: there is none, or the request can't wait
    SP_BOUND_HOLDS, // the request waits rather than has the pool grow beyond it
    SP_BOUND_PASSED // no wait would do, so the pool grows
};

// The attributes and flags that allow rules 3 and 5, as they were when the request began. Order
// that the request has made by a wait of its own needs no policy.
enum sp_policy { SP_POLICY_FOLLOW = 1, SP_POLICY_INSERT = 2, SP_POLICY_OWN_ORDER = 4 };

// Free memory that a request left out, since there is very much: in lanes (sp_request_patience, and
// SP_LANES_AT_ONCE), and in rows of free neighbours, at which it didn't look, or not to the end.
enum sp_left_out { SP_LEFT_OUT_LANES = 1, SP_LEFT_OUT_ROWS = 2 };

// The parts of free memory, as a request sees them. The first two are *here*: it may have them now.
enum sp_part {
    SP_READY = 1,    // nobody uses it any more
    SP_MINE = 2,     // work may still use it, but the stream may have it by its order
    SP_PENDING = 4,  // work may still use it, and an event tells when that ends
    SP_UNFENCED = 8, // likewise, but no event stands behind it yet
    SP_HERE = SP_READY | SP_MINE,
    SP_ALL = 15,
};

struct sp_request;

// A listener notes a growth on its way, if somebody watches the pool; see tell/explain.h.
struct sp_listener {
    // A look begins, which forgets an earlier one. No lock is held but the pool's map lock.
    void (*begin)(const struct sp_request *request);
    // Memory may be set aside from now on. The pool's map lock and its lock are held, as below.
    void (*look)(const struct sp_request *request);
    // `mapped` bytes at `first`'s address, about to be counted as reserved, serve the request, of
    // which `from_free` were there before.
    void (*growth)(const struct sp_request *request, const struct sp_block *first, uint64_t mapped,
                   uint64_t from_free);
    // There was no remap, or there was one: so many extents would have been too many, so much new
    // memory too much. With any lock held.
    void (*remap)(const struct sp_request *request, enum poolGrowthRemap why, uint64_t extents,
                  uint64_t missing);
};
#define sp_request_tell(request, note) ((request)->listener ? (request)->listener->note : (void)0)

// An extent is not to be refined for the request; or would be; or is; or can't be, and the pool
// rather grows than that the request is served from it.
enum sp_refine { SP_REFINE_NEVER, SP_REFINE_MAY, SP_REFINE_DUE, SP_REFINE_AVOID };

struct sp_request {
    struct sp_pool *pool;
    struct sp_lane *lane; // null: nobody's, which reaches ready memory alone; see sp_grow_ahead
    struct sp_lane *own;  // whose memory it has by its stream's order: the lane, or null
    enum sp_region_kind kind;
    uint64_t size;
    unsigned int flags; // poolMallocSameStreamOnly, ...
    enum sp_bound bound;
    enum sp_rule reach;    // the dearest rule by which memory may be taken now
    unsigned policies;     // enum sp_policy: by which rules it may be
    enum sp_refine refine; // an extent, before it is served: see region/refine.h
    enum sp_rule found;    // 4 once a question has shown something to be complete; else 2
    unsigned sources;      // a bit for each region that a remap takes pieces of
    unsigned left_out;     // enum sp_left_out
    unsigned pretends;     // enum sp_part: of a dry one (sp_request_pretend), else 0
    unsigned looks;        // at blocks in rows that are left to it, or SP_REQUEST_LOOKS_ALL
    uint64_t unit;     // a slab's run begins and ends with whole pages, of whatever memory it is
    uint32_t waits;    // that were inserted for it
    enum sp_rule took; // the rule by which it has a block, or SP_RULE_NONE: that is new memory
    struct sp_in_flight *in_flight;     // of what is taken: see sp_request_took_locked; or null
    struct sp_outcome growth;           // the last growth's, if it lacked memory
    const struct sp_listener *listener; // null: nobody watches the pool's growths
    struct poolMemPoolGrowth *watched;  // what the listener has noted
    struct sp_fence_set clock;          // what the lane's stream runs after
};

// So many blocks in rows a request looks at in vain before it looks for memory elsewhere.
// From the rung brought_in on it looks at all.
enum { SP_REQUEST_LOOKS = 2048 };
#define SP_REQUEST_LOOKS_ALL UINT_MAX

void sp_request_open(struct sp_request *request, struct sp_pool *pool, struct sp_lane *lane,
                     enum sp_region_kind kind, uint64_t size, unsigned int flags);
void sp_request_close(struct sp_request *request);

// The clock may have grown: copies it anew.
void sp_request_refresh(struct sp_request *request);

// With the pool's lock held, once a block was taken for the request. What a slab's first block
// leaves of it is in flight, until the slab is its lane's.
static inline void sp_request_took_locked(struct sp_request *request, enum sp_rule rule) {
    request->took = rule;
    if (request->in_flight)
        sp_in_flight_take(request->in_flight);
}

// True when the request fits between two addresses. Whole pages may begin anywhere there.
static inline bool sp_request_fits(const struct sp_request *request, uint64_t begin, uint64_t end) {
    return sp_excess(sp_round_down(end, request->unit), begin) >= request->size;
}

// True when a stream is of the same context as the request's. Events of other contexts aren't
// asked, nor waited for.
static inline bool sp_request_shares_context(const struct sp_request *request,
                                             const struct sp_stream *stream) {
    const struct sp_stream *taker = request->lane->stream;
    return sp_stream_is_of(stream, taker->context, taker->context_id);
}

// So many parts (region/settle.h, region/pool.h) of what has completed, or lies in the lanes, a
// request brings in before it looks for memory elsewhere: more than most programs ever have, and
// more for a larger request, which is worth more of them.
static inline uint64_t sp_request_patience(const struct sp_request *request) {
    return 8 + (request->size >> 22);
}

// The context of the request's stream, if that is one of the pool's device. Else null: a pool may
// serve a stream of another device.
CUcontext sp_request_context(const struct sp_request *request);

// The dearest rule that one of the fences needs. The pool's lock is held.
enum sp_rule sp_request_rule(const struct sp_request *request, const struct sp_fence_set *fences);

// The statistic of memory that was taken by one of the rules 1 to 4. Where an attribute has changed
// since it was chosen, the rules may not allow it any more: the stream had it by its order.
static inline enum sp_statistic sp_request_statistic(enum sp_rule rule) {
    switch (rule) {
    case SP_RULE_SAME_STREAM:
        return SP_STATISTIC_ReuseSameStream;
    case SP_RULE_COMPLETE:
        return SP_STATISTIC_ReuseComplete;
    case SP_RULE_FOUND_COMPLETE:
        return SP_STATISTIC_ReuseFoundComplete;
    default:
        return SP_STATISTIC_ReuseOrdered;
    }
}

// True when other lanes can have anything for the request: they can't for a non-blocking stream
// that runs after no other one. Their complete memory is ready memory once it is settled.
bool sp_request_reaches_others(const struct sp_request *request);

// True when, of the other lanes, only those of streams that the request's stream runs after can
// have anything for it, and those of legacy streams.
bool sp_request_reaches_lanes_before_alone(const struct sp_request *request);

// True when a block lies in a pool's ready tier or in the lane's own; the lane may be null.
static inline bool sp_request_is_own_or_ready(const struct sp_pool *pool,
                                              const struct sp_lane *lane, enum sp_region_kind kind,
                                              const struct sp_block *block) {
    return block->tier == &pool->regions[kind].ready ||
           (lane && (block->tier == &lane->tiers[kind]->fenced ||
                     block->tier == &lane->tiers[kind]->unfenced));
}

// With the pool's lock held: true when the block is free and within the request's reach.
bool sp_request_usable(const struct sp_request *request, const struct sp_block *block);

// With the pool's lock held: the part of a block of the request's pool, whatever the request
// pretends. 0 for one that isn't free.
unsigned sp_request_part(const struct sp_request *request, const struct sp_block *block);

// Returns a *dry* request: one that is asked about, and never served. It pretends to have `parts`
// within reach, which are what is here and maybe more, has the patience and the sources of the
// ladder's last rungs, and may grow. It shares the request's clock, so it isn't closed.
struct sp_request sp_request_pretend(const struct sp_request *request, unsigned parts);

// Makes the stream wait for every fence that is in the way. SP_NO_EVENT when none stands behind
// one any more.
struct sp_outcome sp_request_wait_for(struct sp_request *request,
                                      const struct sp_fence_set *fences);

#endif
