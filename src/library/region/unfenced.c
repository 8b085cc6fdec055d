#include "region/unfenced.h"

#include "base/number.h"
#include "order/borrow.h"
#include "order/progress.h"
#include "region/collect.h"
#include "region/device.h"

// --------------------------------------------------------------------------------------- counting

// The bytes that were counted so far are fenced once a record, or a completion that the pool goes
// by, covers the latest number among them. That a number was closed says nothing: a query of a
// pending stream and a record that failed close theirs too. But what covers a number has closed it,
// so frees under one and the same number needn't look.
static bool is_fenced(const struct sp_lane *lane, uint64_t sequence) {
    const struct sp_stream *stream = lane->stream;
    return sp_load_relaxed(&stream->recorded) >= sequence ||
           sp_pool_knows(lane->pool, (struct sp_fence){stream->slot, sequence});
}

bool sp_unfenced_count(struct sp_lane *lane, uint64_t sequence, uint64_t bytes) {
    uint64_t latest = sp_load_relaxed(&lane->unfenced_sequence);
    uint64_t counted = sp_load_relaxed(&lane->unfenced_bytes);
    if (latest != sequence && is_fenced(lane, latest))
        counted = 0;
    if (latest < sequence)
        sp_store_relaxed(&lane->unfenced_sequence, sequence);
    sp_store_relaxed(&lane->unfenced_bytes, counted + bytes);
    return counted + bytes > sp_load_relaxed(&lane->unfenced_most);
}

bool sp_unfenced_holds_back(const struct sp_lane *lane) {
    struct sp_fence last = {lane->stream->slot, sp_load_relaxed(&lane->unfenced_sequence)};
    return sp_load_relaxed(&lane->unfenced_bytes) > 0 &&
           last.sequence > sp_pool_covered_of(lane->pool, lane->stream);
}

// The quick lists grow by what is freed, and that is counted where it is recorded: in pages, of
// which each block has one at least. The last block, of so many bytes, is no more than one block.
static bool is_shortening_due(struct sp_lane *lane, uint64_t bytes) {
    uint64_t before = sp_load_relaxed(&lane->unfenced_bytes) - bytes;
    lane->freed_unchecked += before + (bytes < SP_PAGE_SIZE ? bytes : SP_PAGE_SIZE);
    if (lane->freed_unchecked < SP_QUICK_KEPT * SP_PAGE_SIZE)
        return false;
    lane->freed_unchecked = 0;
    return true;
}

// Others may have what has an event behind it: see region/offer.h. It is written where it changes.
static void offer_locked(struct sp_lane *lane) {
    struct sp_lane *_Atomic *offers = &lane->pool->lanes.offers;
    if (sp_load_relaxed(&lane->by_address) && sp_load_relaxed(offers) != lane)
        sp_store_relaxed(offers, lane);
}

// An anonymous stream has recorded each free already. Whoever gives a pool up takes each lane's
// lock afterwards, to see what is used: so a free whose section is a later one sees that it was,
// whatever it counts.
SP_APART unsigned sp_unfenced_count_late_locked(struct sp_lane *lane, uint64_t sequence,
                                                uint64_t bytes) {
    unsigned left = sp_load_acquire(&lane->pool->destroyed) ? SP_LEFT_REAP : 0;
    if (!sp_unfenced_count(lane, sequence, bytes))
        return left;
    if (!lane->records_each_free) {
        sp_store_relaxed(&lane->records, sp_load_relaxed(&lane->records) + 1);
        left |= SP_LEFT_RECORD;
        offer_locked(lane);
    }
    if (is_shortening_due(lane, bytes))
        left |= SP_LEFT_SHORTEN;
    return left;
}

// ---------------------------------------------------------------------------------- sharing it out

// Memory that others can't see yet is little beside what there is.
uint64_t sp_unfenced_max(const struct sp_pool *pool) {
    uint64_t most = sp_load_relaxed(&pool->attributes.unfenced_max);
    uint64_t part = sp_load_relaxed(&pool->reserved) / SP_UNFENCED_PART;
    bool is_set = sp_load_relaxed(&pool->attributes.unfenced_max_set);
    return is_set || most > part ? most : part;
}

// Each lane may hold back an equal part of what the pool may. A stream that is gone keeps what it
// held back, so the n-th of streams that come and go may hold back an n-th: together they do so
// little more than one.
uint64_t sp_unfenced_part(const struct sp_pool *pool) {
    uint32_t lanes = sp_load_relaxed(&pool->lanes.count);
    uint64_t most = sp_unfenced_max(pool);
    return lanes > 1 ? most / lanes : most;
}

bool sp_unfenced_is_promised(const struct sp_pool *pool) {
    enum { OPEN = poolPromiseStreamDestroy | poolPromiseNeverCapture };
    return (sp_pool_promises(pool) & OPEN) == OPEN;
}

// Others wait for what is freed in a pool that is short of memory. Where there is one stream alone,
// and the library may record on it at any time, it does so when another pool wants the memory. (A
// manager's stream is such a one, and its frees call no driver: docs/mam.md.)
static bool lets_others_wait(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->is_short) &&
           (!sp_unfenced_is_promised(pool) || sp_load_relaxed(&pool->lanes.count) > 1);
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

bool sp_unfenced_may_be_open(const struct sp_pool *pool) {
    return sp_unfenced_is_promised(pool) || sp_borrow_may_take_seen();
}

// A pool that goes by synchronises alone learns of no other thing.
bool sp_unfenced_may_borrow(const struct sp_pool *pool, const struct sp_stream *stream) {
    bool is_seen = sp_borrow_may_take_seen() && sp_load_relaxed(&stream->seen);
    return (sp_unfenced_is_promised(pool) || is_seen) && sp_borrow_is_possible(stream) &&
           !sp_pool_is_deterministic(pool);
}

// Where nothing is promised, a lane is open as long as no other stream has used the pool. Among
// several, an event behind the free itself lets others have the memory sooner, and to record on
// another's stream blocks the caller while that stream's queue is full.
bool sp_unfenced_opens(const struct sp_pool *pool, const struct sp_stream *stream) {
    return sp_unfenced_may_borrow(pool, stream) &&
           (sp_unfenced_is_promised(pool) || sp_load_relaxed(&pool->lanes.count) <= 1);
}

static void set_most(struct sp_lane *lane, uint64_t share, bool closed) {
    bool none = records_each_free(lane->pool);
    uint64_t most = none                                                     ? 0
                    : !closed && sp_unfenced_opens(lane->pool, lane->stream) ? UINT64_MAX
                                                                             : share;
    sp_store_relaxed(&lane->unfenced_most, most);
}

static void share_unfenced(struct sp_pool *pool, bool closed) {
    pool->lanes.shared = sp_unfenced_part(pool);
    SP_LIST_FOR_EACH(link, &pool->lanes.list)
        set_most(SP_CONTAINER_OF(link, struct sp_lane, link), pool->lanes.shared, closed);
}

void sp_unfenced_share_out(struct sp_pool *pool) {
    share_unfenced(pool, false);
}

void sp_unfenced_share_again(struct sp_pool *pool) {
    uint64_t share = sp_unfenced_part(pool);
    uint64_t change =
        share > pool->lanes.shared ? share - pool->lanes.shared : pool->lanes.shared - share;
    if (!sp_pool_has_many_lanes(pool) || change > pool->lanes.shared / 8)
        share_unfenced(pool, false);
}

void sp_unfenced_close(struct sp_pool *pool) {
    sp_lock_acquire(&pool->lock);
    share_unfenced(pool, true);
    sp_lock_release(&pool->lock);
}

void sp_unfenced_set_most(struct sp_lane *lane) {
    set_most(lane, sp_unfenced_part(lane->pool), false);
}
