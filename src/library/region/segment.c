#include "region/segment.h"

#include "base/number.h"
#include "base/page_map.h"
#include "order/context.h"
#include "region/device.h"
#include "region/figures.h"

#include <stdlib.h>

// Structs that are no segment: they are never given back to the system, so that a thread that looks
// at a block which isn't its own any more still finds a struct.
static struct {
    struct sp_lock lock;
    struct sp_list segments; // linked by `link`
} spare = {.segments = {&spare.segments, &spare.segments}};

static struct sp_segment *new_segment(struct sp_pool *pool, enum sp_region_kind kind) {
    sp_lock_acquire(&spare.lock);
    struct sp_list *link = sp_list_pop_front(&spare.segments);
    sp_lock_release(&spare.lock);
    struct sp_segment *segment =
        link ? SP_CONTAINER_OF(link, struct sp_segment, link) : calloc(1, sizeof *segment);
    if (!segment)
        return NULL;
    sp_list_init(&segment->link);
    segment->pool = pool;
    segment->kind = kind;
    segment->is_lost = false;
    return segment;
}

static void free_segment(struct sp_segment *segment) {
    sp_lock_acquire(&spare.lock);
    sp_list_push_front(&spare.segments, &segment->link);
    sp_lock_release(&spare.lock);
}

static uint64_t least_size(const struct sp_pool *pool) {
    return sp_round_up(SP_SEGMENT_MIN, pool->device->vmm.granule);
}

struct sp_segment *sp_segment_to_extend(const struct sp_region *region) {
    const struct sp_list *head = &region->segments;
    struct sp_segment *last = SP_LIST_AT(head->prev, head, struct sp_segment, link);
    return last && last->extends ? last : NULL;
}

// The first segment of a pool is small, but of a device's default pool and the one that the program
// made current in its place: those are what a program allocates from when it names none.
static struct sp_outcome open_segment(struct sp_segment *segment, uint64_t bytes) {
    struct sp_pool *pool = segment->pool;
    const struct sp_device *device = pool->device;
    const struct sp_region *region = &pool->regions[segment->kind];
    bool is_fixed = segment->kind == SP_REGION_FIXED;
    bool is_main = pool == device->default_pool || pool == sp_load_relaxed(&device->current);
    uint64_t size = is_fixed ? bytes : sp_max(bytes, sp_max(least_size(pool), region->mapped));
    bool is_small = sp_list_empty(&region->segments) && size <= SP_SEGMENT_SMALL && !is_main;
    struct sp_outcome outcome = sp_view_open(
        &segment->view, &pool->device->space, is_fixed || is_small ? SP_SPAN_LOW : SP_SPAN_ROOMY,
        bytes, size, (CUmemAllocationHandleType)pool->props.handleTypes,
        is_fixed || pool->props.reserved[0] ? SP_VIEW_RDMA : SP_VIEW_PLAIN);
    segment->view.access = &pool->access;
    segment->extends = !is_fixed;
    return outcome;
}

// A stream of another context of the device can't use the memory, so no request of such a stream
// gets any. What another device may use is between the program and the driver. A pool that is
// filled ahead of need has no stream yet.
static struct sp_outcome open_plain(struct sp_segment *segment, uint64_t bytes,
                                    const struct sp_stream *stream) {
    struct sp_pool *pool = segment->pool;
    CUcontext context;
    uint64_t id;
    struct sp_outcome outcome = sp_device_retain_context(pool->device, stream, &context, &id);
    if (!sp_is_done(outcome))
        return outcome;
    bool is_alien = stream && stream->device == pool->device->vmm.ordinal &&
                    !sp_stream_is_of(stream, context, id);
    if (sp_vmm_provider(&pool->device->vmm)->is_contexts_own &&
        (is_alien || sp_access_has_peers(&pool->access)))
        return sp_outcome_of(SP_NOT_SUPPORTED);
    segment->extends = false;
    return sp_view_open_plain(&segment->view, &pool->device->space, context, id, bytes);
}

struct sp_outcome sp_segment_add(struct sp_pool *pool, enum sp_region_kind kind, uint64_t bytes,
                                 const struct sp_stream *stream, struct sp_block **hole) {
    struct sp_segment *segment = new_segment(pool, kind);
    if (!segment)
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    struct sp_outcome outcome =
        hole ? open_plain(segment, bytes, stream) : open_segment(segment, bytes);
    if (sp_is_done(outcome) &&
        !sp_chain_open(&segment->chain, segment->view.address, segment->view.size)) {
        sp_view_close(&segment->view);
        outcome = sp_outcome_of(SP_NO_HOST_MEMORY);
    }
    if (!sp_is_done(outcome)) {
        free_segment(segment);
        return outcome;
    }
    sp_lock_acquire(&pool->lock);
    sp_list_push_back(&pool->regions[kind].segments, &segment->link);
    if (hole) {
        segment->chain.bias = pool->next_rank - segment->view.address; // may wrap around
        pool->next_rank += bytes;
        *hole = segment->chain.first;
    } else {
        sp_segment_insert_hole(segment->chain.first);
    }
    sp_lock_release(&pool->lock);
    return sp_outcome_done();
}

void sp_segment_note_loss(struct sp_segment *segment) {
    struct sp_plain *plain = &segment->view.plain;
    if (segment->view.provider->is_of_context && plain->base != 0)
        plain->lost = plain->lost || sp_context_is_gone(plain->context, plain->context_id);
}

// It is doubled, up to the device's memory: enough, but where memory in pieces has used it up.
struct sp_outcome sp_segment_extend(struct sp_segment *segment, uint64_t bytes) {
    const struct sp_vmm_device *device = &segment->pool->device->vmm;
    sp_lock_acquire(&segment->pool->lock);
    const struct sp_block *last = sp_chain_last(&segment->chain);
    uint64_t hole = sp_block_state(last) == SP_BLOCK_HOLE ? last->size : 0;
    sp_lock_release(&segment->pool->lock);
    uint64_t least = sp_excess(bytes, hole);
    uint64_t size = segment->view.size;
    if (least == 0)
        return sp_outcome_done();
    uint64_t doubled = sp_round_up(sp_min(2 * size, device->total_memory), device->granule);
    uint64_t wanted = sp_max(least, sp_excess(doubled, size));
    uint64_t more = sp_view_extend(&segment->view, least, wanted);
    sp_lock_acquire(&segment->pool->lock);
    struct sp_block *added = more > 0 ? sp_chain_extend(&segment->chain, more) : NULL;
    if (added)
        sp_segment_insert_hole(added);
    else if (more == 0)
        segment->extends = false;
    sp_lock_release(&segment->pool->lock);
    if (added || more == 0)
        return sp_outcome_done();
    sp_view_shrink(&segment->view, size);
    return sp_outcome_of(SP_NO_HOST_MEMORY);
}

void sp_segment_close(struct sp_segment *segment) {
    sp_segment_note_loss(segment);
    sp_chain_close(&segment->chain);
    sp_view_close(&segment->view);
    free_segment(segment);
}

// The hole at its end is cut, where that is long. Address space behind a fixed block is of no use.
void sp_segment_tidy(struct sp_segment *segment) {
    struct sp_chain *chain = &segment->chain;
    if (!sp_is_done(sp_view_unmap_stuck(&segment->view)))
        return; // it stands in a hole
    sp_lock_acquire(&segment->pool->lock);
    struct sp_block *last = sp_chain_last(chain);
    uint64_t reach = last->address - chain->address;
    uint64_t most =
        segment->kind == SP_REGION_FIXED ? reach : sp_max(least_size(segment->pool), 2 * reach);
    bool cuts = sp_block_state(last) == SP_BLOCK_HOLE && (reach == 0 || chain->size > most);
    if (cuts)
        sp_tier_remove(last);
    if (cuts && reach == 0)
        sp_list_remove(&segment->link);
    else if (cuts && (last = sp_chain_shrink(chain, chain->size - most)))
        sp_segment_insert_hole(last);
    sp_lock_release(&segment->pool->lock);
    if (cuts && reach == 0)
        sp_segment_close(segment);
    else if (cuts)
        sp_view_shrink(&segment->view, most);
}

void sp_segment_close_all(struct sp_pool *pool) {
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        struct sp_list *link;
        while ((link = sp_list_pop_front(&pool->regions[kind].segments)))
            sp_segment_close(SP_CONTAINER_OF(link, struct sp_segment, link));
    }
    sp_store_relaxed(&pool->lost, 0);
    sp_store_relaxed(&pool->lost_whole, 0);
}

// ------------------------------------------------------------------------------------- lost memory

static bool is_dropped(const struct sp_block *block) {
    return block && sp_block_state(block) == SP_BLOCK_LOST;
}

static bool is_whole(const struct sp_segment *segment) {
    return is_dropped(segment->chain.first) && !segment->chain.first->next;
}

// A page that several blocks lie in is forgotten with the last of them. One that was forgotten may
// be somebody else's, so it isn't touched again. A dropped block has no fences: joins can't fail.
struct sp_block *sp_lost_drop(struct sp_pool *pool, struct sp_block *block) {
    struct sp_segment *segment = sp_segment_of(block);
    const struct sp_block *prev = block->prev, *next = block->next;
    uint64_t begin = block->address, end = sp_block_end(block);
    uint64_t from = sp_round_up(begin, SP_PAGE_SIZE), until = sp_round_down(end, SP_PAGE_SIZE);
    if (is_dropped(prev))
        from = sp_max(sp_round_up(prev->address, SP_PAGE_SIZE), sp_round_down(begin, SP_PAGE_SIZE));
    if (is_dropped(next))
        until =
            sp_min(sp_round_down(sp_block_end(next), SP_PAGE_SIZE), sp_round_up(end, SP_PAGE_SIZE));
    segment->view.mapped -= block->size;
    sp_figures_reserved_subtract(pool, block->size);
    if (from < until)
        sp_page_map_drop(from, until - from);
    sp_fence_set_clear(&block->fences);
    sp_block_set_state(block, SP_BLOCK_LOST);
    if (is_dropped(next))
        sp_block_absorb_next(block);
    if (is_dropped(prev)) {
        block = block->prev;
        sp_block_absorb_next(block);
    }
    if (is_whole(segment))
        sp_add_relaxed(&pool->lost_whole, 1);
    return block;
}

// Closes the lost segments that have nothing live.
static void close_whole(struct sp_pool *pool) {
    struct sp_list whole = {&whole, &whole}, *next;
    sp_lock_acquire(&pool->lock);
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH_SAFE(link, &pool->regions[kind].segments) {
            const struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
            if (!segment->is_lost || !is_whole(segment))
                continue;
            sp_list_remove(link);
            sp_list_push_back(&whole, link);
            sp_subtract_relaxed(&pool->lost, 1);
        }
    }
    sp_store_relaxed(&pool->lost_whole, 0);
    sp_lock_release(&pool->lock);
    while ((next = sp_list_pop_front(&whole)))
        sp_segment_close(SP_CONTAINER_OF(next, struct sp_segment, link));
}

// Most memory of a pool is of one context, so the last answer mostly holds for the next segment. A
// block in no tier is live, or is dropped when it comes to be put into one.
void sp_lost_find(struct sp_pool *pool) {
    const struct sp_plain *asked = NULL;
    bool gone = false;
    if (!sp_vmm_provider(&pool->device->vmm)->is_of_context)
        return;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH_OF(struct sp_segment, segment, link, &pool->regions[kind].segments) {
            const struct sp_plain *plain = &segment->view.plain;
            if (!segment->view.provider->is_of_context || segment->is_lost)
                continue;
            if (!asked || plain->context != asked->context ||
                plain->context_id != asked->context_id)
                gone = sp_context_is_gone(plain->context, plain->context_id);
            asked = plain;
            if (!gone)
                continue;
            sp_lock_acquire(&pool->lock);
            sp_view_lose(&segment->view);
            segment->is_lost = true;
            pool->regions[kind].rows_from = 0; // it may lie there
            pool->regions[kind].mapped -= segment->view.mapped;
            sp_add_relaxed(&pool->lost, 1);
            for (struct sp_block *block = segment->chain.first; block; block = block->next) {
                if (!block->tier)
                    continue;
                sp_tier_remove(block);
                block = sp_lost_drop(pool, block);
            }
            sp_lock_release(&pool->lock);
        }
    }
    if (sp_load_relaxed(&pool->lost_whole) > 0)
        close_whole(pool);
}

// ------------------------------------------------------------------------------------ free extents

struct sp_free_extents sp_free_extents_between(const struct sp_block *first,
                                               const struct sp_block *last) {
    const struct sp_view *view = &sp_segment_of(first)->view;
    uint64_t begin = first->address, end = sp_block_end(last);
    const struct sp_extent *low = sp_view_extent_at(view, begin);
    const struct sp_extent *high = sp_view_extent_at(view, end - 1);
    struct sp_free_extents parts = {0};
    if (low->address < begin && low->address + low->size <= end)
        parts.tail = low->address + low->size - begin;
    if (high->address >= begin && high->address + high->size > end)
        parts.front = end - high->address;
    const struct sp_extent *extent = sp_view_extent_from(view, begin);
    for (; extent && extent->address + extent->size <= end; extent = sp_view_extent_next(extent))
        parts.whole += extent->size;
    return parts;
}

bool sp_free_extents_has_released(const struct sp_block *first, const struct sp_block *last) {
    const struct sp_view *view = &sp_segment_of(first)->view;
    const struct sp_extent *extent = sp_view_extent_at(view, first->address);
    while (extent && extent->address < sp_block_end(last) && !extent->handle_released)
        extent = sp_view_extent_next(extent);
    return extent && extent->address < sp_block_end(last);
}

void sp_free_extents_each_ready(const struct sp_pool *pool, sp_free_extents_visit *visit,
                                void *context) {
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        struct sp_block *block =
            sp_tier_best_fit(&pool->regions[kind].ready, pool->device->vmm.granule);
        for (; block; block = sp_tier_next(block)) {
            struct sp_extent *extent =
                sp_view_extent_from(&sp_segment_of(block)->view, block->address);
            for (; extent && extent->address + extent->size <= sp_block_end(block);
                 extent = sp_view_extent_next(extent))
                visit(context, block, extent);
        }
    }
}

static void add_size(void *sum, const struct sp_block *block, struct sp_extent *extent) {
    (void)block;
    *(uint64_t *)sum += extent->size;
}

uint64_t sp_free_extents_ready_bytes(const struct sp_pool *pool) {
    uint64_t sum = 0;
    sp_free_extents_each_ready(pool, add_size, &sum);
    return sum;
}
