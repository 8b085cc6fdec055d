// A heap on host memory: a book as the plan writes it, and slabs that the test admits and closes.
#ifndef STREAMPOOL_TESTS_HEAP_BED_H
#define STREAMPOOL_TESTS_HEAP_BED_H

#include <stdbool.h>
#include <stddef.h>

#include "heap/warps.h" // before any of the device code

#include "devheap/plan.h"

struct bed {
    struct sp_heap_plan plan;
    struct ph_book *book;
    struct pool_heap heap;
    char *memory; // begins at a multiple of 2 MiB
    uint64_t memory_bytes;
};

#define BED_KIB(n) ((uint64_t)(n) << 10)
#define BED_MIB(n) ((uint64_t)(n) << 20)
#define BED_GIB(n) ((uint64_t)(n) << 30)

// A heap that may hold so many bytes. It has no slab, but addresses for `slabs` of them.
void bed_open(struct bed *bed, uint64_t bytes_max, uint32_t slabs);

// The same with as many slabs admitted, side by side, the first `skew` bytes behind a multiple of
// their size.
void bed_open_full(struct bed *bed, uint64_t bytes_max, uint32_t slabs, uint64_t skew);
void bed_shut(struct bed *bed);

// Admits slabs side by side from an offset in the memory on, and says which lie side by side.
void bed_admit(const struct bed *bed, uint32_t first, uint32_t count, uint64_t offset);

uint64_t bed_slab_bytes(const struct bed *bed);

// Slabs that have this tag.
uint32_t bed_count(const struct bed *bed, uint32_t tag);

// Blocks of a class that are taken, by the slabs' states.
uint64_t bed_taken(const struct bed *bed, uint32_t cls);

// When no call runs, all of the book agrees (check.c says how). The test fails where it doesn't.
void bed_check(const struct bed *bed);

// ... and all slabs that were admitted, so many, are free.
void bed_check_empty(const struct bed *bed, uint32_t slabs);

#endif
