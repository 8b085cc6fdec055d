#include "region/lost.h"

#include "base/number.h"
#include "base/page_map.h"
#include "order/context.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/segment.h"

static bool is_dropped(const struct sp_block *block) {
    return block && sp_block_state(block) == SP_BLOCK_LOST;
}

// ---------------------------------------------------------------------------------------- dropping

// The first byte of the pages that nothing lies in any more, with what is dropped before the block.
static uint64_t pages_from(const struct sp_block *block) {
    const struct sp_block *prev = block->prev;
    if (!is_dropped(prev))
        return sp_round_up(block->address, SP_PAGE_SIZE);
    uint64_t whole = sp_round_up(prev->address, SP_PAGE_SIZE);
    return sp_max(whole, sp_round_down(block->address, SP_PAGE_SIZE));
}

static uint64_t pages_until(const struct sp_block *block) {
    uint64_t end = sp_block_end(block);
    if (!is_dropped(block->next))
        return sp_round_down(end, SP_PAGE_SIZE);
    uint64_t whole = sp_round_down(sp_block_end(block->next), SP_PAGE_SIZE);
    return sp_min(whole, sp_round_up(end, SP_PAGE_SIZE));
}

static bool is_whole(const struct sp_segment *segment) {
    return is_dropped(segment->chain.first) && !segment->chain.first->next;
}

// A page that several blocks lie in is forgotten with the last of them. One that was forgotten may
// be somebody else's, so it is never touched again. Dropped blocks have no fences, so to join them
// needs no memory.
struct sp_block *sp_lost_drop(struct sp_pool *pool, struct sp_block *block) {
    struct sp_segment *segment = sp_segment_of(block);
    uint64_t from = pages_from(block), until = pages_until(block);
    segment->view.mapped -= block->size;
    sp_figures_reserved_subtract(pool, block->size);
    if (from < until)
        sp_page_map_drop(from, until - from);
    sp_fence_set_clear(&block->fences);
    sp_block_set_state(block, SP_BLOCK_LOST);
    if (is_dropped(block->next))
        sp_block_absorb_next(block);
    if (is_dropped(block->prev)) {
        block = block->prev;
        sp_block_absorb_next(block);
    }
    if (is_whole(segment))
        sp_add_relaxed(&pool->lost_whole, 1);
    return block;
}

// ------------------------------------------------------------------------------------------ losing

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
