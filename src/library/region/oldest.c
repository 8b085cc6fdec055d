#include "region/oldest.h"

#include "region/lane.h"
#include "region/settle.h"

// So many blocks of one tier are looked at, the smallest first, and so many lanes.
enum { BLOCKS_OF_TIER = 16, LANES = SP_LANES_AT_ONCE };

// A price says what it takes to have a block.
struct price {
    uint32_t waits;  // for so many streams
    uint64_t events; // that aren't known to be complete, on the one of them that has most
};

struct search {
    const struct sp_request *request;
    struct sp_block *best;
    struct price price;
};

// Up to where nothing of a stream has to be waited for.
static uint64_t passed(const struct sp_request *request, const struct sp_stream *stream) {
    uint64_t known = sp_pool_known_of(request->pool, stream);
    uint64_t ordered = sp_fence_set_number(&request->clock, stream->slot);
    return sp_max(known, ordered);
}

static struct price price_of(const struct sp_request *request, const struct sp_block *block) {
    struct price price = {0, 0};
    for (uint32_t i = 0; i < block->fences.count; i++) {
        struct sp_fence fence = *sp_fence_set_at(&block->fences, i);
        struct sp_fence_set alone = {.count = 1, .some = {fence}};
        if (sp_request_rule(request, &alone) <= SP_RULE_ORDERED)
            continue;
        uint64_t events = sp_excess(fence.sequence, passed(request, sp_stream_at(fence.slot)));
        price.waits++;
        price.events = sp_max(price.events, events);
    }
    return price;
}

static bool is_cheaper(const struct search *search, struct price price,
                       const struct sp_block *block) {
    int order =
        sp_compare_pairs(price.waits, price.events, search->price.waits, search->price.events);
    return !search->best || order < 0 || (order == 0 && block->size < search->best->size);
}

static void look_through(struct search *search, const struct sp_tier *tier) {
    struct sp_block *block =
        tier->bytes < search->request->size ? NULL : sp_tier_best_fit(tier, search->request->size);
    for (unsigned looks = 0; block && looks < BLOCKS_OF_TIER; looks++) {
        if (sp_request_usable(search->request, block)) {
            struct price price = price_of(search->request, block);
            if (is_cheaper(search, price, block)) {
                search->best = block;
                search->price = price;
            }
        }
        block = sp_tier_next(block);
    }
}

// Where there are more lanes than it looks at, those come first that were made first.
struct sp_block *sp_oldest_take_aside(const struct sp_request *request) {
    struct search search = {.request = request};
    unsigned lanes = 0;
    SP_LIST_FOR_EACH(link, &request->pool->lanes.list) {
        const struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
        if (lane != request->lane)
            look_through(&search, &lane->tiers[request->kind]);
        if (++lanes == LANES)
            break;
    }
    look_through(&search, &request->pool->regions[request->kind].waiting);
    if (search.best)
        sp_tier_remove(search.best);
    return search.best;
}
