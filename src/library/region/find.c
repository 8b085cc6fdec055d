#include "region/find.h"

#include "base/number.h"
#include "heap/search.h"
#include "order/registry.h"
#include "region/collect.h"
#include "region/lane.h"
#include "region/owner.h"
#include "region/quick.h"
#include "region/refine.h"
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
static struct sp_block *best_own_or_ready(const struct sp_lane *lane, enum sp_region_kind kind,
                                          uint64_t size) {
    struct sp_block *best = better_of(NULL, &lane->tiers[kind]->unfenced, size);
    best = better_of(best, &lane->tiers[kind]->fenced, size);
    return better_of(best, &lane->pool->regions[kind].ready, size);
}

static bool is_large_own_or_ready(void *context, const struct sp_block *block) {
    const struct sp_lane *lane = context;
    return sp_request_is_own_or_ready(lane->pool, lane, SP_REGION_LARGE, block);
}

// The lowest large block of own and ready memory that fits, in the oldest segment that has one.
// Null also after so many looks at others' blocks in vain.
static struct sp_block *lowest_own_or_ready(struct sp_lane *lane, uint64_t size) {
    struct sp_lowest_search search = {
        .size = size, .takes = is_large_own_or_ready, .context = lane, .looks = 128};
    struct sp_block *lowest = NULL;
    SP_LIST_FOR_EACH_OF(struct sp_segment, segment, link,
                        &lane->pool->regions[SP_REGION_LARGE].segments) {
        if (!lowest)
            lowest = sp_lowest_find(&segment->chain, &search);
    }
    return lowest;
}

// Chooses of the lane's own memory and the ready one. A search by address looks at others' blocks,
// too, so it is made only where there is enough.
static struct sp_block *choose_own_or_ready(struct sp_lane *lane, enum sp_region_kind kind,
                                            uint64_t size) {
    if (lane->tiers[kind]->unfenced.bytes < size && lane->tiers[kind]->fenced.bytes < size &&
        lane->pool->regions[kind].ready.bytes < size)
        return NULL;
    struct sp_block *lowest = NULL;
    if (kind == SP_REGION_LARGE && sp_load_relaxed(&lane->by_address))
        lowest = lowest_own_or_ready(lane, size);
    return lowest ? lowest : best_own_or_ready(lane, kind, size);
}

// By which rule the stream has what was at hand: it carries a fence of the stream's slot, or none.
static enum sp_rule rule_of_own_or_ready(const struct sp_lane *lane, const struct sp_block *block) {
    return !sp_fence_set_empty(&block->fences) &&
                   sp_fence_set_at(&block->fences, 0)->sequence >= lane->stream->first
               ? SP_RULE_SAME_STREAM
               : SP_RULE_COMPLETE;
}

// ------------------------------------------------------------------------------------ of others

// Any of a tier's blocks may be within reach. Where the earliest one of one stream isn't, no later
// one is.
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
    best = better_in_reach(request, &lane->tiers[request->kind]->fenced, best);
    return better_in_reach(request, &lane->tiers[request->kind]->unfenced, best);
}

static void note_largest_of_lanes(struct sp_pool *pool, enum sp_region_kind kind) {
    uint64_t most = 0;
    SP_LIST_FOR_EACH_OF(const struct sp_lane_tiers, tiers, link, &pool->regions[kind].lanes) {
        const struct sp_block *fenced = sp_tier_last(&tiers->fenced);
        const struct sp_block *unfenced = sp_tier_last(&tiers->unfenced);
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
        SP_LIST_FOR_EACH_OF(const struct sp_lane_tiers, tiers, link, &region->lanes)
            best = better_of_lane(request, tiers->lane, best);
        if (!best)
            note_largest_of_lanes(pool, request->kind);
    }
    best = better_in_reach(request, &region->waiting, best);
    return better_in_reach(request, &region->unfenced, best);
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
        if (!is_fit(search->request, block))
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
static struct sp_block *cheapest_wait(const struct sp_request *request) {
    struct wait_search search = {.request = request};
    unsigned lanes = 0;
    const struct sp_region *region = &request->pool->regions[request->kind];
    SP_LIST_FOR_EACH_OF(const struct sp_lane_tiers, tiers, link, &region->lanes) {
        if (tiers->lane != request->lane)
            look_through(&search, &tiers->fenced);
        if (++lanes == LANES_LOOKED_AT)
            break;
    }
    look_through(&search, &region->waiting);
    return search.best;
}

// -------------------------------------------------------------------------------------- the choice

// Whole pages must fit, so each block is looked at for them.
static struct sp_block *choose_here(const struct sp_request *request) {
    enum sp_region_kind kind = request->kind;
    const struct sp_tier *ready = &request->pool->regions[kind].ready;
    if (!request->own)
        return better_in_reach(request, ready, NULL);
    const struct sp_lane_tiers *own = request->lane->tiers[kind];
    if (request->unit == 1)
        return request->refine == SP_REFINE_AVOID
                   ? best_own_or_ready(request->lane, kind, request->size)
                   : choose_own_or_ready(request->lane, kind, request->size);
    struct sp_block *best = better_in_reach(request, &own->unfenced, NULL);
    best = better_in_reach(request, &own->fenced, best);
    return better_in_reach(request, ready, best);
}

static inline struct sp_block *choose_block(const struct sp_request *request) {
    struct sp_block *best = NULL;
    if (request->reach == SP_RULE_MADE_ORDERED && request->bound == SP_BOUND_HOLDS)
        best = cheapest_wait(request);
    if (best)
        return best;
    best = choose_here(request);
    return best ? best : best_of_others(request);
}

// Chooses one block, or a row of several where none is large enough. None is taken as yet.
static inline struct sp_row choose(struct sp_request *request) {
    struct sp_block *block = choose_block(request);
    if (!block && sp_row_is_possible(request) && sp_row_learn_all(request))
        block = choose_block(request); // others had the lock meanwhile
    return block ? (struct sp_row){block, block->size} : sp_row_choose(request);
}

// ------------------------------------------------------------------------------------------ taking

bool sp_find_cut(struct sp_pool *pool, struct sp_block *block, uint64_t size) {
    if (!sp_fence_set_reserve(&block->fences, 1) || !sp_owner_has_room(block->address, size))
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

// Cuts off what stands before the block's last bytes that end at a boundary of the unit: others are
// taken from the front, so these and they meet in the middle. Null without host memory.
static struct sp_block *last_units(const struct sp_request *request, struct sp_block *block) {
    uint64_t begin = sp_round_down(sp_block_end(block), request->unit) - request->size;
    if (begin == block->address)
        return block;
    struct sp_block *rest = sp_block_split(block, begin - block->address);
    sp_settle_insert(request->pool, block);
    return rest;
}

// Takes what was chosen, in one piece. Without host memory less may have joined than is asked for.
static struct sp_block *set_aside(const struct sp_request *request, struct sp_row row) {
    if (!row.first)
        return NULL;
    uint64_t size = request->unit > 1 ? row.size : request->size;
    struct sp_block *block = sp_row_join(request->pool, row, size);
    if (!sp_request_fits(request, block->address, sp_block_end(block))) {
        sp_settle_insert(request->pool, block);
        return NULL;
    }
    return request->unit > 1 ? last_units(request, block) : block;
}

struct sp_block *sp_find_aside(struct sp_request *request) {
    return set_aside(request, choose(request));
}

// The front of a block, BUSY, with room for one more fence and in the page map. What is left of it
// stays where it is. Null without host memory.
static inline struct sp_block *take_front(struct sp_pool *pool, struct sp_block *chosen,
                                          uint64_t size) {
    struct sp_block *block =
        sp_owner_has_room(chosen->address, size) ? sp_tier_take(chosen, size) : NULL;
    if (block && sp_fence_set_reserve(&block->fences, 1))
        return block;
    if (block)
        sp_settle_insert(pool, block);
    return NULL;
}

// Pages of their own region are cut from the front, too, where they can be.
static inline struct sp_block *take(struct sp_request *request, struct sp_row row) {
    struct sp_pool *pool = request->pool;
    bool is_one = row.first && row.size == row.first->size &&
                  (request->unit == 1 ||
                   (request->kind == SP_REGION_PAGES && row.first->address % request->unit == 0));
    bool own_or_ready =
        is_one && sp_request_is_own_or_ready(pool, request->own, request->kind, row.first);
    struct sp_block *block =
        is_one ? take_front(pool, row.first, request->size) : set_aside(request, row);
    if (block && is_one) {
        sp_block_set_live(block);
    } else if (block && !sp_find_cut(pool, block, request->size)) {
        sp_settle_insert(pool, block);
        block = NULL;
    }
    if (block) {
        sp_retain_note_use(pool);
        sp_request_took_locked(request, own_or_ready ? rule_of_own_or_ready(request->lane, block)
                                                     : sp_request_rule(request, &block->fences));
    }
    return block;
}

// Own or ready memory was chosen, of which an extent is to be refined first.
static inline bool is_to_refine(struct sp_request *request, struct sp_row row) {
    if (request->refine == SP_REFINE_NEVER || !row.first || row.size != row.first->size ||
        !sp_request_is_own_or_ready(request->pool, request->own, request->kind, row.first) ||
        sp_refine_due(request->pool, row.first, request->size) == 0)
        return false;
    if (request->refine == SP_REFINE_MAY)
        request->refine = SP_REFINE_DUE;
    return true;
}

// Where very much has completed, a request settles some parts of it, and later ones the rest.
// Before one is refused all is settled.
struct sp_block *sp_find_locked(struct sp_request *request) {
    uint64_t parts = sp_request_patience(request);
    while (!sp_settle_is_done(request->pool) && !sp_settle_part(request->pool) && parts-- > 0)
        sp_lock_give_way(&request->pool->lock);
    struct sp_row row = choose(request);
    return is_to_refine(request, row) ? NULL : take(request, row);
}

struct sp_block *sp_find_own_or_ready(struct sp_request *request) {
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *block = choose_here(request);
    struct sp_row row = {block, block ? block->size : 0};
    if (block)
        block = is_to_refine(request, row) ? NULL : take(request, row);
    sp_lock_release(&request->pool->lock);
    return block;
}

struct sp_block *sp_find(struct sp_request *request) {
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *block = sp_find_locked(request);
    sp_lock_release(&request->pool->lock);
    return block;
}

struct sp_block *sp_find_to_refine(const struct sp_request *request, uint64_t *extent_size) {
    struct sp_block *block = choose_here(request);
    *extent_size = block ? sp_refine_due(request->pool, block, request->size) : 0;
    return *extent_size > 0 ? block : NULL;
}

// ---------------------------------------------------------------------------------- the first look

// All that is complete is ready, as far as it may serve a request.
static bool is_settled(const struct sp_pool *pool, enum sp_region_kind kind) {
    const struct sp_region *region = &pool->regions[kind];
    bool lanes_alone = region->waiting.bytes == 0 && region->unfenced.bytes == 0;
    return sp_settle_is_done(pool) || (lanes_alone && sp_settle_is_done_by_lanes(pool));
}

// Chooses of what others have, where a look at few lanes tells, and notes that for the stream.
static struct sp_block *choose_ordered(struct sp_lane *lane, enum sp_region_kind kind,
                                       uint64_t size, unsigned int flags, enum sp_rule *rule) {
    enum { STREAMS_MOST = 16 };
    struct sp_pool *pool = lane->pool;
    struct sp_block *chosen = NULL;
    struct sp_request request;
    if (size > pool->regions[kind].lanes_most || !is_settled(pool, kind))
        return NULL;
    sp_request_open(&request, pool, lane, kind, size, flags);
    if (sp_request_reaches_lanes_before_alone(&request) && request.clock.count <= STREAMS_MOST)
        chosen = best_of_others(&request);
    if (chosen) {
        *rule = sp_request_rule(&request, &chosen->fences);
        sp_registry_note_acquired(lane->stream, &chosen->fences);
    }
    sp_request_close(&request);
    return chosen;
}

struct sp_found sp_find_first_locked(struct sp_lane *lane, uint64_t size, unsigned int flags) {
    enum sp_region_kind kind = size <= SP_SMALL_MAX ? SP_REGION_PAGES : SP_REGION_LARGE;
    bool by_address = sp_load_relaxed(&lane->by_address);
    struct sp_found found = {.rule = SP_RULE_NONE};
    if (by_address)
        sp_quick_note_contention(lane);
    sp_lock_acquire(&lane->pool->lock);
    struct sp_block *cached = sp_collect_detach_locked(lane);
    sp_collect_flush_locked(lane->pool, cached, sp_settle_insert_and_swallow);
    sp_settle_fenced(lane, kind);
    if (by_address)
        sp_settle_lanes_part(lane->pool); // what others have may be complete, and lie lower
    if (sp_load_relaxed(&lane->quick_used) == 0) {
        struct sp_block *chosen = choose_own_or_ready(lane, kind, size);
        bool refines = chosen && sp_refine_due(lane->pool, chosen, size) > 0;
        found.unfenced = !refines && lane->tiers[kind]->unfenced.bytes > 0;
        if (refines) {
            found.block = NULL; // the ladder does so first
        } else if (chosen && sp_owner_has_room(chosen->address, size)) {
            found.rule = rule_of_own_or_ready(lane, chosen);
            found.block = sp_tier_take(chosen, size); // one fence at most, so there is room
        } else if (!found.unfenced && by_address) {
            chosen = choose_ordered(lane, kind, size, flags, &found.rule);
            found.block = chosen ? take_front(lane->pool, chosen, size) : NULL;
        }
        if (found.block)
            sp_retain_note_use(lane->pool);
    }
    sp_lock_release(&lane->pool->lock);
    return found;
}

// ----------------------------------------------------------------------------- from another region

bool sp_find_other_region(const struct sp_request *request, int i, struct sp_request *other) {
    enum { OTHERS = 2 };
    static const enum sp_region_kind others[SP_REGION_COUNT][OTHERS] = {
        [SP_REGION_LARGE] = {SP_REGION_PAGES, SP_REGION_FIXED},
        [SP_REGION_PAGES] = {SP_REGION_LARGE, SP_REGION_FIXED},
    };
    if (request->kind == SP_REGION_FIXED || i == OTHERS)
        return false;
    *other = *request;
    other->kind = others[request->kind][i];
    if (request->kind == SP_REGION_PAGES)
        other->unit = sp_max(request->unit, SP_ALIGNMENT);
    return true;
}

bool sp_find_would(struct sp_request *dry) {
    struct sp_request other;
    bool found = choose_block(dry) || sp_row_choose(dry).first;
    for (int i = 0; !found && sp_find_other_region(dry, i, &other); i++)
        found = choose_block(&other) || sp_row_choose(&other).first;
    return found;
}
