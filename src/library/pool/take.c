// Taking free memory without mapping any: the lane's own, what is ready, what other lanes have
// within reach, and all of these side by side.
#include "base/checked.h"
#include "base/number.h"
#include "heap/rows.h"
#include "pool/collect.h"
#include "pool/keep.h"
#include "pool/lane.h"
#include "pool/request.h"
#include "pool/settle.h"

// A look for rows is at so many blocks before others that wait for the pool's lock have it.
enum { ROWS_AT_ONCE = 2048 };

// True when other lanes can have anything for the request: they can't for a non-blocking stream
// that runs after no other one. Their complete memory is ready memory once it is settled.
static bool reaches_others(const struct sp_request *request) {
    if (request->reach <= SP_RULE_COMPLETE || !request->lane)
        return request->reach > SP_RULE_COMPLETE;
    return request->reach > SP_RULE_ORDERED || request->clock.count > 0 ||
           sp_load_relaxed(&request->lane->stream->acts);
}

bool sp_block_usable(const struct sp_request *request, const struct sp_block *block) {
    const struct sp_tier *tier = block->tier;
    if (!tier || tier->state != SP_BLOCK_FREE)
        return false;
    if (tier == &request->pool->regions[request->kind].ready ||
        (request->lane && (tier == &request->lane->tiers[request->kind] ||
                           tier == &request->lane->unfenced[request->kind])))
        return true;
    return reaches_others(request) && sp_request_rule(request, &block->fences) <= request->reach;
}

// ----------------------------------------------------------------------------------- single blocks

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

// The better fit of `best` and the blocks of a tier that are within reach.
static struct sp_block *better_in_reach(const struct sp_request *request,
                                        const struct sp_tier *tier, struct sp_block *best) {
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

static uint64_t largest_of(const struct sp_tier *tier) {
    const struct sp_block *last = sp_tier_last(tier);
    return last ? last->size : 0;
}

static uint64_t largest_of_lanes(const struct sp_request *request) {
    uint64_t most = 0;
    SP_LIST_FOR_EACH(link, &request->pool->lanes.list) {
        const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
        uint64_t fenced = largest_of(&lane->tiers[request->kind]);
        uint64_t unfenced = largest_of(&lane->unfenced[request->kind]);
        most = sp_max(fenced, most);
        most = sp_max(unfenced, most);
    }
    return most;
}

// There may be thousands, which hold nothing that is large enough: then none is looked at.
static struct sp_block *best_of_all_lanes(const struct sp_request *request) {
    struct sp_region *region = &request->pool->regions[request->kind];
    struct sp_block *best = NULL;
    if (request->size > region->lanes_most)
        return NULL;
    SP_LIST_FOR_EACH(link, &request->pool->lanes.list)
        best = better_of_lane(request, SP_CONTAINER_OF(link, struct sp_lane, link), best);
    if (!best)
        region->lanes_most = largest_of_lanes(request);
    return best;
}

// Without a wait the stream has the memory of those that it runs after, and of the legacy streams.
static struct sp_block *best_of_lanes_before(const struct sp_request *request) {
    struct sp_block *best = NULL;
    for (uint32_t i = 0; i < request->clock.count; i++) {
        uint32_t slot = request->clock.entries[i].slot;
        best = better_of_lane(request, sp_lane_find(request->pool, slot), best);
    }
    SP_LIST_FOR_EACH(link, &request->pool->lanes.legacy)
        best = better_of_lane(request, SP_CONTAINER_OF(link, struct sp_lane, legacy_link), best);
    return best;
}

// The legacy stream runs after all blocking streams.
static bool reaches_lanes_before_alone(const struct sp_request *request) {
    return request->reach == SP_RULE_ORDERED && !sp_stream_is_legacy(request->lane->stream->handle);
}

// The best fit of what other lanes have within reach.
static struct sp_block *best_of_others(const struct sp_request *request) {
    if (request->reach <= SP_RULE_COMPLETE)
        return NULL;
    struct sp_block *best = reaches_lanes_before_alone(request) ? best_of_lanes_before(request)
                                                                : best_of_all_lanes(request);
    const struct sp_region *region = &request->pool->regions[request->kind];
    best = better_in_reach(request, &region->waiting, best);
    return better_in_reach(request, &region->unfenced, best);
}

// ------------------------------------------------------------------------------------ side by side

// A row of neighbouring free blocks within reach.
struct row {
    struct sp_block *first;
    uint64_t size;
};

struct row_search {
    const struct sp_request *request;
    struct row best;
};

// Among equals the row that begins with ready memory, and then the one whose first block is the
// smaller one, or the lower one.
static bool is_better(const struct row_search *search, struct row row) {
    const struct sp_block *best = search->best.first;
    const struct sp_tier *ready = &search->request->pool->regions[search->request->kind].ready;
    if (!best || row.size != search->best.size)
        return row.size < search->best.size;
    if ((row.first->tier == ready) != (best->tier == ready))
        return row.first->tier == ready;
    return row.first->size < best->size ||
           (row.first->size == best->size && row.first->address < best->address);
}

// Looks at the parts of a row of free blocks that are within reach.
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

static uint64_t bytes_of_lane(const struct sp_request *request, const struct sp_lane *lane) {
    return lane ? lane->tiers[request->kind].bytes + lane->unfenced[request->kind].bytes : 0;
}

static uint64_t bytes_of_lanes_before(const struct sp_request *request) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < request->clock.count; i++)
        sum += bytes_of_lane(request, sp_lane_find(request->pool, request->clock.entries[i].slot));
    SP_LIST_FOR_EACH(link, &request->pool->lanes.legacy)
        sum += bytes_of_lane(request, SP_CONTAINER_OF(link, struct sp_lane, legacy_link));
    return sum;
}

// True when all that can be within reach is enough, wherever it lies. Others may have very much
// that isn't, in rows that are long, so this comes before a look at any.
static bool may_have_row(const struct sp_request *request) {
    const struct sp_region *region = &request->pool->regions[request->kind];
    uint64_t sum = region->ready.bytes + bytes_of_lane(request, request->lane);
    if (sum >= request->size || !reaches_others(request))
        return sum >= request->size;
    if (!reaches_lanes_before_alone(request))
        return true;
    return sum + region->waiting.bytes + region->unfenced.bytes + bytes_of_lanes_before(request) >=
           request->size;
}

// Through all segments, or from an address in one of them on. True when it came to the end.
static bool look_through(struct sp_region *region, struct sp_rows_search *rows) {
    SP_LIST_FOR_EACH(link, &region->segments) {
        struct sp_chain *chain = &SP_CONTAINER_OF(link, struct sp_segment, link)->chain;
        if (rows->from != 0 && !sp_chain_covers(chain, rows->from))
            continue;
        if (!sp_rows_find(chain, rows))
            return false;
        rows->from = 0;
    }
    return true;
}

static struct row best_of_all_rows(const struct sp_request *request) {
    struct row_search search = {request, {NULL, UINT64_MAX}};
    struct sp_rows_search rows = {.least = request->size, .visit = look_at_row, .context = &search};
    look_through(&request->pool->regions[request->kind], &rows);
    return search.best;
}

// Where the search is cut short the next one goes on.
static struct row best_of_some_rows(struct sp_request *request) {
    struct row_search search = {request, {NULL, UINT64_MAX}};
    struct sp_region *region = &request->pool->regions[request->kind];
    struct sp_rows_search rows = {.least = request->size,
                                  .visit = look_at_row,
                                  .context = &search,
                                  .in_parts = true,
                                  .looks = request->looks,
                                  .from = region->rows_from};
    bool from_front = rows.from == 0;
    bool to_end = look_through(region, &rows);
    region->rows_from = to_end ? 0 : rows.from;
    request->looks = rows.looks;
    request->cut_short = request->cut_short || !from_front || !to_end || rows.cut;
    return search.best;
}

// Looks at rows of which nothing is known, at no more than others can wait for. True when all are
// known.
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

// Joins as many of the row's blocks into its first as it takes. Stops early without host memory, so
// the caller looks at the size again.
static struct sp_block *join_row(struct sp_pool *pool, struct row row, uint64_t size) {
    uint64_t joined = row.first->size;
    sp_tier_remove(row.first);
    while (joined < size) {
        struct sp_block *next = row.first->next;
        joined += next->size;
        sp_tier_remove(next);
        if (sp_block_absorb_next(row.first))
            continue;
        sp_settle_insert(pool, next);
        break;
    }
    return row.first;
}

static struct sp_block *row_aside(struct sp_request *request) {
    if (!may_have_row(request))
        return NULL;
    struct row row = request->thorough ? best_of_all_rows(request) : best_of_some_rows(request);
    if (!row.first)
        return NULL;
    struct sp_block *block = join_row(request->pool, row, request->size);
    if (block->size >= request->size)
        return block;
    sp_settle_insert(request->pool, block);
    return NULL;
}

static struct sp_block *best_alone(const struct sp_request *request) {
    struct sp_block *block = best_at_hand(request->lane, request->kind, request->size);
    return block ? block : best_of_others(request);
}

struct sp_block *sp_take_aside(struct sp_request *request) {
    struct sp_block *block = best_alone(request);
    if (!block && may_have_row(request) && learn_rows(request))
        block = best_alone(request);
    if (!block)
        return row_aside(request);
    sp_tier_remove(block);
    return block;
}

// ------------------------------------------------------------------------------------------ taking

// Cuts a block that was set aside. Null without host memory.
static struct sp_block *finish(const struct sp_request *request, struct sp_block *block) {
    if (!block)
        return NULL;
    if (sp_take_cut(request->pool, block, request->size)) {
        sp_keep_note_use(request->pool);
        return block;
    }
    sp_settle_insert(request->pool, block);
    return NULL;
}

// The better fit of the lane's own memory and the ready one, cut to size: what is left of it stays
// where it is. It has one fence at most, so there is room for another. BUSY; null when there is
// none.
static struct sp_block *take_at_hand(struct sp_lane *lane, enum sp_region_kind kind,
                                     uint64_t size) {
    struct sp_block *block = best_at_hand(lane, kind, size);
    if (!block || !sp_tier_take(block, size))
        return NULL;
    sp_keep_note_use(lane->pool);
    return block;
}

struct sp_block *sp_take_near_locked(struct sp_lane *lane, uint64_t size, bool *unfenced) {
    struct sp_block *cached = sp_collect_detach_locked(lane);
    sp_lock_acquire(&lane->pool->lock);
    sp_collect_file_locked(lane->pool, cached, sp_settle_insert_and_swallow);
    sp_settle_fenced(lane);
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
    struct sp_region *region = &request->pool->regions[request->kind];
    uint64_t from = region->rows_from;
    struct sp_request near = *request;
    near.reach = SP_RULE_COMPLETE;
    struct sp_block *block =
        may_have_row(&near) && learn_some_rows(&near) ? finish(&near, row_aside(&near)) : NULL;
    region->rows_from = from; // that search is another one
    return block;
}

// Where very much has completed, the request needn't wait until all of it is settled: the next one
// goes on with it, and before one is refused all is done.
struct sp_block *sp_take_locked(struct sp_request *request) {
    struct sp_block *block = take_at_hand_live(request);
    uint64_t parts = sp_request_patience(request);
    while (!block && !sp_settle_part(request->pool) && parts-- > 0) {
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

struct sp_block *sp_take(struct sp_request *request) {
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *block = sp_take_locked(request);
    sp_lock_release(&request->pool->lock);
    return block;
}

// ----------------------------------------------------------------------------- from another region

static uint64_t last_pages_at(const struct sp_block *block, uint64_t size) {
    return sp_round_down(sp_block_end(block), SP_PAGE_SIZE) - size;
}

// Cuts off what stands before the block's last `size` bytes that end at a page boundary: large
// blocks are taken from the front, so runs and they meet in the middle. Null without host memory.
static struct sp_block *last_pages(struct sp_pool *pool, struct sp_block *block, uint64_t size) {
    uint64_t begin = last_pages_at(block, size);
    if (begin == block->address)
        return block;
    struct sp_block *rest = sp_block_split(block, begin - block->address);
    sp_settle_insert(pool, block);
    return rest;
}

// The best fit, unless it holds fewer whole pages; then one that holds enough of them wherever it
// begins.
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

// Takes a large block out of another region; out of pages, whole ones.
static struct sp_block *take_large_of(const struct sp_request *request, enum sp_region_kind kind) {
    struct sp_request other = *request;
    other.kind = kind;
    if (kind == SP_REGION_PAGES)
        other.size = sp_round_up(request->size, SP_PAGE_SIZE);
    return sp_take_locked(&other);
}

struct sp_block *sp_take_from(const struct sp_request *request, enum sp_region_kind kind) {
    sp_lock_acquire(&request->pool->lock);
    struct sp_block *block = request->kind == SP_REGION_PAGES ? take_run_of(request, kind)
                                                              : take_large_of(request, kind);
    sp_lock_release(&request->pool->lock);
    return block;
}
