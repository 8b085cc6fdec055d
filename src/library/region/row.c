#include "region/row.h"

#include "base/number.h"
#include "heap/search.h"
#include "region/lane.h"
#include "region/settle.h"

// A look for rows is at so many blocks before others that wait for the pool's lock have it.
enum { ROWS_AT_ONCE = 2048 };

struct row_search {
    const struct sp_request *request;
    struct sp_row best;
};

// Among equals the row that begins with ready memory, and then the one whose first block is the
// smaller one, or the lower one.
static bool is_better(const struct row_search *search, struct sp_row row) {
    const struct sp_block *best = search->best.first;
    const struct sp_tier *ready = &search->request->pool->regions[search->request->kind].ready;
    if (!best || row.size != search->best.size)
        return row.size < search->best.size;
    if ((row.first->tier == ready) != (best->tier == ready))
        return row.first->tier == ready;
    return row.first->size < best->size ||
           (row.first->size == best->size && sp_chain_rank(row.first) < sp_chain_rank(best));
}

static bool is_enough(const struct sp_request *request, struct sp_row row) {
    return row.size > 0 &&
           sp_request_fits(request, row.first->address, row.first->address + row.size);
}

// Looks at the parts of a row of free blocks that are within reach.
static void look_at_row(void *context, struct sp_block *first, struct sp_block *last) {
    struct row_search *search = context;
    struct sp_row row = {first, 0};
    for (struct sp_block *b = first;; b = b->next) {
        if (sp_request_usable(search->request, b)) {
            row.first = row.size > 0 ? row.first : b;
            row.size += b->size;
        } else {
            row.size = 0;
        }
        bool ends = b == last || !sp_request_usable(search->request, b->next);
        if (ends && is_enough(search->request, row) && is_better(search, row))
            search->best = row;
        if (b == last)
            return;
    }
}

static uint64_t bytes_of_lane(const struct sp_request *request, const struct sp_lane *lane) {
    return lane ? lane->tiers[request->kind]->fenced.bytes +
                      lane->tiers[request->kind]->unfenced.bytes
                : 0;
}

bool sp_row_is_possible(const struct sp_request *request) {
    const struct sp_region *region = &request->pool->regions[request->kind];
    uint64_t sum = region->ready.bytes + bytes_of_lane(request, request->lane);
    if (sum >= request->size || !sp_request_reaches_others(request))
        return sum >= request->size;
    if (!sp_request_reaches_lanes_before_alone(request))
        return true;
    sum += region->waiting.bytes + region->unfenced.bytes;
    for (uint32_t i = 0; i < request->clock.count; i++)
        sum += bytes_of_lane(
            request, sp_lane_find(request->pool, sp_fence_set_at(&request->clock, i)->slot));
    SP_LIST_FOR_EACH_OF(const struct sp_lane, lane, legacy_link, &request->pool->lanes.legacy)
        sum += bytes_of_lane(request, lane);
    return sum >= request->size;
}

// Through all segments, or from an address in one of them on. True when it came to the end.
static bool look_through(struct sp_region *region, struct sp_rows_search *rows) {
    SP_LIST_FOR_EACH_OF(struct sp_segment, segment, link, &region->segments) {
        if (rows->from != 0 && rows->from - segment->chain.address >= segment->chain.size)
            continue;
        if (!sp_rows_find(&segment->chain, rows))
            return false;
        rows->from = 0;
    }
    return true;
}

// A request that looks at some rows takes its turn: where that search is cut short the next one
// goes on.
struct sp_row sp_row_choose(struct sp_request *request) {
    if (!sp_row_is_possible(request))
        return (struct sp_row){NULL, 0};
    struct row_search search = {request, {NULL, UINT64_MAX}};
    struct sp_region *region = &request->pool->regions[request->kind];
    struct sp_rows_search rows = {
        .least = request->size,
        .visit = look_at_row,
        .context = &search,
        .in_parts = request->looks != SP_REQUEST_LOOKS_ALL,
        .looks = request->looks,
        .from = request->looks == SP_REQUEST_LOOKS_ALL ? 0 : region->rows_from};
    bool from_front = rows.from == 0;
    bool to_end = look_through(region, &rows);
    if (!rows.in_parts)
        return search.best;
    region->rows_from = to_end ? 0 : rows.from;
    request->looks = rows.looks;
    if (!from_front || !to_end || rows.cut)
        request->left_out |= SP_LEFT_OUT_ROWS;
    return search.best;
}

bool sp_row_learn_some(const struct sp_request *request) {
    unsigned looks = ROWS_AT_ONCE;
    struct sp_list *segments = &request->pool->regions[request->kind].segments;
    SP_LIST_FOR_EACH_OF(struct sp_segment, segment, link, segments) {
        if (!sp_rows_learn(&segment->chain, &looks))
            return false;
    }
    return true;
}

bool sp_row_learn_all(const struct sp_request *request) {
    bool gave_way = false;
    while (!sp_row_learn_some(request)) {
        sp_lock_give_way(&request->pool->lock);
        gave_way = true;
    }
    return gave_way;
}

struct sp_row sp_row_up_to(const struct sp_request *request, struct sp_block *last,
                           uint64_t less_than, unsigned *looks) {
    struct sp_row row = {NULL, 0};
    uint64_t size = 0;
    for (struct sp_block *b = last; b; b = b->prev, (*looks)--) {
        size += b->size;
        if (!sp_request_usable(request, b) || size >= less_than)
            break;
        if (size % request->unit == 0)
            row = (struct sp_row){b, size};
        if (*looks == 0)
            break;
    }
    return row;
}

struct sp_block *sp_row_join(struct sp_pool *pool, struct sp_row row, uint64_t size) {
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
