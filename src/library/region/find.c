#include "region/find.h"

#include "base/number.h"
#include "heap/search.h"
#include "order/registry.h"
#include "region/collect.h"
#include "region/lane.h"
#include "region/quick.h"
#include "region/retain.h"
#include "region/row.h"
#include "region/settle.h"

// ---------------------------------------------------------------------------------- own and ready

// The better fit of `best` and a tier's; `best` among equals.
static inline struct sp_block *better_of(struct sp_block *best, const struct sp_tier *tier,
                                         uint64_t size) {
    if (tier->bytes < size)
        return best;
    struct sp_block *fit = sp_tier_best_fit(tier, size);
    return fit && (!best || fit->size < best->size) ? fit : best;
}

// The best fit of the lane's own memory and the ready one. Among equals its own, and of that the
// one with no event behind it: nobody else can have that.
static struct sp_block *best_at_hand(const struct sp_lane *lane, enum sp_region_kind kind,
                                     uint64_t size) {
    struct sp_block *best = better_of(NULL, &lane->unfenced[kind], size);
    best = better_of(best, &lane->tiers[kind], size);
    return better_of(best, &lane->pool->regions[kind].ready, size);
}

static bool is_at_hand(void *context, const struct sp_block *block) {
    const struct sp_lane *lane = context;
    return block->tier == &lane->pool->regions[SP_REGION_LARGE].ready ||
           block->tier == &lane->tiers[SP_REGION_LARGE] ||
           block->tier == &lane->unfenced[SP_REGION_LARGE];
}

// The lowest large block of the same that fits, in the oldest segment that has one. Null also after
// so many looks at others' blocks in vain.
static struct sp_block *lowest_at_hand(struct sp_lane *lane, uint64_t size) {
    struct sp_lowest_search search = {
        .size = size, .takes = is_at_hand, .context = lane, .looks = 128};
    struct sp_block *lowest = NULL;
    SP_LIST_FOR_EACH_OF(struct sp_segment, segment, link,
                        &lane->pool->regions[SP_REGION_LARGE].segments) {
        if (!lowest)
            lowest = sp_lowest_find(&segment->chain, &search);
    }
    return lowest;
}

// The lane's own memory or the ready one, cut to size: what is left of it stays where it is. It has
// one fence at most, so there is room for another. BUSY; null when there is none. A search by
// address looks at others' blocks, too, so it is made only where there is enough.
static struct sp_block *take_at_hand(struct sp_lane *lane, enum sp_region_kind kind,
                                     uint64_t size) {
    if (lane->unfenced[kind].bytes < size && lane->tiers[kind].bytes < size &&
        lane->pool->regions[kind].ready.bytes < size)
        return NULL;
    bool by_address = kind == SP_REGION_LARGE && sp_load_relaxed(&lane->by_address);
    struct sp_block *chosen = by_address ? lowest_at_hand(lane, size) : NULL;
    if (!chosen)
        chosen = best_at_hand(lane, kind, size);
    struct sp_block *block = chosen ? sp_tier_take(chosen, size) : NULL;
    if (block)
        sp_retain_note_use(lane->pool);
    return block;
}

// By which rule the stream has what was at hand: it carries a fence of the stream's slot, or none.
static enum sp_rule rule_at_hand(const struct sp_lane *lane, const struct sp_block *block) {
    return !sp_fence_set_empty(&block->fences) &&
                   sp_fence_set_at(&block->fences, 0)->sequence >= lane->stream->first
               ? SP_RULE_SAME_STREAM
               : SP_RULE_COMPLETE;
}

// ------------------------------------------------------------------------------------ of others

// Any of a tier's blocks may be within reach. Of one stream's those with the lowest numbers are
// before all others: no rule allows a higher number and not a lower one.
static bool may_reach(const struct sp_request *request, const struct sp_tier *tier,
                      const struct sp_block *block) {
    struct sp_fence_set earliest = {.count = 1};
    if (!tier->calendar)
        return true;
    earliest.alone =
        (struct sp_fence){block->fences.alone.slot, sp_calendar_earliest(tier->calendar)};
    return sp_request_rule(request, &earliest) <= request->reach;
}

static bool is_fit(const struct sp_request *request, const struct sp_block *block) {
    return sp_request_fits(request, block->address, sp_block_end(block)) &&
           sp_request_usable(request, block);
}

// The better fit of `best` and the blocks of a tier that are within reach.
static struct sp_block *better_in_reach(const struct sp_request *request,
                                        const struct sp_tier *tier, struct sp_block *best) {
    if (tier->bytes < request->size)
        return best;
    struct sp_block *b = sp_tier_best_fit(tier, request->size);
    if (!b || (best && b->size >= best->size))
        return best;
    if (is_fit(request, b))
        return b;
    if (!may_reach(request, tier, b))
        return best;
    while ((b = sp_tier_next(b)) && (!best || b->size < best->size)) {
        if (is_fit(request, b))
            return b;
    }
    return best;
}

static struct sp_block *better_of_lane(const struct sp_request *request, const struct sp_lane *lane,
                                       struct sp_block *best) {
    if (!lane || lane == request->lane)
        return best;
    best = better_in_reach(request, &lane->tiers[request->kind], best);
    return better_in_reach(request, &lane->unfenced[request->kind], best);
}

static void note_largest_of_lanes(struct sp_pool *pool, enum sp_region_kind kind) {
    uint64_t most = 0;
    SP_LIST_FOR_EACH_OF(const struct sp_lane, lane, link, &pool->lanes.list) {
        const struct sp_block *fenced = sp_tier_last(&lane->tiers[kind]);
        const struct sp_block *unfenced = sp_tier_last(&lane->unfenced[kind]);
        most = sp_max(most, fenced ? fenced->size : 0);
        most = sp_max(most, unfenced ? unfenced->size : 0);
    }
    pool->regions[kind].lanes_most = most;
}

// The best fit of what other lanes have within reach. Without a wait the stream has the memory of
// those that it runs after, and of the legacy streams. Of all lanes there may be thousands, which
// hold nothing that is large enough: then none is looked at.
static struct sp_block *best_of_others(const struct sp_request *request) {
    struct sp_pool *pool = request->pool;
    const struct sp_region *region = &pool->regions[request->kind];
    struct sp_block *best = NULL;
    if (request->reach <= SP_RULE_COMPLETE)
        return NULL;
    if (sp_request_reaches_lanes_before_alone(request)) {
        for (uint32_t i = 0; i < request->clock.count; i++)
            best = better_of_lane(
                request, sp_lane_find(pool, sp_fence_set_at(&request->clock, i)->slot), best);
        SP_LIST_FOR_EACH_OF(const struct sp_lane, lane, legacy_link, &pool->lanes.legacy)
            best = better_of_lane(request, lane, best);
    } else if (request->size <= region->lanes_most) {
        SP_LIST_FOR_EACH_OF(const struct sp_lane, lane, link, &pool->lanes.list)
            best = better_of_lane(request, lane, best);
        if (!best)
            note_largest_of_lanes(pool, request->kind);
    }
    best = better_in_reach(request, &region->waiting, best);
    return better_in_reach(request, &region->unfenced, best);
}

// -------------------------------------------------------------------------------- the best of all

static struct sp_block *best_alone(const struct sp_request *request) {
    const struct sp_lane *lane = request->lane;
    struct sp_block *best = NULL;
    if (request->unit > 1) { // whole pages are looked for, likewise
        best = better_in_reach(request, &lane->unfenced[request->kind], best);
        best = better_in_reach(request, &lane->tiers[request->kind], best);
        best = better_in_reach(request, &lane->pool->regions[request->kind].ready, best);
    } else {
        best = best_at_hand(lane, request->kind, request->size);
    }
    return best ? best : best_of_others(request);
}

struct sp_block *sp_find_aside(struct sp_request *request) {
    struct sp_block *block = best_alone(request);
    if (!block && sp_row_is_possible(request) && sp_row_learn_all(request))
        block = best_alone(request);
    if (!block)
        return sp_row_take_aside(request);
    sp_tier_remove(block);
    return block;
}

// ------------------------------------------------------------------------------------------ taking

bool sp_find_cut(struct sp_pool *pool, struct sp_block *block, uint64_t size) {
    if (!sp_fence_set_reserve(&block->fences, 1))
        return false;
    if (block->size > size) {
        struct sp_block *rest = sp_block_split(block, size);
        if (!rest)
            return false;
        sp_settle_insert(pool, rest);
    }
    sp_block_set_live(block);
    return true;
}

// Cuts a block that was set aside. Null without host memory.
static struct sp_block *cut(struct sp_pool *pool, struct sp_block *block, uint64_t size) {
    if (sp_find_cut(pool, block, size)) {
        sp_retain_note_use(pool);
        return block;
    }
    sp_settle_insert(pool, block);
    return NULL;
}

static struct sp_block *finish(struct sp_request *request, struct sp_block *block) {
    struct sp_block *taken = block ? cut(request->pool, block, request->size) : NULL;
    if (taken)
        sp_request_took_locked(request, sp_request_rule(request, &taken->fences));
    return taken;
}

static struct sp_block *take_at_hand_live(struct sp_request *request) {
    struct sp_block *block = take_at_hand(request->lane, request->kind, request->size);
    if (block) {
        sp_block_set_live(block);
        sp_request_took_locked(request, rule_at_hand(request->lane, block));
    }
    return block;
}

// Several blocks side by side of the same.
static struct sp_block *take_row_at_hand(struct sp_request *request) {
    struct sp_region *region = &request->pool->regions[request->kind];
    uint64_t from = region->rows_from;
    struct sp_request near = *request;
    near.reach = SP_RULE_COMPLETE;
    struct sp_block *block = sp_row_is_possible(&near) && sp_row_learn_some(&near)
                                 ? finish(&near, sp_row_take_aside(&near))
                                 : NULL;
    region->rows_from = from; // that search is another one
    request->took = near.took;
    return block;
}

// Where very much has completed, the request needn't wait until all of it is settled: the next one
// goes on with it, and before one is refused all is done.
struct sp_block *sp_find_locked(struct sp_request *request) {
    struct sp_block *block = take_at_hand_live(request);
    uint64_t parts = sp_request_patience(request);
    while (!block && !sp_settle_part(request->pool) && parts-- > 0) {
        sp_lock_give_way(&request->pool->lock);
        block = take_at_hand_live(request);
        if (!block)
            block = take_row_at_hand(request);
    }
    return block ? block : finish(request, sp_find_aside(request));
}

struct sp_block *sp_find_at_hand(struct sp_request *request) {
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *block = take_at_hand_live(request);
    sp_lock_release(&request->pool->lock);
    return block;
}

struct sp_block *sp_find(struct sp_request *request) {
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *block = sp_find_locked(request);
    sp_lock_release(&request->pool->lock);
    return block;
}

// ---------------------------------------------------------------------------------- the first look

// All that is complete is ready, as far as it may serve a large request.
static bool is_settled(const struct sp_pool *pool) {
    const struct sp_region *region = &pool->regions[SP_REGION_LARGE];
    bool lanes_alone = region->waiting.bytes == 0 && region->unfenced.bytes == 0;
    return sp_settle_is_done(pool) || (lanes_alone && sp_settle_is_done_by_lanes(pool));
}

// Takes what others have, where a look at few lanes tells, and notes it for the stream.
static struct sp_found take_ordered(struct sp_lane *lane, uint64_t size, unsigned int flags) {
    enum { STREAMS_MOST = 16 };
    struct sp_pool *pool = lane->pool;
    struct sp_found found = {.block = NULL};
    struct sp_request request;
    if (size > pool->regions[SP_REGION_LARGE].lanes_most || !is_settled(pool))
        return found;
    sp_request_open(&request, pool, lane, SP_REGION_LARGE, size, flags);
    if (sp_request_reaches_lanes_before_alone(&request) && request.clock.count <= STREAMS_MOST)
        found.block = best_of_others(&request);
    if (found.block) {
        found.rule = sp_request_rule(&request, &found.block->fences);
        sp_registry_note_acquired(lane->stream, &found.block->fences);
        sp_tier_remove(found.block);
        found.block = cut(pool, found.block, size);
    }
    sp_request_close(&request);
    return found;
}

struct sp_found sp_find_first_locked(struct sp_lane *lane, uint64_t size, unsigned int flags) {
    bool by_address = sp_load_relaxed(&lane->by_address);
    struct sp_found found = {.block = NULL};
    if (by_address)
        sp_quick_note_contention(lane);
    sp_lock_acquire(&lane->pool->lock);
    struct sp_block *cached = sp_collect_detach_locked(lane);
    sp_collect_flush_locked(lane->pool, cached, sp_settle_insert_and_swallow);
    sp_settle_fenced(lane);
    if (by_address)
        sp_settle_lanes_part(lane->pool); // what others have may be complete, and lie lower
    if (sp_load_relaxed(&lane->quick_used) == 0) {
        found.block = take_at_hand(lane, SP_REGION_LARGE, size);
        found.rule = found.block ? rule_at_hand(lane, found.block) : SP_RULE_NONE;
        bool unfenced = lane->unfenced[SP_REGION_LARGE].bytes > 0;
        if (!found.block && !unfenced && by_address)
            found = take_ordered(lane, size, flags);
        found.unfenced = unfenced;
    }
    sp_lock_release(&lane->pool->lock);
    return found;
}

// ------------------------------------------------------------------------------ the cheapest wait

// Pending memory that is had by the cheapest wait.
//
// A stream that waits for an event runs no sooner than the work before it. Of all events behind
// free memory the oldest ones are the likeliest to be complete by the time that the stream comes to
// its wait, and a wait for a complete event takes no time. So a request that waits by choice, since
// the pool could grow as well, takes the memory with the oldest event, even where other memory fits
// better. Which event is older, of two on different streams, isn't known: what counts is how many
// events of its stream it has to wait for beyond those that are known to be complete.

// So many blocks of one tier are looked at, the smallest first, and so many lanes.
enum { BLOCKS_OF_TIER = 16, LANES_LOOKED_AT = SP_LANES_AT_ONCE };

// A price says what it takes to have a block.
struct price {
    uint32_t waits;  // for so many streams
    uint64_t events; // that aren't known to be complete, on the one of them that has most
};

struct wait_search {
    const struct sp_request *request;
    struct sp_block *best;
    struct price price;
};

static struct price price_of(const struct sp_request *request, const struct sp_block *block) {
    struct price price = {0, 0};
    for (uint32_t i = 0; i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        struct sp_fence_set alone = {.count = 1, .some = {fence}};
        if (sp_request_rule(request, &alone) <= SP_RULE_ORDERED)
            continue;
        uint64_t known = sp_pool_known_of(request->pool, sp_stream_at(fence.slot));
        uint64_t passed = sp_max(known, sp_fence_set_number(&request->clock, fence.slot));
        uint64_t events = sp_excess(fence.sequence, passed);
        price.waits++;
        price.events = sp_max(price.events, events);
    }
    return price;
}

static void look_through(struct wait_search *search, const struct sp_tier *tier) {
    struct sp_block *block = sp_tier_best_fit(tier, search->request->size);
    for (unsigned looks = 0; block && looks < BLOCKS_OF_TIER;
         looks++, block = sp_tier_next(block)) {
        if (!sp_request_usable(search->request, block))
            continue;
        struct price price = price_of(search->request, block);
        int order =
            sp_compare_pairs(price.waits, price.events, search->price.waits, search->price.events);
        if (!search->best || order < 0 || (order == 0 && block->size < search->best->size)) {
            search->best = block;
            search->price = price;
        }
    }
}

// Where there are more lanes than it looks at, those come first that were made first.
struct sp_block *sp_find_oldest_aside(const struct sp_request *request) {
    struct wait_search search = {.request = request};
    unsigned lanes = 0;
    SP_LIST_FOR_EACH_OF(const struct sp_lane, lane, link, &request->pool->lanes.list) {
        if (lane != request->lane)
            look_through(&search, &lane->tiers[request->kind]);
        if (++lanes == LANES_LOOKED_AT)
            break;
    }
    look_through(&search, &request->pool->regions[request->kind].waiting);
    if (search.best)
        sp_tier_remove(search.best);
    return search.best;
}

// ----------------------------------------------------------------------------- from another region

// Cuts off what stands before the block's last `size` bytes that end at a page boundary: large
// blocks are taken from the front, so runs and they meet in the middle. Null without host memory.
static struct sp_block *last_pages(struct sp_pool *pool, struct sp_block *block, uint64_t size) {
    uint64_t begin = sp_round_down(sp_block_end(block), SP_PAGE_SIZE) - size;
    if (begin == block->address)
        return block;
    struct sp_block *rest = sp_block_split(block, begin - block->address);
    sp_settle_insert(pool, block);
    return rest;
}

struct sp_request sp_find_put_to(const struct sp_request *request, enum sp_region_kind kind) {
    struct sp_request other = *request;
    other.kind = kind;
    other.unit = request->kind == SP_REGION_PAGES ? SP_PAGE_SIZE : 1;
    if (kind == SP_REGION_PAGES)
        other.size = sp_round_up(request->size, SP_PAGE_SIZE);
    return other;
}

struct sp_block *sp_find_aside_in(const struct sp_request *request, enum sp_region_kind kind) {
    struct sp_request other = sp_find_put_to(request, kind);
    struct sp_block *block = sp_find_aside(&other);
    return block && other.unit > 1 ? last_pages(other.pool, block, other.size) : block;
}

struct sp_block *sp_find_in(struct sp_request *request, enum sp_region_kind kind) {
    struct sp_request other = sp_find_put_to(request, kind);
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *block = request->kind == SP_REGION_PAGES
                                 ? finish(&other, sp_find_aside_in(request, kind))
                                 : sp_find_locked(&other);
    sp_lock_release(&request->pool->lock);
    request->took = other.took;
    return block;
}

enum sp_region_kind sp_find_other_kind(const struct sp_request *request, int i) {
    static const enum sp_region_kind others[SP_REGION_COUNT][SP_FIND_OTHERS] = {
        [SP_REGION_LARGE] = {SP_REGION_PAGES, SP_REGION_FIXED},
        [SP_REGION_PAGES] = {SP_REGION_LARGE, SP_REGION_FIXED},
    };
    return others[request->kind][i];
}

bool sp_find_would(struct sp_request *dry) {
    bool found = best_alone(dry) || sp_row_would(dry);
    for (int i = 0; !found && dry->kind != SP_REGION_FIXED && i < SP_FIND_OTHERS; i++) {
        struct sp_request other = sp_find_put_to(dry, sp_find_other_kind(dry, i));
        found = best_alone(&other) || sp_row_would(&other);
    }
    return found;
}
