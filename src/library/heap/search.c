#include "heap/search.h"

#include <endian.h>
#include <string.h>

// -------------------------------------------------------------------------------- the lowest block

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
    leaf->free[unit & (SP_LEAF_UNITS - 1)] = most > 0 ? sp_search_number(most) : 0;
    return NULL;
}

// Returns the next unit of the leaf with a number of at least the one that `least` has eight times,
// and SP_LEAF_UNITS when there is none before `end`. Eight units stand in a word, the first in its
// lowest byte, and are compared at once: `large` has the highest bit of the byte of each whose
// number is as large, and no other bit.
static size_t next_in_group(const struct sp_leaf *leaf, size_t at, size_t end, uint64_t least) {
    const uint64_t high = EACH_BYTE << 7;
    uint64_t behind = UINT64_MAX << at % 8 * 8; // in the first word, the units from `at` on
    for (at -= at % 8; at < end; at += 8) {
        uint64_t numbers;
        memcpy(&numbers, &leaf->free[at], sizeof numbers);
        numbers = le64toh(numbers);
        uint64_t low_bits = (numbers | high) - (least & ~high);
        uint64_t large = ((numbers & ~least) | (~(numbers ^ least) & low_bits)) & high & behind;
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
        most = leaf->free[at] > most ? leaf->free[at] : most; // eight and more at once
    leaf->free_most[group] = most;
    return NULL;
}

struct sp_block *sp_lowest_find(struct sp_chain *chain, struct sp_lowest_search *search) {
    uint8_t least = sp_search_number(search->size);
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

// -------------------------------------------------------------------------------------------- rows

// A walk goes through the units of a chain by address. It remembers the last row that it came by,
// or the part of it that it looked at.
struct walk {
    struct sp_chain *chain;
    struct sp_rows_search *search;
    uint64_t end; // of that row or part
    bool is_whole;
    uint8_t number;
    struct sp_block *behind;
};

static void count_look(struct walk *walk) {
    if (walk->search->in_parts && walk->search->looks > 0)
        walk->search->looks--;
}

static size_t unit_at(const struct sp_block *block) {
    return sp_units_at(block->chain, block->address);
}

// Returns the new number of a unit of the last row. For a part it is the number of before, if one
// was known.
static uint8_t number_after(const struct walk *walk, uint8_t before) {
    if (walk->is_whole)
        return walk->number;
    return before == SP_ROWS_UNKNOWN ? SP_ROWS_LARGE : before;
}

// Returns the last block of the row on one side of a block, as far as this walk looks.
static struct sp_block *outermost(struct walk *walk, struct sp_block *block, bool behind) {
    for (unsigned i = 0; !walk->search->in_parts || i < SP_ROWS_LONG; i++) {
        struct sp_block *next = behind ? block->next : block->prev;
        if (!sp_block_is_in_tier(next) || next->address < walk->end)
            break;
        block = next;
        count_look(walk);
    }
    return block;
}

static void walk_row(struct walk *walk, struct sp_block *boundary) {
    struct sp_block *first = outermost(walk, boundary->prev, false);
    struct sp_block *last = outermost(walk, boundary, true);
    uint64_t size = sp_block_end(last) - first->address;
    walk->is_whole = !sp_block_is_in_tier(first->prev) && !sp_block_is_in_tier(last->next);
    walk->number = walk->is_whole ? sp_search_number(size) : SP_ROWS_LARGE;
    walk->search->cut = walk->search->cut || !walk->is_whole;
    walk->end = sp_block_end(last);
    walk->behind = last->next;
    // The units between the row's first and last one have no other row.
    for (size_t unit = unit_at(first) + 1; unit < unit_at(last); unit++) {
        struct sp_leaf *leaf = sp_units_leaf(walk->chain, unit);
        uint8_t *number = leaf ? &leaf->rows[unit & (SP_LEAF_UNITS - 1)] : NULL;
        if (number)
            *number = number_after(walk, *number);
    }
    // Leaves say no less of their largest number. One that was never made has no block of the row.
    for (size_t i = unit_at(first) >> SP_LEAF_SHIFT; i <= unit_at(last) >> SP_LEAF_SHIFT; i++) {
        struct sp_leaf *leaf = walk->chain->leaves[i];
        if (leaf && leaf->rows_most < walk->number)
            leaf->rows_most = walk->number;
    }
    if (walk->search->visit && size >= walk->search->least)
        walk->search->visit(walk->search->context, first, last);
}

// Walks the rows of a unit and returns its new number.
static uint8_t walk_unit(struct walk *walk, size_t unit, uint8_t before) {
    uint8_t most = 0;
    struct sp_block *block = sp_units_leaf(walk->chain, unit)->first[unit & (SP_LEAF_UNITS - 1)];
    count_look(walk);
    while (block && unit_at(block) == unit) {
        if (block->address >= walk->end && sp_block_is_in_tier(block) &&
            sp_block_is_in_tier(block->prev)) // a boundary
            walk_row(walk, block);
        count_look(walk);
        if (block->address >= walk->end) {
            block = block->next;
            continue;
        }
        most = (uint8_t)sp_max(most, number_after(walk, before));
        block = walk->behind;
    }
    return most;
}

// Walks those units of a leaf, from one on, whose numbers are at least `least`. False when no looks
// are left before the end.
static bool walk_leaf(struct walk *walk, size_t unit, uint8_t least) {
    struct sp_leaf *leaf = sp_units_leaf(walk->chain, unit);
    size_t first = unit & ~(size_t)(SP_LEAF_UNITS - 1);
    size_t units = sp_units_count(walk->chain) - first;
    if (!leaf || leaf->rows_most < least)
        return true;
    units = sp_min(units, SP_LEAF_UNITS);
    for (size_t i = unit - first; i < units; i++) {
        if (leaf->rows[i] < least)
            continue;
        if (walk->search->in_parts && walk->search->looks == 0) {
            walk->search->from = walk->chain->address + ((uint64_t)(first + i) << SP_UNIT_SHIFT);
            return false;
        }
        leaf->rows[i] = walk_unit(walk, first + i, leaf->rows[i]);
    }
    leaf->rows_most = 0;
    for (size_t i = 0; i < units; i++)
        leaf->rows_most = leaf->rows[i] > leaf->rows_most ? leaf->rows[i] : leaf->rows_most;
    return true;
}

static bool walk_chain(struct walk *walk, uint8_t least) {
    const struct sp_chain *chain = walk->chain;
    size_t unit = walk->search->from > chain->address ? sp_units_at(chain, walk->search->from) : 0;
    bool whole = true;
    while (unit < sp_units_count(chain) && whole) {
        whole = walk_leaf(walk, unit, least);
        unit = (unit | (SP_LEAF_UNITS - 1)) + 1;
    }
    return whole;
}

bool sp_rows_find(struct sp_chain *chain, struct sp_rows_search *search) {
    struct walk walk = {.chain = chain, .search = search};
    return walk_chain(&walk, sp_search_number(search->least));
}

bool sp_rows_learn(struct sp_chain *chain, unsigned *looks) {
    struct sp_rows_search search = {.in_parts = true, .looks = *looks};
    struct walk walk = {.chain = chain, .search = &search};
    bool whole = walk_chain(&walk, SP_ROWS_UNKNOWN);
    *looks = search.looks;
    return whole;
}
