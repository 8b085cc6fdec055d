#include "inside/check.h"

#include "base/number.h"
#include "inside/calendar.h"
#include "inside/chain.h"
#include "inside/slab.h"
#include "inside/tier.h"
#include "inside/tree.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/lane.h"
#include "region/owner.h"
#include "region/quick.h"
#include "region/stitch.h"
#include "supply/trim.h"

#include <stdio.h>

// What a walk adds up, and where it says what is wrong.
struct check {
    struct sp_pool *pool;
    char *why;
    size_t length;
    uint64_t reserved;
    uint64_t lost; // of it: of segments whose memory has ended
    uint64_t used;
    uint64_t allowed; // by the lanes' allowances
    uint64_t slabs;   // bytes
    uint64_t busy_blocks;
    uint64_t cached_blocks;
    uint32_t with_tiers, listed; // lanes, those by region
    uint64_t lent;               // bytes at home
    uint64_t borrowed;           // bytes of stitched blocks
};

#define REQUIRE(check, condition, ...)                                                             \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            snprintf((check)->why, (check)->length, __VA_ARGS__);                                  \
            return false;                                                                          \
        }                                                                                          \
    } while (0)

// A live large block is found by its address; a run's pages lead to its slab.
static bool check_live(struct check *check, const struct sp_block *block) {
    uintptr_t owner = sp_owner_of(block->address);
    if (block->is_run) {
        for (uint64_t offset = 0; offset < block->size; offset += SP_PAGE_SIZE)
            REQUIRE(check, sp_owner_slab(sp_owner_of(block->address + offset)) == block->slab,
                    "a page of the run at %#llx does not lead to its slab",
                    (unsigned long long)block->address);
        return true;
    }
    REQUIRE(check, sp_owner_block(owner) == block,
            "the page map does not lead to the live block at %#llx",
            (unsigned long long)block->address);
    REQUIRE(check, block->requested > 0 && block->requested <= block->size,
            "a live block of %llu bytes was asked for %llu", (unsigned long long)block->size,
            (unsigned long long)block->requested);
    REQUIRE(check, block->account, "the live block at %#llx is in nobody's account",
            (unsigned long long)block->address);
    check->used += block->requested;
    return true;
}

// The extent before the first one at or after an address, or null.
static const struct sp_extent *extent_before(const struct sp_view *view, uint64_t address) {
    const struct sp_extent *extent = sp_view_extent_from(view, address);
    const struct sp_tree_node *node =
        extent ? sp_tree_prev(&extent->by_address) : sp_tree_last(&view->extents);
    return node ? SP_CONTAINER_OF(node, struct sp_extent, by_address) : NULL;
}

static uint64_t end_of(const struct sp_extent *extent) {
    return extent ? extent->address + extent->size : 0;
}

static bool check_hole(struct check *check, const struct sp_view *view,
                       const struct sp_block *block) {
    const struct sp_extent *extent = sp_view_extent_from(view, block->address);
    REQUIRE(check, end_of(extent_before(view, block->address)) <= block->address,
            "an extent reaches into the hole at %#llx", (unsigned long long)block->address);
    REQUIRE(check, !extent || extent->address >= sp_block_end(block),
            "an extent is mapped in the hole at %#llx", (unsigned long long)block->address);
    return true;
}

// Memory is covered by extents without a gap.
static bool check_memory(struct check *check, const struct sp_view *view,
                         const struct sp_block *block) {
    const struct sp_extent *extent = sp_view_extent_from(view, block->address);
    uint64_t covered = end_of(extent_before(view, block->address));
    if (covered < block->address)
        covered = block->address;
    for (; extent && extent->address == covered && covered < sp_block_end(block);
         extent = sp_view_extent_next(extent))
        covered += extent->size;
    REQUIRE(check, covered >= sp_block_end(block),
            "the block at %#llx has memory that is not mapped at %#llx",
            (unsigned long long)block->address, (unsigned long long)covered);
    return true;
}

// Of a segment whose memory has ended everything is taken, or buried.
static bool check_lost(struct check *check, const struct sp_block *block) {
    enum sp_block_state state = sp_block_state(block);
    REQUIRE(check, state == SP_BLOCK_LIVE || state == SP_BLOCK_CACHED || state == SP_BLOCK_LOST,
            "the block at %#llx is free, and its memory has ended",
            (unsigned long long)block->address);
    REQUIRE(check, state != SP_BLOCK_LOST || sp_fence_set_empty(&block->fences),
            "a buried block has a fence");
    return true;
}

static bool check_backing(struct check *check, const struct sp_segment *segment,
                          const struct sp_block *block) {
    if (segment->is_lost)
        return check_lost(check, block);
    REQUIRE(check, sp_block_state(block) != SP_BLOCK_LOST,
            "the block at %#llx is buried, and its memory is there",
            (unsigned long long)block->address);
    return sp_block_state(block) == SP_BLOCK_HOLE ? check_hole(check, &segment->view, block)
                                                  : check_memory(check, &segment->view, block);
}

static bool check_block(struct check *check, const struct sp_segment *segment,
                        const struct sp_block *block) {
    enum sp_block_state state = sp_block_state(block);
    check->busy_blocks += state == SP_BLOCK_BUSY;
    check->cached_blocks += state == SP_BLOCK_CACHED;
    check->lent += state == SP_BLOCK_STITCHED ? block->size : 0;
    REQUIRE(check, state != SP_BLOCK_NONE && state != SP_BLOCK_VACANT,
            "a spare descriptor is in a chain");
    REQUIRE(check, state != SP_BLOCK_BUSY,
            "the block at %#llx is set aside while nothing is going on",
            (unsigned long long)block->address);
    return check_backing(check, segment, block) &&
           (state != SP_BLOCK_LIVE || check_live(check, block));
}

static uint64_t count_mapped(const struct sp_segment *segment) {
    uint64_t mapped = 0;
    for (const struct sp_extent *e = sp_view_extent_from(&segment->view, 0); e;
         e = sp_view_extent_next(e))
        mapped += e->size;
    for (const struct sp_block *b = segment->chain.first; b && segment->is_lost; b = b->next)
        mapped += sp_block_state(b) == SP_BLOCK_LOST ? 0 : b->size;
    return mapped;
}

static bool check_segment(struct check *check, const struct sp_segment *segment) {
    uint64_t mapped = count_mapped(segment);
    REQUIRE(check, inside_chain_check(&segment->chain), "the chain at %#llx is not in order",
            (unsigned long long)segment->chain.address);
    REQUIRE(check,
            segment->chain.address == segment->view.address &&
                segment->chain.size == segment->view.size,
            "the chain at %#llx is not the view's", (unsigned long long)segment->chain.address);
    REQUIRE(check, mapped == segment->view.mapped,
            "a view's extents are not what it says is mapped");
    REQUIRE(check, inside_tree_check(&segment->view.extents),
            "a view's tree of extents is not in order");
    check->reserved += mapped;
    check->lost += segment->is_lost ? mapped : 0;
    for (const struct sp_block *block = segment->chain.first; block; block = block->next) {
        if (!check_block(check, segment, block))
            return false;
    }
    return true;
}

static bool check_region(struct check *check, const struct sp_region *region) {
    uint64_t before = check->reserved - check->lost;
    SP_LIST_FOR_EACH(link, &region->segments) {
        if (!check_segment(check, SP_CONTAINER_OF(link, struct sp_segment, link)))
            return false;
    }
    REQUIRE(check, check->reserved - check->lost - before == region->mapped,
            "a region's views are not what it says is mapped");
    REQUIRE(check, inside_tier_check(&region->ready), "the ready tier is not in order");
    REQUIRE(check, inside_tier_check(&region->waiting), "the waiting tier is not in order");
    REQUIRE(check, inside_tier_check(&region->unfenced), "the unfenced tier is not in order");
    REQUIRE(check, inside_tier_check(&region->holes), "the index of holes is not in order");
    for (const struct sp_block *b = sp_tier_first(&region->ready); b; b = sp_tier_next(b))
        REQUIRE(check, sp_fence_set_empty(&b->fences), "a ready block has a fence");
    return true;
}

// Under a stitched block each extent's part is lent, with the block's boundaries.
static bool check_borrowed(struct check *check, const struct sp_stitch *stitch,
                           const struct sp_block *block) {
    for (size_t i = 0; i < stitch->count; i++) {
        const struct sp_run *run = &stitch->runs[i];
        uint64_t begin = sp_max(run->address, block->address);
        uint64_t end = run->address + run->size < sp_block_end(block) ? run->address + run->size
                                                                      : sp_block_end(block);
        if (begin >= end)
            continue;
        const struct sp_block *piece =
            sp_chain_find(run->chain, run->home + (begin - run->address));
        REQUIRE(check, run->valid, "a stitched block lies on an extent that was released");
        REQUIRE(check,
                sp_block_state(piece) == SP_BLOCK_STITCHED && piece->size == end - begin &&
                    piece->address == run->home + (begin - run->address),
                "the memory under the stitched block at %#llx is not lent to it",
                (unsigned long long)block->address);
        check->borrowed += piece->size;
    }
    return true;
}

static bool check_stitch(struct check *check, const struct sp_stitch *stitch) {
    uint32_t blocks = 0;
    REQUIRE(check, inside_chain_check(&stitch->segment.chain),
            "the chain of a stitched view is not in order");
    for (const struct sp_block *block = stitch->segment.chain.first; block; block = block->next) {
        enum sp_block_state state = sp_block_state(block);
        check->cached_blocks += state == SP_BLOCK_CACHED;
        REQUIRE(check,
                state == SP_BLOCK_LIVE || state == SP_BLOCK_CACHED || state == SP_BLOCK_VACANT,
                "a block of a stitched view is in no state that it can be in");
        if (state == SP_BLOCK_VACANT)
            continue;
        blocks++;
        if (!check_borrowed(check, stitch, block) ||
            (state == SP_BLOCK_LIVE && !check_live(check, block)))
            return false;
    }
    REQUIRE(check, blocks == stitch->blocks, "a stitched view counts its blocks wrongly");
    return true;
}

static bool check_stitches(struct check *check) {
    const struct sp_pool *pool = check->pool;
    uint32_t views = 0;
    size_t mappings = 0;
    SP_LIST_FOR_EACH(link, &pool->kept.views) {
        const struct sp_stitch *stitch = SP_CONTAINER_OF(link, struct sp_stitch, by_use);
        views++;
        mappings += stitch->valid_count;
        if (!check_stitch(check, stitch))
            return false;
    }
    uint32_t zombies = 0;
    SP_LIST_FOR_EACH(link, &pool->kept.zombies) {
        zombies++;
        REQUIRE(check, SP_CONTAINER_OF(link, struct sp_stitch, by_use)->blocks == 0,
                "a zombie holds a block");
    }
    REQUIRE(check, zombies == atomic_load(&pool->kept.zombie_count), "zombies are counted wrongly");
    REQUIRE(check, views == pool->kept.view_count && mappings == pool->kept.mapping_count,
            "kept views are counted wrongly");
    REQUIRE(check, check->lent == check->borrowed, "%llu bytes are lent, %llu are borrowed",
            (unsigned long long)check->lent, (unsigned long long)check->borrowed);
    return true;
}

// The last number under which something was freed on any of the shelves: a thread that frees behind
// several streams counts for its own one on the first.
static uint64_t counted_until(const struct sp_lane *lane) {
    uint64_t until = sp_load_relaxed(&lane->unfenced_sequence);
    const struct sp_lane *shelf =
        sp_lane_find(lane->pool, lane->stream->slot); // the first one, or the lane
    for (; shelf; shelf = sp_load_relaxed(&shelf->next_shelf))
        until = sp_max(until, sp_load_relaxed(&shelf->unfenced_sequence));
    return until;
}

static bool check_slab(struct check *check, const struct sp_lane *lane,
                       const struct sp_slab *slab) {
    REQUIRE(check, inside_slab_check(slab), "the slab at %#llx is not in order",
            (unsigned long long)slab->address);
    REQUIRE(check, slab->owner == lane, "a slab is in the list of another lane than its owner");
    REQUIRE(check, slab->last_sequence <= counted_until(lane),
            "a slab was freed into under a number that its lane hasn't counted");
    REQUIRE(check, sp_slab_has_free(slab) == !sp_list_empty(&slab->link),
            "a slab's free blocks and its place in the lists don't agree");
    REQUIRE(check, (slab->returned > 0) == !sp_list_empty(&slab->returned_link),
            "a slab's returned blocks and its place in the lists don't agree");
    check->slabs += sp_slab_bytes(slab);
    for (uint32_t i = 0; i < sp_slab_class(slab)->blocks; i++)
        check->used += sp_slab_is_live(slab, i) ? sp_slab_requested(slab, i) : 0;
    return true;
}

static bool check_quick(struct check *check, const struct sp_lane *lane, uint64_t *cached) {
    for (unsigned i = 0; i < SP_QUICK_BINS; i++) {
        const struct sp_quick_bin *bin = &lane->quick[i];
        REQUIRE(check, (bin->head != NULL) == ((lane->quick_used >> i & 1) != 0),
                "quick_used is wrong for a bin");
        for (const struct sp_block *b = bin->head; b; b = b->quick_next) {
            REQUIRE(check, b->size == bin->size && sp_block_state(b) == SP_BLOCK_CACHED,
                    "a quick list holds a block that is not its own");
            (*cached)++;
        }
    }
    return true;
}

static bool check_account(struct check *check, const struct sp_lane *lane) {
    uint64_t used = sp_load_relaxed(&lane->used);
    uint64_t allowance = sp_load_relaxed(&lane->allowance);
    REQUIRE(check, used <= allowance, "a lane uses %llu bytes and is allowed %llu",
            (unsigned long long)used, (unsigned long long)allowance);
    check->allowed += allowance;
    return true;
}

static bool check_lanes_tier(struct check *check, const struct sp_lane *lane,
                             const struct sp_tier *tier) {
    REQUIRE(check, inside_tier_check(tier), "a lane's tier is not in order");
    for (const struct sp_block *b = sp_tier_first(tier); b; b = sp_tier_next(b))
        REQUIRE(check,
                b->fences.count == 1 && sp_fence_set_at(&b->fences, 0)->slot == lane->stream->slot,
                "a lane's tier holds a block that is not its own");
    return true;
}

static size_t count_blocks(const struct sp_tier *tier) {
    size_t count = 0;
    for (const struct sp_block *b = sp_tier_first(tier); b; b = sp_tier_next(b))
        count++;
    return count;
}

static bool check_tiers(struct check *check, const struct sp_lane *lane,
                        const struct sp_lane_tiers *tiers) {
    REQUIRE(check, tiers->lane == lane && !sp_list_empty(&tiers->link),
            "a lane has another one's tiers");
    REQUIRE(check, inside_calendar_check(&tiers->due) == count_blocks(&tiers->fenced),
            "a lane's calendar of what is due is not in order");
    REQUIRE(check, inside_calendar_check(&tiers->covered) == count_blocks(&tiers->unfenced),
            "a lane's calendar of what is covered is not in order");
    return check_lanes_tier(check, lane, &tiers->fenced) &&
           check_lanes_tier(check, lane, &tiers->unfenced);
}

static bool has_empty_slab(const struct sp_lane *lane) {
    bool has = false;
    SP_LIST_FOR_EACH(link, &lane->owned_slabs)
        has |= SP_CONTAINER_OF(link, struct sp_slab, owned_link)->live == 0;
    return has;
}

// With a lane that is in the list the next free has nothing to do with it; and who collects finds
// there each that has something.
static bool check_is_listed(struct check *check, const struct sp_lane *lane) {
    bool is_listed = !sp_list_empty(&lane->freed_link);
    bool is_uncovered = !sp_list_empty(&lane->uncovered_link);
    REQUIRE(check,
            is_listed == !(sp_load_relaxed(&lane->looks) & SP_LOOK_COLLECTED) &&
                is_uncovered == !(sp_load_relaxed(&lane->looks) & SP_LOOK_COVERED),
            "a lane doesn't know if it is listed");
    REQUIRE(check, is_uncovered || !sp_held_back_here(lane) || sp_pool_is_deterministic(lane->pool),
            "a lane holds something back and isn't listed");
    REQUIRE(check, is_listed || (sp_load_relaxed(&lane->quick_used) == 0 && !has_empty_slab(lane)),
            "a lane has something free and isn't listed");
    check->listed += is_listed;
    return true;
}

static bool check_lane(struct check *check, const struct sp_lane *lane, uint64_t *cached) {
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        if (!sp_lane_has_tiers(lane, (enum sp_region_kind)kind))
            continue;
        check->with_tiers++;
        if (!check_tiers(check, lane, lane->tiers[kind]))
            return false;
    }
    uint32_t slabs = 0;
    SP_LIST_FOR_EACH(link, &lane->owned_slabs) {
        slabs++;
        if (!check_slab(check, lane, SP_CONTAINER_OF(link, struct sp_slab, owned_link)))
            return false;
    }
    REQUIRE(check, slabs == sp_load_relaxed(&lane->slab_count), "a lane counts its slabs wrongly");
    return check_is_listed(check, lane) && check_account(check, lane) &&
           check_quick(check, lane, cached);
}

// Further shelves have small blocks alone.
static bool check_shelves(struct check *check, const struct sp_lane *lane, uint64_t *cached) {
    const struct sp_lane *shelf = lane;
    for (; shelf; shelf = sp_load_relaxed(&shelf->next_shelf)) {
        REQUIRE(check, sp_lane_is(shelf, lane->pool, lane->stream), "a shelf is another lane's");
        REQUIRE(check,
                shelf == lane || (sp_load_relaxed(&shelf->quick_used) == 0 &&
                                  !sp_lane_has_tiers(shelf, SP_REGION_LARGE)),
                "a further shelf has large blocks");
        if (!check_lane(check, shelf, cached))
            return false;
    }
    return true;
}

static bool check_figures(struct check *check, uint64_t cached) {
    const struct sp_pool *pool = check->pool;
    REQUIRE(check, cached == check->cached_blocks,
            "%llu blocks are cached, %llu are in quick lists",
            (unsigned long long)check->cached_blocks, (unsigned long long)cached);
    REQUIRE(check, check->reserved == atomic_load(&pool->reserved),
            "reserved is %llu, the views hold %llu",
            (unsigned long long)atomic_load(&pool->reserved), (unsigned long long)check->reserved);
    REQUIRE(check, check->used == sp_figures_used(pool),
            "used is %llu, the live blocks were asked for %llu",
            (unsigned long long)sp_figures_used(pool), (unsigned long long)check->used);
    REQUIRE(check, check->allowed == sp_load_relaxed(&pool->figures.used_high),
            "lanes are allowed %llu, used_high is %llu", (unsigned long long)check->allowed,
            (unsigned long long)sp_load_relaxed(&pool->figures.used_high));
    REQUIRE(check, check->slabs == sp_load_relaxed(&pool->slabs.bytes),
            "the slabs have %llu bytes, the pool counts %llu", (unsigned long long)check->slabs,
            (unsigned long long)sp_load_relaxed(&pool->slabs.bytes));
    bool is_overflow = sp_load_relaxed(&pool->overflow_of); // whose limit the program may lower
    REQUIRE(check,
            check->used <= check->reserved && (check->reserved <= pool->limit || is_overflow),
            "used <= reserved <= limit");
    REQUIRE(check,
            sp_load_relaxed(&pool->reserved_high) >=
                check->reserved - atomic_load(&pool->residency.bytes),
            "a high figure is below the current one");
    return true;
}

static bool check_all(struct check *check) {
    uint64_t cached = 0;
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        if (!check_region(check, &check->pool->regions[kind]))
            return false;
    }
    if (!check_stitches(check))
        return false;
    SP_LIST_FOR_EACH(link, &check->pool->lanes.list) {
        if (!check_shelves(check, SP_CONTAINER_OF(link, struct sp_lane, link), &cached))
            return false;
    }
    REQUIRE(check,
            check->with_tiers == check->pool->lanes.with_tiers &&
                check->listed == sp_load_relaxed(&check->pool->lanes.freed_count),
            "the lists of lanes that have something are not in order");
    REQUIRE(check, !sp_in_flight_is_any(check->pool),
            "memory is in a thread's hands while nothing is going on");
    return check_figures(check, cached);
}

// The program stands still. The reaper, which sets aside what it works on, is kept off by the map
// lock; on a plain device it gives that back while the driver frees memory, and holds another one.
bool inside_check(poolMemPool_t handle, char *why, size_t length) {
    struct check check = {.pool = sp_handle_pool(handle), .why = why, .length = length};
    REQUIRE(&check, check.pool, "not a pool");
    const struct sp_pool *overflow = sp_load_acquire(&check.pool->overflow);
    if (overflow && !inside_check(sp_load_acquire(&overflow->handle), why, length))
        return false;
    struct sp_lock *gives = sp_trim_begin_giving(check.pool->device);
    sp_pool_begin_mapping(check.pool);
    bool in_order = check_all(&check);
    sp_pool_end_mapping(check.pool);
    sp_trim_end_giving(gives);
    return in_order;
}
