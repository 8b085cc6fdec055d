#include "simcuda/common/page_table.h"

#include "base/number.h"
#include "simcuda/common/host.h"

static const uint64_t leaf_entries = (uint64_t)1 << SIM_LEAF_BITS;

static size_t leaf_count(const struct sim_page_table *table) {
    unsigned bits = SIM_ADDRESS_BITS - table->shift;
    return (size_t)1 << (bits > SIM_LEAF_BITS ? bits - SIM_LEAF_BITS : 0);
}

void sim_page_table_init(struct sim_page_table *table, uint64_t granule) {
    table->shift = sp_log2_floor(granule);
    table->leaves = sim_allocate(leaf_count(table) * sizeof(struct sim_leaf *));
}

void sim_page_table_destroy(struct sim_page_table *table) {
    for (size_t i = 0; table->leaves && i < leaf_count(table); i++)
        sim_free(table->leaves[i]);
    sim_free(table->leaves);
    table->leaves = NULL;
}

struct sim_mapping *sim_page_table_find(const struct sim_page_table *table, uint64_t address) {
    uint64_t page = address >> table->shift;
    if (address >> SIM_ADDRESS_BITS || !table->leaves)
        return NULL;
    const struct sim_leaf *leaf = table->leaves[page >> SIM_LEAF_BITS];
    return leaf ? leaf->entry[page & (leaf_entries - 1)] : NULL;
}

bool sim_page_table_range_empty(const struct sim_page_table *table, uint64_t address,
                                uint64_t size) {
    uint64_t page = address >> table->shift;
    uint64_t end = (address + size) >> table->shift;
    while (page < end) {
        const struct sim_leaf *leaf = table->leaves[page >> SIM_LEAF_BITS];
        if (!leaf) {
            page = (page | (leaf_entries - 1)) + 1;
            continue;
        }
        if (leaf->entry[page & (leaf_entries - 1)])
            return false;
        page++;
    }
    return true;
}

static struct sim_leaf *leaf_of(struct sim_page_table *table, uint64_t page) {
    struct sim_leaf **leaf = &table->leaves[page >> SIM_LEAF_BITS];
    if (!*leaf)
        *leaf = sim_allocate(sizeof(**leaf));
    return *leaf;
}

static void drop_if_empty(struct sim_page_table *table, uint64_t page) {
    struct sim_leaf **leaf = &table->leaves[page >> SIM_LEAF_BITS];
    if ((*leaf)->used != 0)
        return;
    sim_free(*leaf);
    *leaf = NULL;
}

void sim_page_table_set(struct sim_page_table *table, uint64_t address, uint64_t size,
                        struct sim_mapping *mapping) {
    uint64_t end = (address + size) >> table->shift;
    for (uint64_t page = address >> table->shift; page < end; page++) {
        struct sim_leaf *leaf = leaf_of(table, page);
        struct sim_mapping **entry = &leaf->entry[page & (leaf_entries - 1)];
        leaf->used += (size_t)(mapping && !*entry);
        leaf->used -= (size_t)(!mapping && *entry);
        *entry = mapping;
        drop_if_empty(table, page);
    }
}
