#include "region/share.h"

#include "base/number.h"
#include "region/device.h"
#include "region/open.h"

enum { REVIEW_AFTER_LEAST = 64, REVIEW_AFTER_MOST = 4096 }; // claims in vain

// Memory that others can't see yet is little beside what there is.
uint64_t sp_share_max(const struct sp_pool *pool) {
    uint64_t most = sp_load_relaxed(&pool->attributes.unfenced_max);
    uint64_t part = sp_load_relaxed(&pool->reserved) / SP_UNFENCED_PART;
    bool is_set = sp_load_relaxed(&pool->attributes.unfenced_max_set);
    return is_set || most > part ? most : part;
}

uint64_t sp_share_part(const struct sp_pool *pool) {
    uint32_t lanes = sp_load_relaxed(&pool->lanes.count);
    uint64_t most = sp_share_max(pool);
    return lanes > 1 ? most / lanes : most;
}

// The bytes that were counted so far are fenced once a record, or a completion that the pool goes
// by, covers the latest number among them. That a number was closed says nothing: a query of a
// pending stream and a record that failed close theirs too.
uint64_t sp_share_used(const struct sp_lane *lane) {
    const struct sp_stream *stream = lane->stream;
    uint64_t latest = sp_load_relaxed(&lane->unfenced_sequence);
    bool is_fenced = sp_load_relaxed(&stream->recorded) >= latest ||
                     sp_pool_knows(lane->pool, (struct sp_fence){stream->slot, latest});
    return is_fenced ? 0 : sp_load_relaxed(&lane->unfenced_bytes);
}

// ----------------------------------------------------------------------------------------- dealing

// Others wait for what is freed in a pool that is short of memory. Where there is one stream alone,
// and the library may record on it at any time, it does so when another pool wants the memory. (A
// manager's stream is such a one, and its frees call no driver: docs/mam.md.)
static bool lets_others_wait(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->is_short) &&
           (!sp_open_is_promised(pool) || sp_load_relaxed(&pool->lanes.count) > 1);
}

// A pool that was given up goes when all of it is free and complete. Of a program that makes and
// destroys pools, each may hold back some memory when it is given up: where several wait for that
// already, the next ones leave an event. One that goes by synchronises alone waits for no event,
// and others' waiting tells how fast the device was.
static bool records_each_free(const struct sp_pool *pool) {
    enum { WAITING_MOST = 4 };
    return lets_others_wait(pool) || sp_load_acquire(&pool->destroyed) ||
           (!sp_pool_is_deterministic(pool) &&
            sp_load_relaxed(&pool->device->given_up) >= WAITING_MOST);
}

static void set_share(struct sp_lane *lane, uint64_t share, bool closed) {
    bool none = records_each_free(lane->pool);
    uint64_t most = none                                                  ? 0
                    : !closed && sp_open_may_be(lane->pool, lane->stream) ? UINT64_MAX
                                                                          : share;
    sp_store_relaxed(&lane->unfenced_most, most);
}

static struct sp_lane *lane_at(const struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct sp_lane, link);
}

static void deal(struct sp_pool *pool, bool closed) {
    uint64_t part = sp_share_part(pool);
    SP_LIST_FOR_EACH(link, &pool->lanes.list)
        set_share(lane_at(link), part, closed);
    pool->lanes.part = part;
    sp_store_relaxed(&pool->lanes.claimable, 0);
    sp_store_relaxed(&pool->lanes.review_after, REVIEW_AFTER_LEAST);
}

void sp_share_deal(struct sp_pool *pool) {
    deal(pool, false);
}

void sp_share_deal_again(struct sp_pool *pool) {
    uint64_t part = sp_share_part(pool), last = pool->lanes.part;
    uint64_t change = part > last ? part - last : last - part;
    if (sp_load_relaxed(&pool->lanes.count) <= 1 || change > last / 8)
        deal(pool, false);
}

void sp_share_deal_closed(struct sp_pool *pool) {
    deal(pool, true);
}

void sp_share_begin(struct sp_lane *lane) {
    set_share(lane, sp_share_part(lane->pool), false);
}

// --------------------------------------------------------------------------------------- reviewing

// Returns what others can't have: of an open lane they can have all when they need it.
static uint64_t held_back(const struct sp_lane *lane) {
    return sp_open_is(lane) ? 0 : sp_share_used(lane);
}

// Returns what the lane leaves to nobody. It is idle when no number has become the latest one under
// which it freed something since the last review.
static uint64_t keeps(const struct sp_lane *lane, uint64_t part) {
    bool is_idle = sp_load_relaxed(&lane->unfenced_sequence) == lane->reviewed;
    return is_idle ? held_back(lane) : sp_max(part, held_back(lane));
}

// Where all hold back more than they may together, each that has more than the equal part records
// at its next free.
static void review(struct sp_pool *pool) {
    uint64_t most = sp_share_max(pool), part = sp_share_part(pool), kept = 0;
    SP_LIST_FOR_EACH(link, &pool->lanes.list)
        kept += keeps(lane_at(link), part);
    SP_LIST_FOR_EACH(link, &pool->lanes.list) {
        struct sp_lane *lane = lane_at(link);
        set_share(lane, kept > most ? part : sp_max(part, held_back(lane)), false);
        lane->reviewed = sp_load_relaxed(&lane->unfenced_sequence);
    }
    sp_store_relaxed(&pool->lanes.claimable, sp_excess(most, kept));
    uint32_t after = sp_load_relaxed(&pool->lanes.review_after);
    sp_store_relaxed(&pool->lanes.review_after, after < REVIEW_AFTER_MOST ? after * 2 : after);
}

// A review writes to each lane, and so to what other threads have at hand: it is for many claims in
// vain, and the more of them the more reviews there have been.
static bool is_review_due(struct sp_lane *lane) {
    const struct sp_lanes *lanes = &lane->pool->lanes;
    uint32_t in_vain = ++lane->claims_in_vain;
    if (in_vain < sp_load_relaxed(&lanes->review_after) || in_vain < sp_load_relaxed(&lanes->count))
        return false;
    lane->claims_in_vain = 0;
    return true;
}

// ---------------------------------------------------------------------------------------- claiming

// Returns the largest share that a claim for so many bytes may lead to.
static uint64_t most_for(const struct sp_pool *pool, uint64_t bytes) {
    enum { ABOVE_PAGE_MOST = 2 << 20 };
    uint64_t most = sp_share_max(pool);
    return bytes > SP_PAGE_SIZE ? sp_min(most, ABOVE_PAGE_MOST) : most;
}

// Some of what else is claimable goes with it, so that a lane that holds back more and more claims
// seldom.
static bool claim_locked(struct sp_lane *lane, uint64_t holds, uint64_t most) {
    struct sp_lanes *lanes = &lane->pool->lanes;
    uint64_t share = sp_load_relaxed(&lane->unfenced_most);
    uint64_t claimable = sp_load_relaxed(&lanes->claimable);
    uint64_t lacks = sp_excess(holds, share);
    if (share == 0 || lacks > claimable)
        return false;
    uint64_t more = sp_min(lacks + (claimable - lacks) / 8, sp_excess(most, share));
    sp_store_relaxed(&lane->unfenced_most, share + more);
    sp_store_relaxed(&lanes->claimable, claimable - more);
    return true;
}

bool sp_share_claim(struct sp_lane *lane, uint64_t bytes) {
    struct sp_lanes *lanes = &lane->pool->lanes;
    uint64_t holds = sp_load_relaxed(&lane->unfenced_bytes), most = most_for(lane->pool, bytes);
    uint64_t lacks = sp_excess(holds, sp_load_relaxed(&lane->unfenced_most));
    bool in_vain = lacks > sp_load_relaxed(&lanes->claimable);
    if (holds > most || (in_vain && !is_review_due(lane)))
        return false;
    sp_lock_acquire(&lane->pool->lock);
    if (in_vain)
        review(lane->pool);
    bool claimed = claim_locked(lane, holds, most);
    sp_lock_release(&lane->pool->lock);
    return claimed;
}
