#include "region/watch.h"

#include "base/number.h"
#include "base/options.h"
#include "region/figures.h"
#include "region/lane.h"
#include "region/room.h"
#include "region/survey.h"

static void set_on(struct sp_pool *pool) {
    sp_store_relaxed(&pool->watch.is_on, pool->watch.observer || sp_options()->explain_growth);
}

void sp_watch_init(struct sp_pool *pool) {
    pool->watch.observer = NULL;
    pool->watch.user = NULL;
    set_on(pool);
}

void sp_watch_set_locked(struct sp_pool *pool, poolMemPoolGrowthObserver observer, void *user) {
    pool->watch.observer = observer;
    pool->watch.user = user;
    set_on(pool);
}

// -------------------------------------------------------------------------- what lies in lists

// To its chain such a block is taken, or at home lent.
static void add_listed(const struct sp_request *request, struct sp_lane *lane) {
    struct poolMemPoolGrowth *growth = request->watched;
    sp_biased_lock_acquire(&lane->lock);
    for (uint32_t used = sp_load_relaxed(&lane->quick_used); used; used &= used - 1) {
        const struct sp_block *block = lane->quick[sp_lowest_bit(used)].head;
        for (; block; block = block->quick_next) {
            bool here = sp_room_is_here(request, &block->fences);
            *(here ? &growth->listedFree : &growth->listedPending) += block->size;
        }
    }
    sp_biased_lock_release(&lane->lock);
}

void sp_watch_note_lists(const struct sp_request *request) {
    struct poolMemPoolGrowth *growth = request->watched;
    *growth = (struct poolMemPoolGrowth){.remap = growth->remap,
                                         .remapExtents = growth->remapExtents,
                                         .remapMissing = growth->remapMissing};
    struct sp_lane *lane = NULL;
    while ((lane = sp_lane_next(request->pool, lane)))
        add_listed(request, lane);
}

// ----------------------------------------------------------------------------------- what was free

// The bytes of one extent.
struct tally {
    uint64_t here, pending, unfenced;
    uint64_t cached; // in a quick list
};

static void add_block(const struct sp_request *request, const struct sp_block *block,
                      uint64_t bytes, struct tally *tally) {
    unsigned part = sp_room_part(request, block);
    if (part & SP_HERE)
        tally->here += bytes;
    else if (part == SP_PENDING)
        tally->pending += bytes;
    else if (part == SP_UNFENCED)
        tally->unfenced += bytes;
    else if (sp_block_state(block) == SP_BLOCK_CACHED)
        tally->cached += bytes;
}

static void add_extent(const struct sp_request *request, const struct sp_chain *chain,
                       const struct sp_extent *extent) {
    struct poolMemPoolGrowth *growth = request->watched;
    uint64_t end = extent->address + extent->size;
    struct tally tally = {0};
    const struct sp_block *block = sp_chain_find(chain, extent->address);
    for (; block && block->address < end; block = block->next) {
        uint64_t from = sp_max(block->address, extent->address);
        uint64_t until = sp_min(sp_block_end(block), end);
        add_block(request, block, until - from, &tally);
    }
    bool unused = tally.here + tally.pending + tally.unfenced + tally.cached == extent->size;
    uint64_t *here = unused ? &growth->freeBesidePending : &growth->freePinned;
    *(tally.here == extent->size ? &growth->freeWhole : here) += tally.here;
    *(unused ? &growth->pendingWhole : &growth->pendingPinned) += tally.pending;
    *(unused ? &growth->unfencedWhole : &growth->unfencedPinned) += tally.unfenced;
}

static void add_own_kind(const struct sp_request *request) {
    SP_LIST_FOR_EACH(link, &request->pool->regions[request->kind].segments) {
        const struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
        for (const struct sp_extent *e = sp_view_extent_from(&segment->view, 0); e;
             e = sp_view_extent_next(e))
            add_extent(request, &segment->chain, e);
    }
}

static uint64_t free_in(const struct sp_chain *chain) {
    uint64_t sum = 0;
    for (const struct sp_block *block = chain->first; block; block = block->next)
        sum += sp_survey_is_free(block) ? block->size : 0;
    return sum;
}

static void add_other_kind(struct poolMemPoolGrowth *growth, const struct sp_region *region) {
    SP_LIST_FOR_EACH(link, &region->segments) {
        const struct sp_chain *chain = &SP_CONTAINER_OF(link, struct sp_segment, link)->chain;
        growth->otherKinds += free_in(chain);
    }
}

static CUstream handle_of(const struct sp_stream *stream) {
    return stream ? sp_stream_handle_now(stream) : NULL;
}

static void note_rooms(const struct sp_request *request) {
    struct poolMemPoolGrowth *growth = request->watched;
    struct sp_room rooms[SP_PART_SETS] = {0};
    sp_room_look_at_own_kind(request, rooms);
    growth->largestPiece = rooms[SP_HERE].row;
    growth->pendingStream = handle_of(rooms[SP_PENDING].most);
    growth->pendingStreamBytes = rooms[SP_PENDING].most_bytes;
    growth->unfencedStream = handle_of(rooms[SP_UNFENCED].most);
    growth->unfencedStreamBytes = rooms[SP_UNFENCED].most_bytes;
}

void sp_watch_note_free_locked(const struct sp_request *request) {
    struct poolMemPoolGrowth *growth = request->watched;
    const struct sp_pool *pool = request->pool;
    growth->reservedBefore = sp_load_relaxed(&pool->reserved);
    growth->used = sp_figures_used(pool);
    add_own_kind(request);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        if (kind != (int)request->kind)
            add_other_kind(growth, &pool->regions[kind]);
    }
    uint64_t told = growth->used + growth->freeWhole + growth->freePinned +
                    growth->freeBesidePending + growth->pendingWhole + growth->pendingPinned +
                    growth->unfencedWhole + growth->unfencedPinned + growth->listedFree +
                    growth->listedPending + growth->otherKinds;
    growth->slack = sp_excess(growth->reservedBefore, told);
    note_rooms(request);
}

// -------------------------------------------------------------------------------------- the growth

static uint64_t count_extents(const struct sp_block *first, uint64_t mapped) {
    uint64_t count = 0;
    const struct sp_extent *extent =
        sp_view_extent_from(&sp_segment_of(first)->view, first->address);
    for (; extent && extent->address < first->address + mapped;
         extent = sp_view_extent_next(extent))
        count++;
    return count;
}

// A growth that raises nothing is left with nothing mapped, and so isn't told.
void sp_watch_note_growth_locked(const struct sp_request *request, const struct sp_block *first,
                                 uint64_t mapped, uint64_t from_free) {
    struct poolMemPoolGrowth *growth = request->watched;
    uint64_t high = sp_load_relaxed(&request->pool->reserved_high);
    bool raises = sp_load_relaxed(&request->pool->reserved) + mapped > high;
    growth->mapped = raises ? mapped : 0;
    growth->extents = count_extents(first, mapped);
    growth->fromFree = from_free;
}

void sp_watch_note_remap(const struct sp_request *request, enum poolGrowthRemap why,
                         uint64_t extents, uint64_t missing) {
    struct poolMemPoolGrowth *growth = request->watched;
    growth->remap = why;
    growth->remapExtents = extents;
    growth->remapMissing = missing;
}
