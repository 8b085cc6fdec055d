#include "tell/explain.h"

#include "base/log.h"
#include "base/options.h"
#include "base/thread.h"
#include "region/figures.h"
#include "region/segment.h"
#include "tell/name.h"
#include "tell/pinning.h"
#include "tell/shortage.h"
#include "tell/text.h"
#include "tell/walk.h"

#include <string.h>

// To its chain such a block is taken, or at home stitched.
static void add_listed(void *context, const struct sp_block *block) {
    const struct sp_request *request = context;
    bool here = sp_request_rule(request, &block->fences) <= request->reach;
    *(here ? &request->watched->listedFree : &request->watched->listedPending) += block->size;
}

static void note_lists(const struct sp_request *request) {
    struct poolMemPoolGrowth *growth = request->watched;
    *growth = (struct poolMemPoolGrowth){.remap = growth->remap,
                                         .remapExtents = growth->remapExtents,
                                         .remapMissing = growth->remapMissing};
    sp_walk_lists(request->pool, add_listed, (void *)request);
}

// ----------------------------------------------------------------------------------- what was free

// The bytes of one extent.
struct tally {
    const struct sp_request *request;
    uint64_t here, pending, unfenced;
    uint64_t cached; // in a quick list
};

static void add_piece(void *context, const struct sp_extent *extent, const struct sp_block *block,
                      uint64_t bytes) {
    struct tally *tally = context;
    unsigned part = sp_request_part(tally->request, block);
    (void)extent;
    if (part & SP_HERE)
        tally->here += bytes;
    else if (part == SP_PENDING)
        tally->pending += bytes;
    else if (part == SP_UNFENCED)
        tally->unfenced += bytes;
    else if (sp_block_state(block) == SP_BLOCK_CACHED)
        tally->cached += bytes;
}

static void add_extent(void *context, const struct sp_extent *extent) {
    struct tally *tally = context;
    struct poolMemPoolGrowth *growth = tally->request->watched;
    bool unused = tally->here + tally->pending + tally->unfenced + tally->cached == extent->size;
    uint64_t *here = unused ? &growth->freeBesidePending : &growth->freePinned;
    *(tally->here == extent->size ? &growth->freeWhole : here) += tally->here;
    *(unused ? &growth->pendingWhole : &growth->pendingPinned) += tally->pending;
    *(unused ? &growth->unfencedWhole : &growth->unfencedPinned) += tally->unfenced;
    *tally = (struct tally){.request = tally->request};
}

static void add_other_kind(void *context, const struct sp_block *block) {
    struct poolMemPoolGrowth *growth = context;
    growth->otherKinds += sp_free_extents_is_free(block) ? block->size : 0;
}

static void note_stream(const struct sp_stream *stream, CUstream *handle, uint64_t *id) {
    bool is_there = stream && !sp_load_relaxed(&stream->gone);
    *handle = is_there ? sp_stream_proper_handle(sp_stream_handle_now(stream)) : NULL;
    *id = is_there ? sp_stream_id(stream) : 0;
}

static void note_free_locked(const struct sp_request *request) {
    static const struct sp_walk_visitor tallies = {.piece = add_piece, .extent = add_extent};
    static const struct sp_walk_visitor others = {.block = add_other_kind};
    struct poolMemPoolGrowth *growth = request->watched;
    struct tally tally = {.request = request};
    unsigned own = SP_WALK_KIND(request->kind);
    struct sp_room here = {0}, pending = {0}, unfenced = {0};
    struct sp_pool *pool = request->pool;
    growth->reservedBefore = sp_load_relaxed(&pool->reserved);
    growth->used = sp_figures_used(pool);
    sp_walk_pool(pool, own, &tallies, &tally);
    sp_walk_pool(pool, SP_WALK_ALL & ~own, &others, growth);
    uint64_t told = growth->used + growth->freeWhole + growth->freePinned +
                    growth->freeBesidePending + growth->pendingWhole + growth->pendingPinned +
                    growth->unfencedWhole + growth->unfencedPinned + growth->listedFree +
                    growth->listedPending + growth->otherKinds;
    growth->slack = sp_excess(growth->reservedBefore, told);
    sp_shortage_add_room(&here, request, pool, own, SP_HERE);
    sp_shortage_add_room(&pending, request, pool, own, SP_PENDING);
    sp_shortage_add_room(&unfenced, request, pool, own, SP_UNFENCED);
    growth->largestPiece = here.largest;
    const struct sp_pinning pinning = sp_pinning_look(pool);
    growth->pinningBlocks = pinning.blocks;
    growth->pinningBytes = pinning.bytes;
    growth->largestPinning = pinning.largest;
    note_stream(pending.most, &growth->pendingStream, &growth->pendingStreamId);
    growth->pendingStreamBytes = pending.most_bytes;
    note_stream(unfenced.most, &growth->unfencedStream, &growth->unfencedStreamId);
    growth->unfencedStreamBytes = unfenced.most_bytes;
}

// -------------------------------------------------------------------------------------- the growth

// A growth that raises nothing is left with nothing mapped, and so isn't told.
static void note_growth_locked(const struct sp_request *request, const struct sp_block *first,
                               uint64_t mapped, uint64_t from_free) {
    struct poolMemPoolGrowth *growth = request->watched;
    uint64_t high = sp_load_relaxed(&request->pool->reserved_high);
    bool raises = sp_load_relaxed(&request->pool->reserved) + mapped > high;
    growth->mapped = raises ? mapped : 0;
    growth->fromFree = from_free;
    growth->extents = 0;
    const struct sp_extent *extent =
        sp_view_extent_from(&sp_segment_of(first)->view, first->address);
    for (; extent && extent->address < first->address + mapped;
         extent = sp_view_extent_next(extent))
        growth->extents++;
}

static void note_remap(const struct sp_request *request, enum poolGrowthRemap why, uint64_t extents,
                       uint64_t missing) {
    struct poolMemPoolGrowth *growth = request->watched;
    growth->remap = why;
    growth->remapExtents = extents;
    growth->remapMissing = missing;
}

void sp_explain_watch(struct sp_request *request, struct poolMemPoolGrowth *growth) {
    static const struct sp_listener listener = {.begin = note_lists,
                                                .look = note_free_locked,
                                                .growth = note_growth_locked,
                                                .remap = note_remap};
    request->listener = &listener;
    request->watched = growth;
}

void sp_explain_complete(const struct sp_request *request, bool asked_driver) {
    static const enum poolGrowthKind kinds[SP_REGION_COUNT] = {
        [SP_REGION_LARGE] = poolGrowthLarge,
        [SP_REGION_PAGES] = poolGrowthPages,
        [SP_REGION_FIXED] = poolGrowthFixed,
    };
    struct poolMemPoolGrowth *growth = request->watched;
    growth->structSize = sizeof *growth;
    growth->pool = sp_load_relaxed(&request->pool->handle);
    note_stream(request->lane->stream, &growth->stream, &growth->streamId);
    const struct sp_name name = sp_name_of(request->pool);
    memcpy(growth->poolName, name.text, sizeof growth->poolName);
    growth->kind = kinds[request->kind];
    growth->wanted = request->size;
    growth->askedDriver = asked_driver;
    growth->mayWait = (request->policies & SP_POLICY_INSERT) != 0;
    growth->cutShort = request->left_out != 0;
    growth->afterTrim = !sp_is_done(request->growth);
    growth->afterWaits = request->bound == SP_BOUND_PASSED;
    if (request->kind != SP_REGION_LARGE)
        growth->remap = poolGrowthRemapWrongKind;
    growth->cause = sp_text_cause(growth);
}

// ----------------------------------------------------------------------------------------- telling

// The pool whose growth the thread is telling.
static _Thread_local struct sp_pool *telling;

void sp_explain_growth(struct sp_pool *pool, const struct poolMemPoolGrowth *growth) {
    if (telling)
        return;
    if (sp_options()->explain_growth) {
        struct sp_text text = {.length = 0};
        sp_text_growth(&text, growth);
        sp_log_write("%s", text.buffer);
    }
    SP_UNCANCELLED;
    telling = pool;
    sp_lock_acquire(&pool->watch.telling);
    if (pool->watch.observer)
        pool->watch.observer(growth, pool->watch.user);
    sp_lock_release(&pool->watch.telling);
    telling = NULL;
}

static void set_locked(struct sp_pool *pool, poolMemPoolGrowthObserver observer, void *user) {
    pool->watch.observer = observer;
    pool->watch.user = user;
    sp_store_relaxed(&pool->watch.is_on, observer || sp_options()->explain_growth);
}

void sp_explain_init(struct sp_pool *pool) {
    set_locked(pool, NULL, NULL);
}

bool sp_explain_set(struct sp_pool *pool, poolMemPoolGrowthObserver observer, void *user) {
    if (telling && telling != pool)
        return false;
    if (!telling)
        sp_lock_acquire(&pool->watch.telling);
    set_locked(pool, observer, user);
    if (!telling)
        sp_lock_release(&pool->watch.telling);
    return true;
}
