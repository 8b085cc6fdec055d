#include "region/share.h"

#include "base/number.h"
#include "region/device.h"
#include "region/open.h"

enum { REVIEW_AFTER_LEAST = 64, REVIEW_AFTER_MOST = 4096 }; // claims in vain
enum { LARGE_MOST = 2 << 20 };                              // bytes of a share that has grown

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

// Returns how much of a share is for large blocks too: no more than this, unless the equal part is.
static uint64_t for_large(uint64_t share, uint64_t part) {
    return share == UINT64_MAX ? share : sp_min(share, sp_max(part, LARGE_MOST));
}

static void set_share(struct sp_lane *lane, uint64_t share, uint64_t part) {
    sp_store_relaxed(&lane->unfenced_most, share);
    sp_store_relaxed(&lane->large_most, for_large(share, part));
}

static void give_part(struct sp_lane *lane, uint64_t part, bool closed) {
    if (records_each_free(lane->pool))
        set_share(lane, 0, part);
    else if (!closed && sp_open_may_be(lane->pool, lane->stream))
        set_share(lane, UINT64_MAX, part);
    else
        set_share(lane, part, part);
}

static struct sp_lane *lane_at(const struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct sp_lane, link);
}

static void deal(struct sp_pool *pool, bool closed) {
    struct sp_shares *shares = &pool->shares;
    shares->part = sp_share_part(pool);
    SP_LIST_FOR_EACH(link, &pool->lanes.list)
        give_part(lane_at(link), shares->part, closed);
    sp_store_relaxed(&shares->claimable, 0);
    sp_store_relaxed(&shares->review_after, REVIEW_AFTER_LEAST);
    shares->reviewed = NULL;
}

void sp_share_deal(struct sp_pool *pool) {
    deal(pool, false);
}

void sp_share_deal_again(struct sp_pool *pool) {
    uint64_t part = sp_share_part(pool), last = pool->shares.part;
    uint64_t change = part > last ? part - last : last - part;
    if (sp_load_relaxed(&pool->lanes.count) <= 1 || change > last / 8)
        deal(pool, false);
}

void sp_share_deal_closed(struct sp_pool *pool) {
    deal(pool, true);
}

void sp_share_begin(struct sp_lane *lane) {
    give_part(lane, sp_share_part(lane->pool), false);
}

// --------------------------------------------------------------------------------------- reviewing

// The lane keeps what it has claimed and holds back still, and the equal part at least. It leaves
// that part to others too when it is idle: when no number has become the latest one under which it
// freed something since the last review. One that is open, or is to record each free, stays so:
// others can have all that an open one holds back when they need it.
static void review_lane(struct sp_shares *shares, struct sp_lane *lane) {
    uint64_t share = sp_load_relaxed(&lane->unfenced_most), used = sp_share_used(lane);
    uint64_t latest = sp_load_relaxed(&lane->unfenced_sequence);
    if (share > 0 && share < UINT64_MAX) {
        share = sp_max(shares->part, sp_min(share, used));
        set_share(lane, share, shares->part);
        shares->kept += latest == lane->freed_at_review ? used : share;
    }
    lane->freed_at_review = latest;
}

// Reviews are the rarer the more there have been, for each writes to all lanes, and so to what
// other threads have at hand.
static void end_review(struct sp_pool *pool) {
    struct sp_shares *shares = &pool->shares;
    uint32_t after = sp_load_relaxed(&shares->review_after);
    sp_store_relaxed(&shares->claimable, sp_excess(sp_share_max(pool), shares->kept));
    sp_store_relaxed(&shares->review_after, after < REVIEW_AFTER_MOST ? after * 2 : after);
    sp_store_relaxed(&shares->reviews, sp_load_relaxed(&shares->reviews) + 1);
    shares->reviewed = NULL;
}

// Goes on with the review, or begins one: looks at so many lanes.
static void review_some(struct sp_pool *pool) {
    struct sp_shares *shares = &pool->shares;
    const struct sp_list *link = shares->reviewed;
    if (!link) {
        link = &pool->lanes.list;
        shares->kept = 0;
        sp_store_relaxed(&shares->claimable, 0); // what is claimed now would be in no sum
    }
    for (int i = 0; i < SP_LANES_AT_ONCE && link->next != &pool->lanes.list; i++) {
        link = link->next;
        review_lane(shares, lane_at(link));
    }
    shares->reviewed = link;
    if (link->next == &pool->lanes.list)
        end_review(pool);
}

// A lane counts its claims anew when a review has ended, whoever brought that: so all have time to
// free something until the next one.
static bool is_review_due(struct sp_lane *lane) {
    const struct sp_shares *shares = &lane->pool->shares;
    struct sp_claims *claims = &lane->claims;
    uint32_t reviews = sp_load_relaxed(&shares->reviews);
    if (claims->reviews != reviews)
        claims->in_vain = 0;
    claims->reviews = reviews;
    return ++claims->in_vain >= sp_load_relaxed(&shares->review_after);
}

// ---------------------------------------------------------------------------------------- claiming

// The first claims of a stream get nothing. The lane may have been another one's that is gone.
static bool is_early(struct sp_lane *lane) {
    enum { EARLY_CLAIMS = 8 };
    struct sp_claims *claims = &lane->claims;
    uint64_t first = sp_load_plain(&lane->stream->first); // this thread may not name the stream
    if (claims->stream != first)
        claims->early = 0;
    claims->stream = first;
    if (claims->early == EARLY_CLAIMS)
        return false;
    claims->early++;
    return true;
}

// Some of what else is claimable goes with it, so that a lane that holds back more and more claims
// seldom.
static bool claim_locked(struct sp_lane *lane, uint64_t holds) {
    struct sp_shares *shares = &lane->pool->shares;
    uint64_t share = sp_load_relaxed(&lane->unfenced_most);
    uint64_t claimable = sp_load_relaxed(&shares->claimable);
    uint64_t lacks = sp_excess(holds, share);
    if (share == 0 || share == UINT64_MAX || lacks > claimable)
        return false;
    uint64_t more = lacks + (claimable - lacks) / 8;
    set_share(lane, share + more, shares->part);
    sp_store_relaxed(&shares->claimable, claimable - more);
    return true;
}

bool sp_share_claim(struct sp_lane *lane, bool large) {
    struct sp_pool *pool = lane->pool;
    uint64_t holds = sp_load_relaxed(&lane->unfenced_bytes);
    uint64_t lacks = sp_excess(holds, sp_load_relaxed(&lane->unfenced_most));
    bool in_vain = lacks > sp_load_relaxed(&pool->shares.claimable);
    if (holds > sp_share_max(pool) || (large && holds > LARGE_MOST) || is_early(lane) ||
        (in_vain && !is_review_due(lane)))
        return false;
    sp_lock_acquire(&pool->lock);
    if (in_vain)
        review_some(pool);
    bool claimed = claim_locked(lane, holds);
    sp_lock_release(&pool->lock);
    return claimed;
}
