/// @file
/// What the host's kernels do with slabs: admit those that it took from the pool, and close those
/// that it gives back. Internal to streampool/heap.h and streampool/heap.cuh.
#ifndef STREAMPOOL_HEAP_ADMIT_CUH
#define STREAMPOOL_HEAP_ADMIT_CUH

#include "place.cuh"
#include "run.cuh"

// Notes that there are so many slabs more, or fewer where that wraps.
POOL_HEAP_FN void ph_count_present(struct ph_book *book, uint32_t more) {
    uint32_t present = ph_add(&book->present, more) + more;
    ph_store(&book->spread, ph_groups(present, book->groups));
}

// Lets all threads use a slab at this address. `joined`: the slab before it ends there.
POOL_HEAP_FN void ph_admit(struct ph_book *book, uint32_t index, uint64_t address, int joined) {
    uint64_t bit = UINT64_C(1) << index % 64;
    book->slab[index].base = address;
    if (joined)
        ph_or64(&book->joined[index / 64], bit);
    else
        ph_and64(&book->joined[index / 64], ~bit);
    ph_place_add(book, address, index);
    ph_move_begin(book);
    ph_retag(&book->slab[index], POOL_HEAP_ABSENT, POOL_HEAP_FREE, 0);
    ph_add_free(book, index);
    ph_move_end(book);
    ph_count_present(book, 1);
}

// Says of a slab that the one before it ends where it begins, as that one is admitted.
POOL_HEAP_FN void ph_mark_joined(struct ph_book *book, uint32_t index) {
    ph_or64(&book->joined[index / 64], UINT64_C(1) << index % 64);
}

// Closes the slabs [first, first + count), which serve nobody then, if all of them are free.
// Returns whether they were.
POOL_HEAP_FN int ph_close(struct ph_book *book, uint32_t first, uint32_t count) {
    int turn = ph_turn_begin(book);
    int closed = ph_claim_all(book, first, first + count);
    for (uint32_t slab = first; closed && slab < first + count; slab++) {
        ph_place_remove(book, book->slab[slab].base, slab);
        ph_retag(&book->slab[slab], POOL_HEAP_FREE, POOL_HEAP_ABSENT, 0);
    }
    uint32_t next = first + count; // other memory may come before it
    if (closed && next < book->slabs)
        ph_and64(&book->joined[next / 64], ~(UINT64_C(1) << next % 64));
    ph_turn_end(book, turn);
    if (closed)
        ph_count_present(book, 0 - count);
    return closed;
}

#endif
