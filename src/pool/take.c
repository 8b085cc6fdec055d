// Taking free memory without mapping any: the lane's own, what is ready, what other lanes have within
// reach, and all of these side by side.
#include "pool/keep.h"
#include "pool/request.h"
#include "pool/settle.h"

#include "base/checked.h"
#include "heap/rows.h"

// Who looks for rows looks at so many blocks before others that wait for the pool's lock have it.
enum { ROWS_AT_ONCE = 2048 };

// Whether other lanes can have anything for it: not for a non-blocking stream that runs after no other one. What they have that
// is complete is ready memory once it is settled.
static bool reaches_others(const struct sp_request *request) {
    if (request->reach <= SP_RULE_COMPLETE || !request->lane)
        return request->reach > SP_RULE_COMPLETE;
    return request->reach > SP_RULE_ORDERED || request->clock.count > 0 ||
           atomic_load_explicit(&request->lane->stream->acts, memory_order_relaxed);
}

bool sp_block_usable(const struct sp_request *request, const struct sp_block *block) {
    const struct sp_tier *tier = block->tier;
    if (!tier || tier->state != SP_BLOCK_FREE)
        return false;
    if (tier == &request->pool->regions[request->kind].ready ||
        (request->lane &&
         (tier == &request->lane->tiers[request->kind] || tier == &request->lane->unfenced[request->kind])))
        return true;
    return reaches_others(request) && sp_request_rule(request, &block->fences) <= request->reach;
}

// ------------------------------------------------------------------------------------------ single blocks

// The better fit of `best` and a tier's; `best` among equals.
static inline struct sp_block *better_of(struct sp_block *best, const struct sp_tier *tier, uint64_t size) {
    if (tier->bytes < size)
        return best;
    struct sp_block *fit = sp_tier_best_fit(tier, size);
    return fit && (!best || fit->size < best->size) ? fit : best;
}

// The best fit of the lane's own memory and the ready one. Among equals its own, and of that the one with no event behind it: nobody
// else can have that.
static struct sp_block *best_at_hand(const struct sp_lane *lane, enum sp_region_kind kind, uint64_t size) {
    struct sp_block *best = better_of(NULL, &lane->unfenced[kind], size);
    best = better_of(best, &lane->tiers[kind], size);
    return better_of(best, &lane->pool->regions[kind].ready, size);
}

// Any of a tier's blocks may be within reach. Of one stream's those with the lowest numbers are before all others: no rule allows a
// higher number and not a lower one.
static bool may_reach(const struct sp_request *request, const struct sp_tier *tier,
                      const struct sp_block *block) {
    struct sp_fence_set earliest = {.count = 1};
    if (!tier->calendar)
        return true;
    earliest.alone = (struct sp_fence){block->fences.alone.slot, sp_calendar_earliest(tier->calendar)};
    return sp_request_rule(request, &earliest) <= request->reach;
}

// The better fit of `best` and the blocks of a tier that are within reach.
static struct sp_block *better_in_reach(const struct sp_request *request, const struct sp_tier *tier,
                                        struct sp_block *best) {
    struct sp_block *b = sp_tier_best_fit(tier, request->size);
    if (b && !sp_block_usable(request, b) && !may_reach(request, tier, b))
        return best;
    for (; b && (!best || b->size < best->size); b = sp_tier_next(b)) {
        if (sp_block_usable(request, b))
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

static struct sp_block *best_of_all_lanes(const struct sp_request *request) {
    struct sp_block *best = NULL;
    SP_LIST_FOR_EACH(link, &request->pool->lanes)
    best = better_of_lane(request, SP_CONTAINER_OF(link, struct sp_lane, link), best);
    return best;
}

// Without a wait the stream has the memory of those that it runs after, and of the legacy streams.
static struct sp_block *best_of_lanes_before(const struct sp_request *request) {
    struct sp_block *best = NULL;
    for (uint32_t i = 0; i < request->clock.count; i++) {
        uint32_t slot = request->clock.entries[i].slot;
        best = better_of_lane(request, sp_pool_find_lane(request->pool, slot), best);
    }
    SP_LIST_FOR_EACH(link, &request->pool->legacy_lanes)
    best = better_of_lane(request, SP_CONTAINER_OF(link, struct sp_lane, legacy_link), best);
    return best;
}

// The best fit of what other lanes have within reach. The legacy stream runs after all blocking streams.
static struct sp_block *best_of_others(const struct sp_request *request) {
    if (request->reach <= SP_RULE_COMPLETE)
        return NULL;
    bool before = request->reach == SP_RULE_ORDERED && !sp_stream_is_legacy(request->lane->stream->handle);
    struct sp_block *best = before ? best_of_lanes_before(request) : best_of_all_lanes(request);
    const struct sp_region *region = &request->pool->regions[request->kind];
    best = better_in_reach(request, &region->waiting, best);
    return better_in_reach(request, &region->unfenced, best);
}

// --------------------------------------------------------------------------------------- side by side

// A row of neighbouring free blocks within reach.
struct row {
    struct sp_block *first;
    uint64_t size;
};

struct row_search {
    const struct sp_request *request;
    struct row best;
};

// Which of two tiers stands before the other one where the request looks through all: ready memory, and then lane by lane.
static bool stands_before(const struct sp_request *request, const struct sp_tier *tier,
                          const struct sp_tier *other) {
    const struct sp_region *region = &request->pool->regions[request->kind];
    if (tier == &region->ready || other == &region->ready)
        return tier == &region->ready;
    SP_LIST_FOR_EACH(link, &request->pool->lanes) {
        const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
        const struct sp_tier *of_lane[] = {&lane->tiers[request->kind], &lane->unfenced[request->kind]};
        for (int i = 0; i < 2; i++) {
            if (of_lane[i] == tier || of_lane[i] == other)
                return of_lane[i] == tier;
        }
    }
    return tier == &region->waiting; // and the other one is the region's unfenced one
}

// Among equals the row whose first block comes first.
static bool is_better(const struct row_search *search, struct row row) {
    const struct sp_block *best = search->best.first;
    if (!best || row.size != search->best.size)
        return row.size < search->best.size;
    if (row.first->tier != best->tier)
        return stands_before(search->request, row.first->tier, best->tier);
    return row.first->size < best->size ||
           (row.first->size == best->size && row.first->address < best->address);
}

// What is within reach of a row of free blocks.
static void look_at_row(void *context, struct sp_block *first, struct sp_block *last) {
    struct row_search *search = context;
    struct row row = {first, 0};
    for (struct sp_block *b = first;; b = b->next) {
        if (sp_block_usable(search->request, b)) {
            row.first = row.size > 0 ? row.first : b;
            row.size += b->size;
        } else {
            row.size = 0;
        }
        bool ends = b == last || !sp_block_usable(search->request, b->next);
        if (ends && row.size >= search->request->size && is_better(search, row))
            search->best = row;
        if (b == last)
            return;
    }
}

static struct row best_row(const struct sp_request *request) {
    struct row_search search = {request, {NULL, UINT64_MAX}};
    SP_LIST_FOR_EACH(link, &request->pool->regions[request->kind].segments) {
        struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
        sp_rows_find(&segment->chain, request->size, look_at_row, &search);
    }
    return search.best;
}

// Looks at rows of which nothing is known, at no more than others can wait for. True when all are known.
static bool learn_some_rows(const struct sp_request *request) {
    unsigned looks = ROWS_AT_ONCE;
    SP_LIST_FOR_EACH(link, &request->pool->regions[request->kind].segments) {
        if (!sp_rows_learn(&SP_CONTAINER_OF(link, struct sp_segment, link)->chain, &looks))
            return false;
    }
    return true;
}

// All of them. True when the lock was given back meanwhile.
static bool learn_rows(const struct sp_request *request) {
    bool gave_way = false;
    while (!learn_some_rows(request)) {
        sp_lock_give_way(&request->pool->lock);
        gave_way = true;
    }
    return gave_way;
}

// Joins as many of the row's blocks into its first as it takes. Stops early without host memory, so the caller looks at
// the size again.
static struct sp_block *join_row(struct sp_pool *pool, struct row row, uint64_t size) {
    uint64_t joined = row.first->size;
    sp_tier_remove(row.first);
    while (joined < size) {
        struct sp_block *next = row.first->next;
        joined += next->size;
        sp_tier_remove(next);
        if (sp_block_absorb_next(row.first))
            continue;
        sp_pool_insert(pool, next);
        break;
    }
    return row.first;
}

static struct sp_block *row_aside(const struct sp_request *request) {
    struct row row = best_row(request);
    if (!row.first)
        return NULL;
    struct sp_block *block = join_row(request->pool, row, request->size);
    if (block->size >= request->size)
        return block;
    sp_pool_insert(request->pool, block);
    return NULL;
}

static struct sp_block *best_alone(const struct sp_request *request) {
    struct sp_block *block = best_at_hand(request->lane, request->kind, request->size);
    return block ? block : best_of_others(request);
}

struct sp_block *sp_take_aside(const struct sp_request *request) {
    struct sp_block *block = best_alone(request);
    if (!block && learn_rows(request))
        block = best_alone(request);
    if (!block)
        return row_aside(request);
    sp_tier_remove(block);
    return block;
}

// ------------------------------------------------------------------------------------------------ taking

// Cuts a block that was set aside. Null without host memory.
static struct sp_block *finish(const struct sp_request *request, struct sp_block *block) {
    if (!block)
        return NULL;
    if (sp_take_cut(request->pool, block, request->size)) {
        sp_keep_note_use(request->pool);
        return block;
    }
    sp_pool_insert(request->pool, block);
    return NULL;
}

// The better fit of the lane's own memory and the ready one, cut to size: what is left of it stays where it is. It has one fence at most, so
// there is room for another. BUSY; null when there is none.
static struct sp_block *take_at_hand(struct sp_lane *lane, enum sp_region_kind kind, uint64_t size) {
    struct sp_block *block = best_at_hand(lane, kind, size);
    if (!block || !sp_tier_take(block, size))
        return NULL;
    sp_keep_note_use(lane->pool);
    return block;
}

struct sp_block *sp_take_near_locked(struct sp_lane *lane, uint64_t size, bool *unfenced) {
    struct sp_block *cached = sp_lane_detach_quick_locked(lane);
    sp_lock_acquire(&lane->pool->lock);
    sp_pool_insert_cached_locked(lane->pool, cached, sp_pool_insert_and_swallow);
    sp_lane_settle_fenced(lane);
    bool more = lane->quick_used != 0;
    struct sp_block *block = more ? NULL : take_at_hand(lane, SP_REGION_LARGE, size);
    *unfenced = lane->unfenced[SP_REGION_LARGE].bytes > 0;
    sp_lock_release(&lane->pool->lock);
    return block;
}

static struct sp_block *take_at_hand_live(const struct sp_request *request) {
    struct sp_block *block = take_at_hand(request->lane, request->kind, request->size);
    if (block)
        sp_block_set_live(block);
    return block;
}

// Several blocks side by side of the same.
static struct sp_block *take_row_at_hand(const struct sp_request *request) {
    struct sp_request near = *request;
    near.reach = SP_RULE_COMPLETE;
    return learn_some_rows(&near) ? finish(&near, row_aside(&near)) : NULL;
}

// Where very much has completed, the request needn't wait until all of it is settled: the next one goes on with it, and before one
// is refused all is done.
struct sp_block *sp_take_locked(const struct sp_request *request) {
    struct sp_block *block = take_at_hand_live(request);
    uint64_t parts = sp_request_patience(request);
    while (!block && !sp_pool_settle_part(request->pool) && parts-- > 0) {
        sp_lock_give_way(&request->pool->lock);
        block = take_at_hand_live(request);
        if (!block)
            block = take_row_at_hand(request);
    }
    return block ? block : finish(request, sp_take_aside(request));
}

struct sp_block *sp_take_ready(const struct sp_request *request) {
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *block = take_at_hand_live(request);
    sp_lock_release(&request->pool->lock);
    return block;
}

struct sp_block *sp_take(const struct sp_request *request) {
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *block = sp_take_locked(request);
    sp_lock_release(&request->pool->lock);
    return block;
}

// ------------------------------------------------------------------------------------ from another region

static uint64_t last_pages_at(const struct sp_block *block, uint64_t size) {
    return sp_round_down(sp_block_end(block), SP_PAGE_SIZE) - size;
}

// Cuts off what stands before the block's last `size` bytes that end at a page boundary: large blocks are taken from the
// front, so runs and they meet in the middle. Null without host memory.
static struct sp_block *last_pages(struct sp_pool *pool, struct sp_block *block, uint64_t size) {
    uint64_t begin = last_pages_at(block, size);
    if (begin == block->address)
        return block;
    struct sp_block *rest = sp_block_split(block, begin - block->address);
    sp_pool_insert(pool, block);
    return rest;
}

// The best fit, unless it holds fewer whole pages; then one that holds enough of them wherever it begins.
static struct sp_block *room_for_run(const struct sp_request *large) {
    struct sp_block *block = best_at_hand(large->lane, large->kind, large->size);
    if (!block || last_pages_at(block, large->size) >= block->address)
        return block;
    return best_at_hand(large->lane, large->kind, large->size + SP_PAGE_SIZE - SP_ALIGNMENT);
}

static struct sp_block *take_run_of(const struct sp_request *request, enum sp_region_kind kind) {
    struct sp_request other = *request;
    other.kind = kind;
    struct sp_block *block = room_for_run(&other);
    if (!block)
        return NULL;
    sp_tier_remove(block);
    return finish(&other, last_pages(request->pool, block, request->size));
}

// Of pages it is whole ones.
static struct sp_block *take_large_of(const struct sp_request *request, enum sp_region_kind kind) {
    struct sp_request other = *request;
    other.kind = kind;
    if (kind == SP_REGION_PAGES)
        other.size = sp_round_up(request->size, SP_PAGE_SIZE);
    return sp_take_locked(&other);
}

struct sp_block *sp_take_from(const struct sp_request *request, enum sp_region_kind kind) {
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *block =
        request->kind == SP_REGION_PAGES ? take_run_of(request, kind) : take_large_of(request, kind);
    sp_lock_release(&request->pool->lock);
    return block;
}
