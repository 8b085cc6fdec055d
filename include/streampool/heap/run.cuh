/// @file
/// Runs of slabs: blocks above the largest class. Internal to streampool/heap.cuh.
#ifndef STREAMPOOL_HEAP_RUN_CUH
#define STREAMPOOL_HEAP_RUN_CUH

#include "find.cuh"

// Waits for its turn to hold several free slabs for a moment. False if it waited in vain.
POOL_HEAP_FN int ph_search_begin(struct ph_book *book) {
    for (uint32_t i = 0; ph_exchange(&book->searching, 1) != 0; i++) {
        if (i == POOL_HEAP_NAPS * POOL_HEAP_NAPS)
            return 0;
        ph_nap();
    }
    ph_move_begin(book);
    return 1;
}

POOL_HEAP_FN void ph_search_end(struct ph_book *book) {
    ph_move_end(book);
    ph_exchange(&book->searching, 0);
}

// The ones of the slabs [begin, end) that lie in this leaf.
POOL_HEAP_FN uint64_t ph_part(uint32_t leaf, uint32_t begin, uint32_t end) {
    uint32_t low = begin > leaf * 64 ? begin - leaf * 64 : 0;
    uint32_t high = end < leaf * 64 + 64 ? end - leaf * 64 : 64;
    return (high == 64 ? ~UINT64_C(0) : (UINT64_C(1) << high) - 1) & ~((UINT64_C(1) << low) - 1);
}

// Claims the free slabs [begin, end), all or none.
POOL_HEAP_FN int ph_claim_all(struct ph_book *book, uint32_t begin, uint32_t end) {
    for (uint32_t leaf = begin / 64; leaf <= (end - 1) / 64; leaf++) {
        uint64_t wanted = ph_part(leaf, begin, end);
        uint64_t got = ph_set_remove(&book->free, leaf, wanted);
        if (got == wanted)
            continue;
        for (; got != 0; got &= got - 1)
            ph_add_free(book, leaf * 64 + ph_lowest64(got));
        for (uint32_t slab = begin; slab < leaf * 64; slab++)
            ph_add_free(book, slab);
        return 0;
    }
    return 1;
}

// Finds and claims the first `count` free slabs that lie side by side.
POOL_HEAP_FN uint32_t ph_claim_row(struct ph_book *book, uint32_t count) {
    uint32_t length = 0;
    for (uint32_t leaf = 0; leaf * 64 < book->slabs; leaf++) {
        uint64_t slabs = ph_load64(&book->free.leaves[leaf]);
        uint64_t joined = ph_load64(&book->joined[leaf]);
        for (uint32_t i = 0; slabs != 0 && i < 64; i++) {
            if (!(slabs >> i & 1))
                length = 0;
            else if (length == 0 || !(joined >> i & 1))
                length = 1;
            else
                length++;
            uint32_t end = leaf * 64 + i + 1;
            if (length != count)
                continue;
            if (ph_claim_all(book, end - count, end))
                return end - count;
            length = 0;
        }
        if (slabs == 0)
            length = 0;
    }
    return POOL_HEAP_NONE;
}

POOL_HEAP_FN uint32_t ph_claim_run(struct ph_book *book, uint32_t count) {
    if (count == 1) {
        uint32_t slab = ph_claim(book);
        if (slab != POOL_HEAP_NONE)
            ph_move_end(book);
        return slab;
    }
    if (!ph_search_begin(book))
        return POOL_HEAP_NONE;
    uint32_t slab = ph_claim_row(book, count);
    ph_search_end(book);
    return slab;
}

// Takes a run of `count` slabs and returns its address, or 0.
POOL_HEAP_FN uint64_t ph_take_run(struct ph_book *book, uint64_t count) {
    uint32_t slab = POOL_HEAP_NONE, quiet = 0;
    for (uint32_t round = 0; count <= book->slabs && slab == POOL_HEAP_NONE &&
                             round < POOL_HEAP_ROUNDS && quiet < POOL_HEAP_QUIET_ROUNDS;
         round++) {
        uint32_t ended = ph_load(&book->ended);
        slab = ph_claim_run(book, (uint32_t)count);
        uint32_t own = count == 1 ? 0 : 1; // its own search is a move
        quiet = ph_load(&book->begun) == ended + own ? quiet + 1 : 0;
    }
    if (slab == POOL_HEAP_NONE)
        return 0;
    book->slab[slab].run = (uint32_t)count;
    ph_retag(&book->slab[slab], POOL_HEAP_FREE, POOL_HEAP_RUN, 0);
    for (uint32_t i = 1; i < count; i++)
        ph_retag(&book->slab[slab + i], POOL_HEAP_FREE, POOL_HEAP_BODY, 0);
    return book->slab[slab].base;
}

// Gives a run back. False if it was given back before.
POOL_HEAP_FN int ph_give_run(struct ph_book *book, uint32_t first) {
    struct ph_slab *slab = &book->slab[first];
    uint32_t state = ph_load(&slab->state), old;
    for (;; state = old) {
        if (ph_tag(state) != POOL_HEAP_RUN)
            return 0;
        uint32_t free = (state & POOL_HEAP_COUNT_MASK) |
                        (uint32_t)POOL_HEAP_FREE << POOL_HEAP_TAG_SHIFT;
        old = ph_swap_if(&slab->state, state, free);
        if (old == state)
            break;
    }
    uint32_t count = slab->run;
    ph_move_begin(book);
    for (uint32_t i = 1; i < count; i++)
        ph_retag(&book->slab[first + i], POOL_HEAP_BODY, POOL_HEAP_FREE, 0);
    for (uint32_t i = 0; i < count; i++)
        ph_add_free(book, first + i);
    ph_move_end(book);
    return 1;
}

#endif
