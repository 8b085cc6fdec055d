#include "region/unfenced.h"

#include "order/progress.h"
#include "region/collect.h"
#include "region/held.h"

bool sp_unfenced_holds_back(const struct sp_lane *lane) {
    return sp_load_relaxed(&lane->unfenced_sequence) > sp_pool_covered_of(lane->pool, lane->stream);
}

// The quick lists grow by what is freed: by no more than the extents that were held have, and a
// block of one page at least with each event.
static bool is_shortening_due(struct sp_lane *lane) {
    lane->freed_unchecked += SP_PAGE_SIZE;
    if (lane->freed_unchecked < SP_QUICK_KEPT / 4 * SP_PAGE_SIZE)
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
                                                uint64_t address, uint64_t bytes) {
    unsigned left = sp_load_acquire(&lane->pool->destroyed) ? SP_LEFT_REAP : 0;
    if (sp_held_add_locked(lane, sequence, address, bytes))
        return left;
    if (!lane->records_each_free) {
        sp_store_relaxed(&lane->records, sp_load_relaxed(&lane->records) + 1);
        left |= SP_LEFT_RECORD;
        offer_locked(lane);
    }
    if (is_shortening_due(lane))
        left |= SP_LEFT_SHORTEN;
    return left;
}
