#include "region/unfenced.h"

#include "order/progress.h"
#include "region/collect.h"
#include "region/share.h"

bool sp_unfenced_count(struct sp_lane *lane, uint64_t sequence, uint64_t bytes, bool large) {
    uint64_t latest = sp_load_relaxed(&lane->unfenced_sequence);
    uint64_t counted =
        latest == sequence ? sp_load_relaxed(&lane->unfenced_bytes) : sp_share_used(lane);
    if (latest < sequence)
        sp_store_relaxed(&lane->unfenced_sequence, sequence);
    sp_store_relaxed(&lane->unfenced_bytes, counted + bytes);
    uint64_t most = sp_load_relaxed(large ? &lane->large_most : &lane->unfenced_most);
    return counted + bytes > most && !(sp_share_may_claim(lane) && sp_share_claim(lane, large));
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
                                                uint64_t bytes, bool large) {
    unsigned left = sp_load_acquire(&lane->pool->destroyed) ? SP_LEFT_REAP : 0;
    if (!sp_unfenced_count(lane, sequence, bytes, large))
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
