#include "heap/lowest.h"

#include "base/number.h"

// Returns the lowest of the blocks that begin in a unit, or null. Where all were seen in vain, the
// unit's number is that of the largest.
static struct sp_block *find_in_unit(struct sp_leaf *leaf, size_t unit,
                                     struct sp_lowest_search *search) {
    struct sp_block *block = leaf->first[unit & (SP_LEAF_UNITS - 1)];
    uint64_t most = 0;
    for (; block && sp_units_at(block->chain, block->address) == unit; block = block->next) {
        if (search->looks == 0)
            return NULL;
        search->looks--;
        if (!sp_block_is_filed(block))
            continue;
        if (block->size >= search->size && search->takes(search->context, block))
            return block;
        most = sp_max(most, block->size);
    }
    leaf->free[unit & (SP_LEAF_UNITS - 1)] = most > 0 ? sp_units_number(most) : 0;
    return NULL;
}

static struct sp_block *find_in_group(struct sp_leaf *leaf, size_t unit, size_t end, uint8_t least,
                                      struct sp_lowest_search *search) {
    size_t group = (unit & (SP_LEAF_UNITS - 1)) >> SP_GROUP_SHIFT;
    uint8_t most = 0;
    for (; unit < end; unit++) {
        uint8_t *number = &leaf->free[unit & (SP_LEAF_UNITS - 1)];
        struct sp_block *found = *number >= least ? find_in_unit(leaf, unit, search) : NULL;
        if (found || search->looks == 0)
            return found;
        most = *number > most ? *number : most;
    }
    leaf->free_most[group] = most;
    return NULL;
}

static struct sp_block *find_in_leaf(struct sp_leaf *leaf, size_t unit, size_t end, uint8_t least,
                                     struct sp_lowest_search *search) {
    enum { GROUP_UNITS = 1 << SP_GROUP_SHIFT };
    struct sp_block *found = NULL;
    for (size_t group = 0; unit < end && !found && search->looks > 0;
         group++, unit += GROUP_UNITS) {
        if (leaf->free_most[group] >= least)
            found = find_in_group(leaf, unit, sp_min(unit + GROUP_UNITS, end), least, search);
    }
    return found;
}

struct sp_block *sp_lowest_find(struct sp_chain *chain, struct sp_lowest_search *search) {
    uint8_t least = sp_units_number(search->size);
    size_t units = sp_units_count(chain);
    struct sp_block *found = NULL;
    for (size_t unit = 0; unit < units && !found && search->looks > 0; unit += SP_LEAF_UNITS) {
        struct sp_leaf *leaf = sp_units_leaf(chain, unit);
        if (leaf)
            found = find_in_leaf(leaf, unit, sp_min(unit + SP_LEAF_UNITS, units), least, search);
    }
    return found;
}
