#include "heap/tier.h"

#include "base/list.h"

static struct sp_block *block_of(const struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct sp_block, by_size) : NULL;
}

static int compare(uint64_t size_a, uint64_t address_a, uint64_t size_b, uint64_t address_b) {
    if (size_a != size_b)
        return size_a < size_b ? -1 : 1;
    return address_a < address_b ? -1 : address_a > address_b;
}

static int compare_blocks(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return compare(block_of(a)->size, block_of(a)->address, block_of(b)->size, block_of(b)->address);
}

static int compare_size(const void *key, const struct sp_tree_node *node) {
    return compare(*(const uint64_t *)key, 0, block_of(node)->size, block_of(node)->address);
}

void sp_tier_init(struct sp_tier *tier, enum sp_block_state state) {
    sp_tree_init(&tier->by_size, compare_blocks);
    tier->bytes = 0;
    tier->state = state;
}

static void add(struct sp_tier *tier, struct sp_block *block) {
    block->tier = tier;
    sp_block_set_state(block, tier->state);
    sp_tree_insert(&tier->by_size, &block->by_size);
    tier->bytes += block->size;
}

void sp_tier_remove(struct sp_block *block) {
    struct sp_tier *tier = block->tier;
    sp_tree_remove(&tier->by_size, &block->by_size);
    tier->bytes -= block->size;
    block->tier = NULL;
    sp_block_set_state(block, SP_BLOCK_BUSY);
}

// Merges a block with its next neighbour, both in the tier's memory but in no index, if fences allow.
static bool merge_next(struct sp_tier *tier, struct sp_block *block) {
    struct sp_block *next = block->next;
    if (!next || next->tier != tier)
        return false;
    sp_tier_remove(next);
    if (sp_block_absorb_next(block))
        return true;
    add(tier, next);
    return false;
}

struct sp_block *sp_tier_insert(struct sp_tier *tier, struct sp_block *block) {
    merge_next(tier, block);
    struct sp_block *prev = block->prev;
    if (prev && prev->tier == tier) {
        sp_tier_remove(prev);
        if (sp_block_absorb_next(prev))
            block = prev;
        else
            add(tier, prev);
    }
    add(tier, block);
    return block;
}

struct sp_block *sp_tier_best_fit(const struct sp_tier *tier, uint64_t size) {
    return block_of(sp_tree_lower_bound(&tier->by_size, &size, compare_size));
}

struct sp_block *sp_tier_first(const struct sp_tier *tier) {
    return block_of(sp_tree_first(&tier->by_size));
}

struct sp_block *sp_tier_next(const struct sp_block *block) {
    return block_of(sp_tree_next(&block->by_size));
}

bool sp_tier_check(const struct sp_tier *tier) {
    uint64_t bytes = 0;
    if (!sp_tree_check(&tier->by_size))
        return false;
    for (const struct sp_block *block = sp_tier_first(tier); block; block = sp_tier_next(block)) {
        if (block->tier != tier || sp_block_state(block) != tier->state)
            return false;
        bytes += block->size;
    }
    return bytes == tier->bytes;
}
