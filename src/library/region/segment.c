#include "region/segment.h"

#include "base/number.h"
#include "order/context.h"
#include "region/device.h"

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

static struct sp_tier *holes_of(const struct sp_segment *segment) {
    return &segment->pool->regions[segment->kind].holes;
}

struct sp_segment *sp_segment_to_extend(const struct sp_region *region) {
    const struct sp_list *head = &region->segments;
    struct sp_segment *last = SP_LIST_AT(head->prev, head, struct sp_segment, link);
    return last && last->extends ? last : NULL;
}

// ---------------------------------------------------------------------------------- a segment more

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
        is_fixed ? SP_VIEW_RDMA : SP_VIEW_PLAIN);
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
    struct sp_outcome outcome =
        sp_context_retain_primary(&pool->device->primary, pool->device->vmm.ordinal, &context, &id);
    if (!sp_is_done(outcome))
        return outcome;
    bool is_alien = stream && stream->device == pool->device->vmm.ordinal &&
                    !sp_stream_is_of(stream, context, id);
    if (is_alien || sp_access_has_peers(&pool->access))
        return sp_outcome_of(SP_NOT_SUPPORTED);
    segment->extends = false;
    return sp_view_open_plain(&segment->view, &pool->device->space, context, id, bytes);
}

// Makes a segment, of a plain device where the caller wants its `hole`, for a stream or none.
static struct sp_outcome add(struct sp_pool *pool, enum sp_region_kind kind, uint64_t bytes,
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
        sp_tier_insert(holes_of(segment), segment->chain.first);
    }
    sp_lock_release(&pool->lock);
    return sp_outcome_done();
}

struct sp_outcome sp_segment_add(struct sp_pool *pool, enum sp_region_kind kind, uint64_t bytes) {
    return add(pool, kind, bytes, NULL, NULL);
}

struct sp_outcome sp_segment_add_plain(struct sp_pool *pool, enum sp_region_kind kind,
                                       uint64_t bytes, const struct sp_stream *stream,
                                       struct sp_block **hole) {
    return add(pool, kind, bytes, stream, hole);
}

void sp_segment_note_loss(struct sp_segment *segment) {
    struct sp_plain *plain = &segment->view.plain;
    if (segment->view.provider->is_of_context && plain->base != 0)
        plain->lost = plain->lost || sp_context_is_gone(plain->context, plain->context_id);
}

// ---------------------------------------------------------------------- longer

// It is doubled, up to the device's memory. That is enough, but where memory in pieces has used it
// up.
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
        sp_tier_insert(holes_of(segment), added);
    else if (more == 0)
        segment->extends = false;
    sp_lock_release(&segment->pool->lock);
    if (added || more == 0)
        return sp_outcome_done();
    sp_view_shrink(&segment->view, size);
    return sp_outcome_of(SP_NO_HOST_MEMORY);
}

// ----------------------------------------------------------------------------------------- shorter

// Cuts the hole at the segment's end. Returns the size that is left, 0 when it has nothing else:
// then it is in no list. Address space behind a fixed block is of no use.
static uint64_t cut_locked(struct sp_segment *segment) {
    struct sp_chain *chain = &segment->chain;
    struct sp_block *last = sp_chain_last(chain);
    uint64_t reach = last->address - chain->address;
    uint64_t most =
        segment->kind == SP_REGION_FIXED ? reach : sp_max(least_size(segment->pool), 2 * reach);
    if (sp_block_state(last) != SP_BLOCK_HOLE || (reach > 0 && chain->size <= most))
        return chain->size;
    sp_tier_remove(last);
    if (reach == 0) {
        sp_list_remove(&segment->link);
        return 0;
    }
    last = sp_chain_shrink(chain, chain->size - most);
    if (last)
        sp_tier_insert(holes_of(segment), last);
    return most;
}

void sp_segment_close(struct sp_segment *segment) {
    sp_segment_note_loss(segment);
    sp_chain_close(&segment->chain);
    sp_view_close(&segment->view);
    free_segment(segment);
}

void sp_segment_tidy(struct sp_segment *segment) {
    if (!sp_is_done(sp_view_unmap_stuck(&segment->view)))
        return; // it stands in a hole
    sp_lock_acquire(&segment->pool->lock);
    uint64_t left = cut_locked(segment);
    sp_lock_release(&segment->pool->lock);
    if (left == 0)
        sp_segment_close(segment);
    else if (left < segment->view.size)
        sp_view_shrink(&segment->view, left);
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
