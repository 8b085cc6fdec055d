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

// A group at a time. In the chain's first unit its first block begins.
struct sp_block *sp_units_find(const struct sp_chain *chain, uint64_t address) {
    size_t unit = sp_units_at(chain, address), group = unit >> SP_GROUP_SHIFT;
    uint64_t up_to_unit = UINT64_MAX >> (63 - unit % 64);
    for (;; group--, up_to_unit = UINT64_MAX) {
        struct sp_leaf *leaf = sp_units_leaf(chain, group << SP_GROUP_SHIFT);
        size_t in_leaf = group % SP_LEAF_GROUPS;
        uint64_t begins = leaf ? leaf->begins[in_leaf] & up_to_unit : 0;
        while (begins != 0) { // the last one may begin behind the address, in its unit
            unsigned last = 63u - (unsigned)__builtin_clzll(begins);
            struct sp_block *block = leaf->first[(in_leaf << SP_GROUP_SHIFT) + last];
            if (block->address <= address)
                return block;
            begins -= (uint64_t)1 << last;
        }
    }
}
