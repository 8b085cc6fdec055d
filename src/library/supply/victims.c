#include "supply/victims.h"

#include "base/number.h"
#include "region/device.h"
#include "region/free_extents.h"
#include "region/settle.h"
#include "region/stitch.h"

#include <stdlib.h>

static struct sp_extent *extent_of(struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct sp_extent, by_size) : NULL;
}

static int compare_extents(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    const struct sp_extent *left = SP_CONTAINER_OF(a, struct sp_extent, by_size);
    const struct sp_extent *right = SP_CONTAINER_OF(b, struct sp_extent, by_size);
    return sp_compare_pairs(left->size, left->rank, right->size, right->rank);
}

static int compare_size(const void *key, const struct sp_tree_node *node) {
    const struct sp_extent *extent = SP_CONTAINER_OF(node, struct sp_extent, by_size);
    return sp_compare_pairs(*(const uint64_t *)key, 0, extent->size, extent->rank);
}

static uint64_t rank_in(const struct sp_block *block, const struct sp_extent *extent) {
    return extent->address + block->chain->bias;
}

static void add_to_tree(void *tree, const struct sp_block *block, struct sp_extent *extent) {
    extent->rank = rank_in(block, extent);
    sp_tree_insert(tree, &extent->by_size);
}

// ----------------------------------------------------------------------------------- setting aside

static bool push(struct sp_victims *victims, struct sp_block *block, struct sp_extent *extent) {
    if (victims->count == victims->capacity) {
        size_t capacity = victims->capacity ? victims->capacity * 2 : 64;
        struct sp_victim *list = realloc(victims->list, capacity * sizeof *list);
        if (!list)
            return false;
        victims->list = list;
        victims->capacity = capacity;
    }
    victims->list[victims->count++] = (struct sp_victim){block, extent};
    return true;
}

static bool reaches_into(const struct sp_extent *extent, const struct sp_block *block) {
    return extent && extent->address + extent->size <= sp_block_end(block);
}

// Returns the first chosen extent that lies in a block.
static struct sp_extent *chosen_in(const struct sp_block *block) {
    struct sp_extent *extent = sp_view_extent_from(&sp_segment_of(block)->view, block->address);
    while (reaches_into(extent, block) && !extent->chosen)
        extent = sp_view_extent_next(extent);
    return reaches_into(extent, block) ? extent : NULL;
}

// Cuts an extent out of a BUSY block. What stands before it goes back to the tier; what stands
// behind it is left in `rest`. False without host memory; then what is left of the block is in
// `rest`.
static bool cut_out(struct sp_pool *pool, struct sp_block *block, struct sp_extent *extent,
                    struct sp_victims *victims, struct sp_block **rest) {
    *rest = block;
    if (block->address < extent->address) {
        struct sp_block *from = sp_block_split(block, extent->address - block->address);
        if (!from)
            return false;
        sp_settle_insert(pool, block);
        *rest = block = from;
    }
    struct sp_block *behind = NULL;
    if (block->size > extent->size) {
        behind = sp_block_split(block, extent->size);
        if (!behind)
            return false;
    }
    if (push(victims, block, extent)) {
        pool->retain.leaving += extent->size;
        *rest = behind;
        return true;
    }
    if (behind)
        sp_block_absorb_next(block); // ready memory has no fences, so this needs no memory
    return false;
}

// Sets the chosen extents of one ready block aside.
static void set_aside(struct sp_pool *pool, struct sp_block *block, struct sp_victims *victims) {
    struct sp_extent *extent = chosen_in(block);
    if (!extent)
        return;
    sp_tier_remove(block);
    while (extent) {
        extent->chosen = false;
        sp_stitch_invalidate(extent);
        if (!cut_out(pool, block, extent, victims, &block))
            victims->partial = extent == victims->partial ? NULL : victims->partial;
        extent = block ? chosen_in(block) : NULL;
    }
    if (block)
        sp_settle_insert(pool, block);
}

// The blocks of a tier don't touch each other, so what set_aside puts back never merges with the
// next one.
static void set_all_aside(struct sp_pool *pool, struct sp_victims *victims) {
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        struct sp_block *block = sp_free_extents_first_ready(pool, kind);
        while (block) {
            struct sp_block *next = sp_tier_next(block);
            set_aside(pool, block, victims);
            block = next;
        }
    }
}

// Returns the last extent, by rank (heap/block.h), of the largest size that is at most `size`; null
// when all are larger.
static struct sp_extent *last_of_at_most(const struct sp_tree *extents, uint64_t size) {
    uint64_t above = size + 1;
    struct sp_tree_node *larger = sp_tree_lower_bound(extents, &above, compare_size);
    return extent_of(larger ? sp_tree_prev(larger) : sp_tree_last(extents));
}

// Chooses an extent. Returns what is still to go then.
static uint64_t choose(struct sp_victims *victims, struct sp_extent *extent, uint64_t excess) {
    extent->chosen = true;
    if (extent->size <= excess)
        return excess - extent->size;
    victims->partial = extent;
    victims->map_back = extent->size - excess;
    return 0;
}

static bool can_cut(const struct sp_pool *pool) {
    return sp_vmm_provider(&pool->device->vmm)->divides;
}

// Each time the largest extent of at most `excess` bytes; if all are larger, the smallest, or none
// where it can't be cut. Among equal ones it is the last, so that what is kept lies together.
static void choose_several(struct sp_pool *pool, uint64_t excess, bool cuts,
                           struct sp_victims *victims) {
    struct sp_tree extents;
    sp_tree_init(&extents, compare_extents);
    sp_free_extents_each_ready(pool, add_to_tree, &extents);
    while (excess > 0 && !sp_tree_empty(&extents)) {
        struct sp_extent *extent = last_of_at_most(&extents, excess);
        if (!extent && cuts)
            extent = last_of_at_most(&extents, extent_of(sp_tree_first(&extents))->size);
        if (!extent)
            break;
        sp_tree_remove(&extents, &extent->by_size);
        excess = choose(victims, extent, excess);
    }
    set_all_aside(pool, victims);
}

void sp_victims_choose_all(struct sp_pool *pool, uint64_t excess, struct sp_victims *victims) {
    choose_several(pool, excess, can_cut(pool), victims);
}

void sp_victims_choose_needed(struct sp_pool *pool, uint64_t excess, struct sp_victims *victims) {
    choose_several(pool, excess, true, victims);
    if (!can_cut(pool))
        victims->partial = NULL; // it goes whole
}

// A search for the extent that choose_several() would choose first, with no tree.
struct search {
    uint64_t excess;
    struct sp_extent *fitting;
    struct sp_extent *smallest; // of those that are larger
};

static void look_at_victim(void *context, const struct sp_block *block, struct sp_extent *extent) {
    struct search *search = context;
    extent->rank = rank_in(block, extent);
    const struct sp_extent *smallest = search->smallest;
    if (extent->size <= search->excess) {
        if (!search->fitting || compare_extents(&search->fitting->by_size, &extent->by_size) < 0)
            search->fitting = extent;
    } else if (!smallest || extent->size < smallest->size ||
               (extent->size == smallest->size && extent->rank > smallest->rank)) {
        search->smallest = extent;
    }
}

void sp_victims_choose_one(struct sp_pool *pool, uint64_t excess, struct sp_victims *victims) {
    struct search search = {excess, NULL, NULL};
    sp_free_extents_each_ready(pool, look_at_victim, &search);
    struct sp_extent *victim = search.fitting || !can_cut(pool) ? search.fitting : search.smallest;
    if (!victim)
        return;
    choose(victims, victim, excess);
    set_all_aside(pool, victims);
}
