/// @file
/// Finding a slab with blocks to spare. Internal to streampool/heap.cuh.
///
/// Each group of processors has a current slab for each class. When it is full, one thread of the
/// group looks for the next while the others wait: first among slabs with room, then among the free
/// ones. If there is neither, anything with a block to spare will do.
///
/// A thread may end in the middle of its search, or take long: the first search of a program waits
/// for its code to come from memory. So one of those that wait takes over after a while. If each
/// opened a slab of its own instead, some thousands of them would use up the heap.
#ifndef STREAMPOOL_HEAP_FIND_CUH
#define STREAMPOOL_HEAP_FIND_CUH

#include "slab.cuh"

enum {
    POOL_HEAP_ROOM_TRIES = 8,  // slabs with room that others may have filled
    POOL_HEAP_PATIENCE = 16,   // slabs that others fill before a thread looks elsewhere too
    POOL_HEAP_TURNS = 1000,    // ... and before it opens one of its own
    POOL_HEAP_NAPS = 256,      // that a thread waits for another one
    POOL_HEAP_ROUNDS = 1000,   // of a search, as long as others move slabs
    POOL_HEAP_QUIET_ROUNDS = 2 // in vain while nobody moved a slab
};

// How many of the class's slabs a search looks at: in one of its sets, or where that is none, among
// the current ones of all groups.
POOL_HEAP_FN uint32_t ph_tries(const struct ph_book *book, uint32_t which) {
    if (which == POOL_HEAP_ROOM)
        return POOL_HEAP_ROOM_TRIES;
    return which == POOL_HEAP_ANY ? book->slabs : book->groups;
}

// Reserves blocks in one of those. Returns how many.
POOL_HEAP_FN uint32_t ph_search_open(struct ph_book *book, uint32_t which, uint32_t cls,
                                     uint32_t count, struct ph_grant *grant) {
    const struct ph_current *current = &book->current[cls * book->groups];
    POOL_HEAP_ROLLED
    for (uint32_t i = 0; i < ph_tries(book, which); i++) {
        uint32_t slab = which == POOL_HEAP_SETS ? ph_load(&current[i].slab)
                                                : ph_set_pick(ph_set_of(book, cls, which));
        if (slab != POOL_HEAP_NONE && ph_may_have(book, slab, cls) &&
            ph_reserve(book, slab, cls, count, grant) != 0)
            return grant->blocks;
        if (which == POOL_HEAP_SETS)
            continue;
        if (slab == POOL_HEAP_NONE)
            return 0;
        ph_forget(book, slab, cls, which);
    }
    return 0;
}

// Makes another slab the group's current one, or none, if `from` is current still. That one is
// listed if it has blocks to spare: it may have been emptied and opened anew since it was found
// full. The caller is in the middle of a move.
POOL_HEAP_FN int ph_replace(struct ph_book *book, struct ph_current *current, uint32_t cls,
                            uint32_t from, uint32_t to) {
    if (ph_swap_if(&current->slab, from, to) != from)
        return 0;
    if (from != POOL_HEAP_NONE)
        ph_list(book, from, cls);
    return 1;
}

// Opens a free slab, with some of its blocks reserved. Returns how many. The slab becomes the
// group's current one instead of `from`; where there is no group, or another slab is current now,
// it is listed.
POOL_HEAP_FN uint32_t ph_open_free(struct ph_book *book, struct ph_current *current, uint32_t from,
                                   uint32_t cls, uint32_t count, struct ph_grant *grant) {
    uint32_t slab = ph_claim(book);
    if (slab == POOL_HEAP_NONE)
        return 0;
    ph_open(book, slab, cls, count, grant);
    if (current == NULL || !ph_replace(book, current, cls, from, slab))
        ph_list(book, slab, cls);
    ph_move_end(book);
    return grant->blocks;
}

// Reserves blocks in any slab. Returns how many. It opens a free slab rather than look further than
// among those with room.
POOL_HEAP_FN uint32_t ph_search(struct ph_book *book, struct ph_current *current, uint32_t from,
                                uint32_t cls, uint32_t count, struct ph_grant *grant) {
    POOL_HEAP_ROLLED
    for (uint32_t which = 0; which <= POOL_HEAP_SETS; which++) {
        if (ph_search_open(book, which, cls, count, grant) != 0 ||
            (which == POOL_HEAP_ROOM && ph_open_free(book, current, from, cls, count, grant) != 0))
            return grant->blocks;
    }
    return 0;
}

// Searches until it finds something, or nothing was there while nobody moved a slab.
POOL_HEAP_FN uint32_t ph_search_all(struct ph_book *book, struct ph_current *current, uint32_t from,
                                    uint32_t cls, uint32_t count, struct ph_grant *grant) {
    uint32_t quiet = 0;
    POOL_HEAP_ROLLED
    for (uint32_t round = 0; round < POOL_HEAP_ROUNDS && quiet < POOL_HEAP_QUIET_ROUNDS; round++) {
        uint32_t ended = ph_load_acquire(&book->ended);
        if (ph_search(book, current, from, cls, count, grant) != 0)
            return grant->blocks;
        quiet = ph_load_acquire(&book->begun) == ended ? quiet + 1 : 0;
        if (quiet < POOL_HEAP_QUIET_ROUNDS)
            ph_nap();
    }
    return 0;
}

// Waits while another thread of the group looks for the next slab, as `opening` tells: until there
// is one, or that thread has ended its search, or it is time to take over. Returns `opening` as it
// is then.
POOL_HEAP_FN uint32_t ph_await(struct ph_current *current, uint32_t opening, uint32_t slab) {
    uint32_t now = opening;
    for (uint32_t i = 0; i < POOL_HEAP_NAPS && opening % 2 != 0 && now == opening; i++) {
        ph_nap();
        if (ph_load(&current->slab) != slab)
            break;
        now = ph_load_acquire(&current->opening);
    }
    return now;
}

// Begins the search for the slab that follows the group's current one, unless another thread of the
// group has begun one since `opening` was read, or has found that slab. Returns the number of the
// search, and 0 if it hasn't begun.
POOL_HEAP_FN uint32_t ph_begin_search(struct ph_current *current, uint32_t opening, uint32_t slab) {
    uint32_t mine = opening + 1 + opening % 2;
    if (ph_swap_if(&current->opening, opening, mine) != opening)
        return 0;
    if (ph_load(&current->slab) == slab)
        return mine;
    ph_swap_if(&current->opening, mine, mine + 1); // unless another thread has taken over
    return 0;
}

// Ends it. Where no slab was found none is current: else each thread that comes would ask the full
// one without a look, and all of them together would hide the blocks that are freed there.
POOL_HEAP_FN void ph_end_search(struct ph_book *book, struct ph_current *current, uint32_t mine,
                                uint32_t cls, uint32_t slab, uint32_t next) {
    if (next != slab && ph_load(&current->slab) == slab) {
        ph_move_begin(book);
        ph_replace(book, current, cls, slab, next);
        ph_move_end(book);
    }
    ph_swap_if(&current->opening, mine, mine + 1);
}

// Reserves blocks in the current slab, or in the next one. Returns how many.
//
// While free slabs are there a thread waits for as long as others fill them: it would open one for
// a few blocks. It stops when there was nothing for who looked last. Where slabs are found that
// have a block or two to spare, the threads look for such slabs side by side.
POOL_HEAP_FN uint32_t ph_find(struct ph_book *book, uint32_t cls, uint32_t count,
                              struct ph_grant *grant) {
    struct ph_current *current =
        &book->current[cls * book->groups + (ph_processor() & (ph_peek(&book->spread) - 1))];
    uint32_t slab = POOL_HEAP_NONE, mine = 0;
    POOL_HEAP_ROLLED
    for (uint32_t turn = 0; turn < POOL_HEAP_TURNS && mine == 0; turn++) {
        int patient = turn < POOL_HEAP_PATIENCE;
        slab = ph_load(&current->slab);
        uint32_t look = patient || turn % 2 == 0 ? slab : ph_set_pick(&book->any[cls]);
        if (look != POOL_HEAP_NONE && (turn == 0 || ph_may_have(book, look, cls)) &&
            ph_reserve(book, look, cls, count, grant) != 0)
            return grant->blocks;
        uint32_t opening = ph_load_acquire(&current->opening);
        uint32_t now = ph_await(current, opening, slab);
        if (ph_load(&current->slab) != slab)
            continue;
        if (slab == POOL_HEAP_NONE && (!patient || (now != opening && now % 2 == 0)))
            break;
        if (now == opening)
            mine = ph_begin_search(current, opening, slab);
    }
    int found = ph_search_all(book, mine != 0 ? current : NULL, slab, cls, count, grant) != 0;
    if (mine != 0)
        ph_end_search(book, current, mine, cls, slab, found ? grant->slab : POOL_HEAP_NONE);
    return found ? grant->blocks : 0;
}

#endif
