/// @file
/// From an address to the slab that it lies in. Internal to streampool/heap.cuh.
///
/// The pool gives slabs at any address. Addresses are cut into cells of a slab's size, in each of
/// which at most one slab begins: the hash table has the cell and the slab that begins there. The
/// host's kernels write it (admit.cuh); threads that free read it.
#ifndef STREAMPOOL_HEAP_PLACE_CUH
#define STREAMPOOL_HEAP_PLACE_CUH

#include "book.cuh"

#define POOL_HEAP_PLACE_EMPTY  UINT64_C(0)
#define POOL_HEAP_PLACE_GONE   (UINT64_C(1) << 63) // was used: a search goes on behind it
#define POOL_HEAP_PLACE_SLAB   17                  // bits for the slab + 1, below the cell

POOL_HEAP_FN uint32_t ph_place_first(const struct ph_book *book, uint64_t cell) {
    return (uint32_t)(cell * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (book->places - 1);
}

// The slab that begins in the cell, or POOL_HEAP_NONE.
POOL_HEAP_FN uint32_t ph_place_find(const struct ph_book *book, uint64_t cell) {
    uint32_t first = ph_place_first(book, cell);
    for (uint32_t i = 0; i < book->places; i++) {
        uint64_t place = ph_load64(&book->place[(first + i) & (book->places - 1)]);
        if (place == POOL_HEAP_PLACE_EMPTY)
            break;
        if (place >> POOL_HEAP_PLACE_SLAB == cell)
            return (uint32_t)(place & ((1u << POOL_HEAP_PLACE_SLAB) - 1)) - 1;
    }
    return POOL_HEAP_NONE;
}

// The slab in which the address lies, or POOL_HEAP_NONE.
POOL_HEAP_FN uint32_t ph_place_of(const struct ph_book *book, uint64_t address) {
    uint64_t cell = address >> book->shift;
    uint32_t slab = ph_place_find(book, cell);
    if (slab != POOL_HEAP_NONE && address >= book->slab[slab].base)
        return slab;
    if (cell == 0)
        return POOL_HEAP_NONE;
    slab = ph_place_find(book, cell - 1);
    if (slab != POOL_HEAP_NONE && address - book->slab[slab].base < UINT64_C(1) << book->shift)
        return slab;
    return POOL_HEAP_NONE;
}

POOL_HEAP_FN void ph_place_add(struct ph_book *book, uint64_t cell, uint32_t slab) {
    uint64_t place = cell << POOL_HEAP_PLACE_SLAB | (slab + 1);
    uint32_t first = ph_place_first(book, cell);
    for (uint32_t i = 0; i < book->places; i++) {
        uint64_t *at = &book->place[(first + i) & (book->places - 1)];
        uint64_t old = ph_load64(at);
        if ((old == POOL_HEAP_PLACE_EMPTY || old == POOL_HEAP_PLACE_GONE) &&
            ph_swap_if64(at, old, place) == old)
            return;
    }
}

POOL_HEAP_FN void ph_place_remove(struct ph_book *book, uint64_t cell) {
    uint32_t first = ph_place_first(book, cell);
    for (uint32_t i = 0; i < book->places; i++) {
        uint64_t *at = &book->place[(first + i) & (book->places - 1)];
        if (ph_load64(at) >> POOL_HEAP_PLACE_SLAB == cell) {
            ph_store64(at, POOL_HEAP_PLACE_GONE);
            return;
        }
    }
}

#endif
