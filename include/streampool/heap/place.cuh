/// @file
/// From an address to the slab that it lies in. Internal to streampool/heap.cuh.
///
/// The pool gives slabs at any address. Addresses are cut into cells of a slab's size, in each of
/// which at most one slab begins: the hash table has that slab and its address. The host's kernels
/// write it (admit.cuh); threads that free read it. They learn from it alone where a slab begins:
/// the one in the next cell may be in the middle of being admitted.
///
/// A place that was used once is never empty again, so an empty one is not what ends a search:
/// book->reach tells how far behind its first place any slab has ever been put.
#ifndef STREAMPOOL_HEAP_PLACE_CUH
#define STREAMPOOL_HEAP_PLACE_CUH

#include "book.cuh"

// A place has the address in units of 512 bytes, below 2^55, and the slab + 1.
enum { POOL_HEAP_PLACE_UNIT = 9, POOL_HEAP_PLACE_SLAB = 17 };
#define POOL_HEAP_PLACE_EMPTY UINT64_C(0)
#define POOL_HEAP_PLACE_GONE  (UINT64_C(1) << 63) // was used: a search goes on behind it

POOL_HEAP_FN uint64_t ph_place_make(uint64_t address, uint32_t slab) {
    return address >> POOL_HEAP_PLACE_UNIT << POOL_HEAP_PLACE_SLAB | (slab + 1);
}

// POOL_HEAP_NONE for a place that has no slab.
POOL_HEAP_FN uint32_t ph_place_slab(uint64_t place) {
    return (uint32_t)(place & ((1u << POOL_HEAP_PLACE_SLAB) - 1)) - 1;
}

POOL_HEAP_FN uint64_t ph_place_base(uint64_t place) {
    return place >> POOL_HEAP_PLACE_SLAB << POOL_HEAP_PLACE_UNIT;
}

POOL_HEAP_FN uint64_t *ph_place_at(const struct ph_book *book, uint64_t cell, uint32_t probe) {
    uint32_t first = (uint32_t)(cell * UINT64_C(0x9e3779b97f4a7c15) >> 40);
    return &book->place[(first + probe) & (book->places - 1)];
}

// The place of the slab that begins in the cell, or POOL_HEAP_PLACE_EMPTY.
POOL_HEAP_FN uint64_t ph_place_find(const struct ph_book *book, uint64_t cell) {
    uint32_t reach = 0;
    for (uint32_t i = 0; i <= reach; i++) {
        uint64_t place = ph_load64(ph_place_at(book, cell, i));
        if (place == POOL_HEAP_PLACE_EMPTY)
            break;
        if (ph_place_base(place) >> book->shift == cell && place != POOL_HEAP_PLACE_GONE)
            return place;
        if (i == 0)
            reach = ph_load(&book->reach);
    }
    return POOL_HEAP_PLACE_EMPTY;
}

// The place of the slab in which the address lies, or POOL_HEAP_PLACE_EMPTY.
POOL_HEAP_FN uint64_t ph_place_of(const struct ph_book *book, uint64_t address) {
    uint64_t cell = address >> book->shift;
    uint64_t place = ph_place_find(book, cell);
    if ((place != POOL_HEAP_PLACE_EMPTY && address >= ph_place_base(place)) || cell == 0)
        return place;
    place = ph_place_find(book, cell - 1);
    if (address - ph_place_base(place) < UINT64_C(1) << book->shift)
        return place;
    return POOL_HEAP_PLACE_EMPTY;
}

// Enters a slab. The table has more places than there can be slabs.
POOL_HEAP_FN void ph_place_add(struct ph_book *book, uint64_t address, uint32_t slab) {
    for (uint32_t i = 0; i < book->places; i++) {
        uint64_t *at = ph_place_at(book, address >> book->shift, i);
        uint64_t old = ph_load64(at);
        if (old != POOL_HEAP_PLACE_EMPTY && old != POOL_HEAP_PLACE_GONE)
            continue;
        ph_max(&book->reach, i);
        if (ph_swap_if64(at, old, ph_place_make(address, slab)) == old)
            return;
    }
}

POOL_HEAP_FN void ph_place_remove(struct ph_book *book, uint64_t address, uint32_t slab) {
    uint32_t reach = ph_load(&book->reach);
    for (uint32_t i = 0; i <= reach; i++) {
        uint64_t *at = ph_place_at(book, address >> book->shift, i);
        if (ph_load64(at) == ph_place_make(address, slab)) {
            ph_store64(at, POOL_HEAP_PLACE_GONE);
            return;
        }
    }
}

#endif
