// The page table of a process has, for each granule of the device address space, the mapping that
// lies there.
//
// It has two levels; a leaf is made when it is first needed. A granule belongs to at most one
// mapping. The address space has 47 bits, as the host's has: device addresses are reserved host
// addresses (address.h).
#ifndef STREAMPOOL_SIMCUDA_COMMON_PAGE_TABLE_H
#define STREAMPOOL_SIMCUDA_COMMON_PAGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIM_ADDRESS_BITS 47
#define SIM_LEAF_BITS    13

struct sim_mapping;

struct sim_leaf {
    size_t used; // entries that are not null
    struct sim_mapping *entry[1 << SIM_LEAF_BITS];
};

struct sim_page_table {
    unsigned shift; // log2 of the granule
    struct sim_leaf **leaves;
};

void sim_page_table_init(struct sim_page_table *table, uint64_t granule);
void sim_page_table_destroy(struct sim_page_table *table);

// Returns the mapping at an address; null where nothing is mapped, and for an address outside the
// address space.
struct sim_mapping *sim_page_table_find(const struct sim_page_table *table, uint64_t address);

// Returns whether no granule of the range has a mapping. Address and size are multiples of the
// granule.
bool sim_page_table_range_empty(const struct sim_page_table *table, uint64_t address,
                                uint64_t size);

// Enters a mapping for each granule of the range; null takes it out.
void sim_page_table_set(struct sim_page_table *table, uint64_t address, uint64_t size,
                        struct sim_mapping *mapping);

#endif
