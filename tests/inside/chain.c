#include "inside/chain.h"

#include "base/number.h"
#include "heap/search.h"

// ------------------------------------------------------------------------------------------ blocks

static bool fits_neighbour(const struct sp_block *block) {
    const struct sp_block *next = block->next;
    if (!next)
        return sp_block_end(block) == block->chain->address + block->chain->size;
    return next->address == sp_block_end(block) && next->prev == block &&
           next->chain == block->chain &&
           !(sp_block_state(block) == SP_BLOCK_HOLE && sp_block_state(next) == SP_BLOCK_HOLE) &&
           !(sp_block_state(block) == SP_BLOCK_LOST && sp_block_state(next) == SP_BLOCK_LOST);
}

static bool has_right_tier(const struct sp_block *block) {
    enum sp_block_state state = sp_block_state(block);
    return (state == SP_BLOCK_FREE || state == SP_BLOCK_HOLE) == (block->tier != NULL);
}

// The table of units has the block exactly if it is the first of its unit.
static bool is_entered(const struct sp_block *block) {
    size_t unit = sp_units_at(block->chain, block->address);
    const struct sp_leaf *leaf = sp_units_leaf(block->chain, unit);
    return (leaf->first[unit % SP_LEAF_UNITS] == block) ==
           (!block->prev || sp_units_at(block->chain, block->prev->address) != unit);
}

static bool check_block(const struct sp_block *block) {
    return block->size > 0 && ((block->address | block->size) & (SP_ALIGNMENT - 1)) == 0 &&
           fits_neighbour(block) && is_entered(block) && has_right_tier(block);
}

// ---------------------------------------------------------------------------- rows and free blocks

static unsigned number_of(uint64_t size) {
    return (unsigned)sp_min(sp_block_bin(size) + 1, SP_ROWS_LARGE);
}

// Returns the number of the unit that a seam is in. The second block of the seam names it.
static unsigned number_at(const struct sp_block *second) {
    size_t unit = sp_units_at(second->chain, second->address);
    return sp_units_leaf(second->chain, unit)->rows[unit & (SP_LEAF_UNITS - 1)];
}

// A seam of the row is in a unit whose number is at least the number of the row's size.
static bool check_row(const struct sp_block *first) {
    const struct sp_block *last = first;
    unsigned most = 0;
    for (; sp_block_is_in_tier(last->next); last = last->next)
        most = (unsigned)sp_max(most, number_at(last->next));
    return last == first || most >= number_of(sp_block_end(last) - first->address);
}

// No unit has a larger number than its leaf and its group say.
static bool check_leaf(const struct sp_leaf *leaf, size_t units) {
    for (size_t i = 0; i < units; i++) {
        if (leaf->rows[i] > leaf->rows_most || leaf->free[i] > leaf->free_most[i >> SP_GROUP_SHIFT])
            return false;
    }
    return true;
}

// The number of the unit that a free block begins in is at least that of its size.
static bool check_free(const struct sp_block *block) {
    size_t unit = sp_units_at(block->chain, block->address);
    const struct sp_leaf *leaf = sp_units_leaf(block->chain, unit);
    return !sp_block_is_in_tier(block) ||
           leaf->free[unit & (SP_LEAF_UNITS - 1)] >= number_of(block->size);
}

static bool check_rows(const struct sp_chain *chain) {
    for (const struct sp_block *block = chain->first; block; block = block->next) {
        if (sp_block_is_in_tier(block) && !sp_block_is_in_tier(block->prev) && !check_row(block))
            return false;
        if (!check_free(block))
            return false;
    }
    for (size_t i = 0; i < sp_units_leaves(chain); i++) {
        size_t units = sp_units_count(chain) - (i << SP_LEAF_SHIFT);
        if (chain->leaves[i] && !check_leaf(chain->leaves[i], sp_min(units, SP_LEAF_UNITS)))
            return false;
    }
    return true;
}

bool inside_chain_check(const struct sp_chain *chain) {
    if (chain->first->address != chain->address || chain->first->prev)
        return false;
    for (const struct sp_block *block = chain->first; block; block = block->next) {
        if (!check_block(block))
            return false;
    }
    return check_rows(chain);
}
