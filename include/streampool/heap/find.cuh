/// @file
/// Finding a slab with blocks to spare. Internal to streampool/heap.cuh.
///
/// Each group of processors has a current slab for each class. When it is full, one thread of the
/// group looks for the next while the others wait for a moment: first among slabs with room, then
/// among the free ones. If there is neither, anything with a block to spare will do.
#ifndef STREAMPOOL_HEAP_FIND_CUH
#define STREAMPOOL_HEAP_FIND_CUH

#include "slab.cuh"

enum {
    POOL_HEAP_ROOM_TRIES = 8,  // slabs with room that others may have filled
    POOL_HEAP_TURNS = 16,      // slabs that others fill before a thread looks for one of its own
    POOL_HEAP_NAPS = 256,      // that a thread waits for another one
    POOL_HEAP_ROUNDS = 1000,   // of a search, as long as others move slabs
    POOL_HEAP_QUIET_ROUNDS = 2 // in vain while nobody moved a slab
};

POOL_HEAP_FN uint32_t ph_search_set(struct ph_book *book, struct ph_set *set, uint32_t tries,
                                    uint32_t limit, uint32_t cls, uint32_t count,
                                    struct ph_grant *grant) {
    for (; tries != 0; tries--) {
        uint32_t slab = ph_set_pick(set);
        if (slab == POOL_HEAP_NONE)
            return 0;
        if (ph_may_have(book, slab, cls) && ph_reserve(book, slab, cls, count, grant) != 0)
            return grant->blocks;
        ph_forget(book, set, slab, cls, limit);
    }
    return 0;
}

// Reserves blocks in a slab that is current for any group.
POOL_HEAP_FN uint32_t ph_search_current(struct ph_book *book, uint32_t cls, uint32_t count,
                                        struct ph_grant *grant) {
    for (uint32_t group = 0; group < book->groups; group++) {
        uint32_t slab = ph_load(&book->current[cls * book->groups + group].slab);
        if (slab != POOL_HEAP_NONE && ph_may_have(book, slab, cls) &&
            ph_reserve(book, slab, cls, count, grant) != 0)
            return grant->blocks;
    }
    return 0;
}

// Reserves blocks in any slab. Returns how many. A slab that is opened becomes current for the
// group, or where that is null is put into the sets.
POOL_HEAP_FN uint32_t ph_search(struct ph_book *book, struct ph_current *current, uint32_t cls,
                                uint32_t count, struct ph_grant *grant) {
    const struct ph_class *c = &book->cls[cls];
    if (ph_search_set(book, &book->room[cls], POOL_HEAP_ROOM_TRIES, c->room, cls, count, grant))
        return grant->blocks;
    uint32_t slab = ph_claim(book);
    if (slab != POOL_HEAP_NONE) {
        ph_open(book, slab, cls, count, grant);
        if (current != NULL)
            ph_store(&current->slab, slab);
        else
            ph_list(book, slab, cls);
        ph_move_end(book);
        return grant->blocks;
    }
    if (ph_search_set(book, &book->any[cls], book->slabs, c->blocks, cls, count, grant))
        return grant->blocks;
    return ph_search_current(book, cls, count, grant);
}

// Searches until it finds something, or nothing was there while nobody moved a slab.
POOL_HEAP_FN uint32_t ph_search_all(struct ph_book *book, struct ph_current *current, uint32_t cls,
                                    uint32_t count, struct ph_grant *grant) {
    uint32_t quiet = 0;
    for (uint32_t round = 0; round < POOL_HEAP_ROUNDS && quiet < POOL_HEAP_QUIET_ROUNDS; round++) {
        uint32_t ended = ph_load_acquire(&book->ended);
        if (ph_search(book, current, cls, count, grant) != 0)
            return grant->blocks;
        quiet = ph_load_acquire(&book->begun) == ended ? quiet + 1 : 0;
        if (quiet < POOL_HEAP_QUIET_ROUNDS)
            ph_nap();
    }
    return 0;
}

// Waits while another thread of the group looks for the next slab. False if it found none, or was
// too slow.
POOL_HEAP_FN int ph_await(struct ph_current *current, uint32_t slab) {
    for (uint32_t i = 0; i < POOL_HEAP_NAPS; i++) {
        ph_nap();
        if (ph_load(&current->slab) != slab)
            return 1;
        if (ph_load_acquire(&current->opening) == 0)
            return ph_load(&current->slab) != slab;
    }
    return 0;
}

// Reserves blocks in the current slab, or in the next one. Returns how many.
//
// A slab that is full leaves its place as the current one; it comes into the sets when one of its
// blocks is freed. It may have been emptied and filled anew since it was found full, and then be
// current again: so it is listed if it has blocks to spare when it leaves.
//
// Where no other is found, none is current: else each thread that comes would ask the full one
// without a look, and all of them together would hide the blocks that are freed there.
POOL_HEAP_FN uint32_t ph_find(struct ph_book *book, uint32_t cls, uint32_t count,
                              struct ph_grant *grant) {
    struct ph_current *current =
        &book->current[cls * book->groups + (ph_processor() & (ph_peek(&book->spread) - 1))];
    for (uint32_t turn = 0; turn < POOL_HEAP_TURNS; turn++) {
        uint32_t slab = ph_load(&current->slab);
        if (slab != POOL_HEAP_NONE && (turn == 0 || ph_may_have(book, slab, cls)) &&
            ph_reserve(book, slab, cls, count, grant) != 0)
            return grant->blocks;
        if (ph_exchange(&current->opening, 1) == 0) {
            int mine = ph_load(&current->slab) == slab; // else somebody was faster
            if (mine && slab != POOL_HEAP_NONE)
                ph_list(book, slab, cls);
            if (mine) {
                int found = ph_search_all(book, current, cls, count, grant) != 0;
                ph_store(&current->slab, found ? grant->slab : POOL_HEAP_NONE);
            }
            ph_exchange(&current->opening, 0);
            if (mine)
                return grant->blocks;
        } else if (!ph_await(current, slab)) {
            break;
        }
    }
    return ph_search_all(book, NULL, cls, count, grant);
}

#endif
