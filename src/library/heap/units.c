#include "heap/units.h"

#include "base/number.h"

#include <stdlib.h>
#include <string.h>

bool sp_units_open(struct sp_chain *chain) {
    chain->leaves = calloc(sp_units_leaves(chain), sizeof *chain->leaves);
    return chain->leaves != NULL;
}

void sp_units_close(struct sp_chain *chain) {
    for (size_t i = 0; chain->leaves && i < sp_units_leaves(chain); i++)
        free(chain->leaves[i]);
    free(chain->leaves);
    chain->leaves = NULL;
}

// A leaf has fewer units where the whole chain has fewer than that.
static struct sp_leaf *new_leaf(const struct sp_chain *chain) {
    size_t units = sp_min(sp_units_count(chain), SP_LEAF_UNITS);
    return calloc(1, sizeof(struct sp_leaf) + units * sizeof(struct sp_block *));
}

bool sp_units_make_leaf(struct sp_chain *chain, uint64_t address) {
    struct sp_leaf **leaf = &chain->leaves[sp_units_at(chain, address) >> SP_LEAF_SHIFT];
    if (!*leaf)
        *leaf = new_leaf(chain);
    return *leaf != NULL;
}

// The only leaf of a chain that is shorter than one becomes longer.
bool sp_units_extend(struct sp_chain *chain, uint64_t size) {
    const struct sp_chain longer = {.address = chain->address, .size = size};
    size_t units = sp_units_count(chain), leaves = sp_units_leaves(chain);
    struct sp_leaf **table = calloc(sp_units_leaves(&longer), sizeof *table);
    struct sp_leaf *only = table && units < SP_LEAF_UNITS ? new_leaf(&longer) : NULL;
    if (!table || (units < SP_LEAF_UNITS && !only)) {
        free(table);
        return false;
    }
    memcpy(table, chain->leaves, leaves * sizeof *table);
    if (only) {
        memcpy(only, chain->leaves[0], sizeof *only + units * sizeof only->first[0]);
        free(chain->leaves[0]);
        table[0] = only;
    }
    free(chain->leaves);
    chain->leaves = table;
    return true;
}

void sp_units_shrink(struct sp_chain *chain, uint64_t size) {
    const struct sp_chain shorter = {.address = chain->address, .size = size};
    size_t units = sp_units_count(&shorter);
    size_t within = units & (SP_LEAF_UNITS - 1);
    struct sp_leaf *leaf = within > 0 ? sp_units_leaf(chain, units) : NULL;
    if (leaf) {
        memset(&leaf->rows[within], 0, SP_LEAF_UNITS - within);
        memset(&leaf->free[within], 0, SP_LEAF_UNITS - within);
    }
    for (size_t i = sp_units_leaves(&shorter); i < sp_units_leaves(chain); i++) {
        free(chain->leaves[i]);
        chain->leaves[i] = NULL;
    }
}

static bool begins_behind(const struct sp_block *block, uint64_t address) {
    return !block || block->address > address;
}

struct sp_block *sp_units_find(const struct sp_chain *chain, uint64_t address) {
    size_t unit = sp_units_at(chain, address);
    while (!sp_units_leaf(chain, unit) || begins_behind(*sp_units_entry(chain, unit), address)) {
        if (!sp_units_leaf(chain, unit))
            unit &= ~(size_t)(SP_LEAF_UNITS - 1);
        unit--; // the first unit has the chain's first block
    }
    return *sp_units_entry(chain, unit);
}
