#include "heap/lowest.h"

#include "base/number.h"

#include <endian.h>
#include <string.h>

enum { GROUP_UNITS = 1 << SP_GROUP_SHIFT };

static const uint64_t EACH_BYTE = UINT64_C(0x0101010101010101);

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
        if (!sp_block_is_in_tier(block))
            continue;
        if (block->size >= search->size && search->takes(search->context, block))
            return block;
        most = sp_max(most, block->size);
    }
    leaf->free[unit & (SP_LEAF_UNITS - 1)] = most > 0 ? sp_units_number(most) : 0;
    return NULL;
}

// Compares eight numbers with another one at once: for each that is at least that one the highest
// bit of its byte is set, and no other bit is. `high` has those bits, and `least` the number eight
// times.
static inline uint64_t at_least(uint64_t numbers, uint64_t least) {
    const uint64_t high = EACH_BYTE << 7;
    uint64_t low_bits = (numbers | high) - (least & ~high);
    return ((numbers & ~least) | (~(numbers ^ least) & low_bits)) & high;
}

// Returns the next unit of the leaf with a number of `least` or more, and SP_LEAF_UNITS when there
// is none before `end`. Eight units stand in a word, the first in its lowest byte.
static size_t next_in_group(const struct sp_leaf *leaf, size_t at, size_t end, uint64_t least) {
    uint64_t behind = UINT64_MAX << at % 8 * 8; // in the first word, the units from `at` on
    for (at -= at % 8; at < end; at += 8) {
        uint64_t numbers;
        memcpy(&numbers, &leaf->free[at], sizeof numbers);
        uint64_t large = at_least(le64toh(numbers), least) & behind;
        if (large)
            return at + sp_lowest_bit(large) / 8;
        behind = UINT64_MAX;
    }
    return SP_LEAF_UNITS;
}

// `unit` is the group's first.
static struct sp_block *find_in_group(struct sp_leaf *leaf, size_t unit, uint8_t least,
                                      struct sp_lowest_search *search) {
    size_t at = unit & (SP_LEAF_UNITS - 1), begin = unit - at, end = at + GROUP_UNITS;
    size_t group = at >> SP_GROUP_SHIFT;
    while ((at = next_in_group(leaf, at, end, least * EACH_BYTE)) < end) {
        struct sp_block *found = find_in_unit(leaf, begin + at, search);
        if (found || search->looks == 0)
            return found;
        at++;
    }
    uint8_t most = 0;
    for (at = group << SP_GROUP_SHIFT; at < end; at++)
        most = leaf->free[at] > most ? leaf->free[at] : most;
    leaf->free_most[group] = most;
    return NULL;
}

struct sp_block *sp_lowest_find(struct sp_chain *chain, struct sp_lowest_search *search) {
    uint8_t least = sp_units_number(search->size);
    size_t units = sp_units_count(chain);
    struct sp_block *found = NULL;
    for (size_t first = 0; first < units && !found && search->looks > 0; first += SP_LEAF_UNITS) {
        struct sp_leaf *leaf = sp_units_leaf(chain, first);
        size_t end = leaf ? sp_min(first + SP_LEAF_UNITS, units) : 0;
        for (size_t unit = first; unit < end && !found && search->looks > 0; unit += GROUP_UNITS) {
            if (leaf->free_most[(unit - first) >> SP_GROUP_SHIFT] >= least)
                found = find_in_group(leaf, unit, least, search);
        }
    }
    return found;
}
