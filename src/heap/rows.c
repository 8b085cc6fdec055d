#include "heap/rows.h"

// A walk by address through the units of a chain, and the row that it has come by last.
struct walk {
    struct sp_chain *chain;
    uint64_t least;
    sp_row_found *visit;
    void *context;
    unsigned looks; // at blocks, so far
    uint64_t end;   // of that row
    uint64_t size;
    struct sp_block *behind;
};

// Of a size that is not 0. A larger one never has a smaller number.
static uint8_t number_of(uint64_t size) {
    unsigned bin = sp_size_bin(size);
    return (uint8_t)(bin < SP_ROWS_UNKNOWN - 2 ? bin + 1 : SP_ROWS_UNKNOWN - 1);
}

static bool is_seam(const struct sp_block *block) {
    return sp_block_is_filed(block) && sp_block_is_filed(block->prev);
}

static size_t unit_at(const struct sp_block *block) {
    return sp_unit_of(block->chain, block->address);
}

// Between the units of its ends a row has the units to itself.
static void set_units_between(const struct sp_chain *chain, size_t first, size_t last, uint8_t number) {
    for (size_t unit = first + 1; unit < last; unit++) {
        if (sp_leaf_of(chain, unit))
            sp_leaf_of(chain, unit)->rows[unit & (SP_LEAF_UNITS - 1)] = number;
    }
}

// A leaf in which no block of the row begins has no number to say.
static void raise_most(const struct sp_chain *chain, size_t first, size_t last, uint8_t number) {
    for (size_t i = first >> SP_LEAF_SHIFT; i <= last >> SP_LEAF_SHIFT; i++) {
        if (chain->leaves[i] && chain->leaves[i]->rows_most < number)
            chain->leaves[i]->rows_most = number;
    }
}

static void walk_row(struct walk *walk, struct sp_block *seam) {
    struct sp_block *first = seam->prev;
    struct sp_block *last = seam;
    for (; sp_block_is_filed(first->prev); first = first->prev)
        walk->looks++;
    for (; sp_block_is_filed(last->next); last = last->next)
        walk->looks++;
    walk->end = sp_block_end(last);
    walk->size = walk->end - first->address;
    walk->behind = last->next;
    set_units_between(walk->chain, unit_at(first), unit_at(last), number_of(walk->size));
    raise_most(walk->chain, unit_at(first), unit_at(last), number_of(walk->size));
    if (walk->visit && walk->size >= walk->least)
        walk->visit(walk->context, first, last);
}

// What the unit's number is to be.
static uint8_t walk_unit(struct walk *walk, size_t unit) {
    uint64_t most = 0;
    struct sp_block *block = sp_leaf_of(walk->chain, unit)->first[unit & (SP_LEAF_UNITS - 1)];
    walk->looks++;
    while (block && unit_at(block) == unit) {
        if (block->address >= walk->end && is_seam(block))
            walk_row(walk, block);
        walk->looks++;
        if (block->address >= walk->end) {
            block = block->next;
            continue;
        }
        most = walk->size > most ? walk->size : most;
        block = walk->behind;
    }
    return most > 0 ? number_of(most) : 0;
}

static uint8_t most_of(const struct sp_leaf *leaf, size_t units) {
    uint8_t most = 0;
    for (size_t i = 0; i < units; i++)
        most = leaf->rows[i] > most ? leaf->rows[i] : most;
    return most;
}

// Walks the units of a leaf whose numbers are no smaller than `least`, as long as there are looks.
// False when there are no more.
static bool walk_leaf(struct walk *walk, size_t first, uint8_t least, unsigned looks) {
    struct sp_leaf *leaf = sp_leaf_of(walk->chain, first);
    size_t units = sp_chain_units(walk->chain) - first;
    if (!leaf || leaf->rows_most < least)
        return true;
    units = units < SP_LEAF_UNITS ? units : SP_LEAF_UNITS;
    for (size_t i = 0; i < units; i++) {
        if (leaf->rows[i] < least)
            continue;
        if (walk->looks >= looks)
            return false;
        leaf->rows[i] = walk_unit(walk, first + i);
    }
    leaf->rows_most = most_of(leaf, units);
    return true;
}

static bool walk_chain(struct walk *walk, uint8_t least, unsigned looks) {
    bool whole = true;
    for (size_t i = 0; i < sp_chain_leaves(walk->chain) && whole; i++)
        whole = walk_leaf(walk, i << SP_LEAF_SHIFT, least, looks);
    return whole;
}

void sp_rows_find(struct sp_chain *chain, uint64_t least, sp_row_found *visit, void *context) {
    struct walk walk = {.chain = chain, .least = least, .visit = visit, .context = context};
    walk_chain(&walk, number_of(least), UINT32_MAX);
}

bool sp_rows_learn(struct sp_chain *chain, unsigned *looks) {
    struct walk walk = {.chain = chain};
    bool whole = walk_chain(&walk, SP_ROWS_UNKNOWN, *looks);
    *looks = walk.looks < *looks ? *looks - walk.looks : 0;
    return whole;
}

// ------------------------------------------------------------------------------------------------ the check

static uint8_t number_at(const struct sp_chain *chain, const struct sp_block *seam) {
    size_t unit = sp_unit_of(chain, seam->address);
    return sp_leaf_of(chain, unit)->rows[unit & (SP_LEAF_UNITS - 1)];
}

static bool check_row(const struct sp_chain *chain, const struct sp_block *first) {
    const struct sp_block *last = first;
    uint8_t most = 0;
    for (; sp_block_is_filed(last->next); last = last->next) {
        uint8_t number = number_at(chain, last->next);
        most = number > most ? number : most;
    }
    return last == first || most >= number_of(sp_block_end(last) - first->address);
}

bool sp_rows_check(const struct sp_chain *chain) {
    for (const struct sp_block *block = chain->first; block; block = block->next) {
        if (sp_block_is_filed(block) && !sp_block_is_filed(block->prev) && !check_row(chain, block))
            return false;
    }
    for (size_t i = 0; i < sp_chain_leaves(chain); i++) {
        size_t units = sp_chain_units(chain) - (i << SP_LEAF_SHIFT);
        const struct sp_leaf *leaf = chain->leaves[i];
        if (leaf && most_of(leaf, units < SP_LEAF_UNITS ? units : SP_LEAF_UNITS) > leaf->rows_most)
            return false;
    }
    return true;
}
