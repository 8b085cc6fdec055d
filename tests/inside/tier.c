#include "inside/tier.h"

#include <string.h>

#include "base/number.h"
#include "heap/block.h"
#include "inside/tree.h"

static struct sp_block *block_of(const struct sp_tree_node *node) {
    return SP_CONTAINER_OF(node, struct sp_block, by_size);
}

static int compare_blocks(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return sp_compare_pairs(block_of(a)->size, sp_chain_rank(block_of(a)), block_of(b)->size,
                            sp_chain_rank(block_of(b)));
}

// A search for the size and rank of a block finds the block only if it is in the bin of its
// size.
static bool check_bin(const struct sp_tier *tier, unsigned bin) {
    struct sp_tree tree = {tier->bins[bin], compare_blocks};
    if (!tree.root || !inside_tree_check(&tree))
        return false;
    for (struct sp_tree_node *node = sp_tree_first(&tree); node; node = sp_tree_next(node)) {
        const struct sp_block *block = block_of(node);
        if (block->bin != bin || sp_tier_from(tier, block->size, sp_chain_rank(block)) != block)
            return false;
    }
    return true;
}

// Checks the used bins, and that all others are empty. Some tests check a pool after each step, and
// most bins are empty, so these are compared all at once.
static bool check_used_bins(const struct sp_tier *tier) {
    struct sp_tier rest = *tier;
    for (unsigned i = 0; i < SP_TIER_BINS / 64; i++) {
        for (uint64_t used = tier->used[i]; used; used &= used - 1) {
            unsigned bin = i * 64 + sp_lowest_bit(used);
            if (!check_bin(tier, bin))
                return false;
            rest.bins[bin] = NULL;
        }
    }
    static struct sp_tree_node *const none[SP_TIER_BINS];
    return memcmp(rest.bins, none, sizeof none) == 0;
}

bool inside_tier_check(const struct sp_tier *tier) {
    uint64_t bytes = 0;
    if (!check_used_bins(tier))
        return false;
    for (const struct sp_block *block = sp_tier_first(tier); block; block = sp_tier_next(block)) {
        if (block->tier != tier || sp_block_state(block) != tier->state)
            return false;
        bytes += block->size;
    }
    return bytes == tier->bytes;
}
