/// @file
/// Runs of slabs: blocks above the largest class. Internal to streampool/heap.cuh.
#ifndef STREAMPOOL_HEAP_RUN_CUH
#define STREAMPOOL_HEAP_RUN_CUH

#include "find.cuh"

// Waits for its turn to claim several slabs, so that two who do don't take them from each other.
// That is a courtesy: who waited too long goes ahead. Returns whether it is its turn.
POOL_HEAP_FN int ph_turn_begin(struct ph_book *book) {
    for (uint32_t i = 0; i < POOL_HEAP_NAPS; i++) {
        if (ph_exchange(&book->searching, 1) == 0)
            return 1;
        ph_nap();
    }
    return 0;
}

POOL_HEAP_FN void ph_turn_end(struct ph_book *book, int turn) {
    if (turn)
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
    int claimed = 1;
    ph_move_begin(book);
    for (uint32_t leaf = begin / 64; claimed && leaf <= (end - 1) / 64; leaf++) {
        uint64_t wanted = ph_part(leaf, begin, end);
        uint64_t got = ph_set_remove(&book->free, leaf, wanted);
        claimed = got == wanted;
        for (; !claimed && got != 0; got &= got - 1)
            ph_add_free(book, leaf * 64 + ph_lowest64(got));
        for (uint32_t slab = begin; !claimed && slab < leaf * 64; slab++)
            ph_add_free(book, slab);
    }
    ph_move_end(book);
    return claimed;
}

// Finds the first `count` free slabs that lie side by side, and returns the first of them.
POOL_HEAP_FN uint32_t ph_find_row(struct ph_book *book, uint32_t count) {
    uint32_t length = 0, next = 0; // slabs of the row, and the one that would continue it
    for (uint32_t middle = 0; middle * 64 * 64 < book->slabs; middle++) {
        for (uint64_t more = ph_load64(&book->free.middle[middle]); more != 0; more &= more - 1) {
            uint32_t leaf = middle * 64 + ph_lowest64(more);
            uint64_t joined = ph_load64(&book->joined[leaf]);
            for (uint64_t slabs = ph_load64(&book->free.leaves[leaf]); slabs != 0;
                 slabs &= slabs - 1) {
                uint32_t bit = ph_lowest64(slabs), slab = leaf * 64 + bit;
                length = slab == next && (joined >> bit & 1) != 0 ? length + 1 : 1;
                next = slab + 1;
                if (length == count)
                    return next - count;
            }
        }
    }
    return POOL_HEAP_NONE;
}

// Slabs that are claimed can't be closed. They may have been, and admitted elsewhere, between the
// look that found them and their claim.
POOL_HEAP_FN int ph_is_row(const struct ph_book *book, uint32_t first, uint32_t count) {
    for (uint32_t slab = first + 1; slab < first + count; slab++) {
        if ((ph_load64(&book->joined[slab / 64]) >> slab % 64 & 1) == 0)
            return 0;
    }
    return 1;
}

POOL_HEAP_FN void ph_give_row(struct ph_book *book, uint32_t first, uint32_t count) {
    ph_move_begin(book);
    for (uint32_t slab = first; slab < first + count; slab++)
        ph_add_free(book, slab);
    ph_move_end(book);
}

// Finds a row and claims it. POOL_HEAP_NONE where somebody was faster; *seen tells whether there
// was one.
POOL_HEAP_FN uint32_t ph_claim_row(struct ph_book *book, uint32_t count, int *seen) {
    if (count == 1) {
        uint32_t any = ph_claim(book);
        *seen = any != POOL_HEAP_NONE;
        if (*seen)
            ph_move_end(book);
        return any;
    }
    *seen = ph_find_row(book, count) != POOL_HEAP_NONE;
    if (!*seen)
        return POOL_HEAP_NONE;
    int turn = ph_turn_begin(book);
    uint32_t slab = ph_find_row(book, count);
    if (slab != POOL_HEAP_NONE && !ph_claim_all(book, slab, slab + count))
        slab = POOL_HEAP_NONE;
    if (slab != POOL_HEAP_NONE && !ph_is_row(book, slab, count)) {
        ph_give_row(book, slab, count);
        slab = POOL_HEAP_NONE;
    }
    ph_turn_end(book, turn);
    return slab;
}

// A search for `count` slabs in a row is in vain as long as no slab was moved since a search for
// no more was. Its last word is (count, moves then).
POOL_HEAP_FN int ph_row_is_missing(struct ph_book *book, uint32_t count) {
    uint32_t ended = ph_load_acquire(&book->ended);
    uint64_t missing = ph_load64(&book->row_missing);
    return missing != 0 && (uint32_t)missing == ended && missing >> 32 <= count &&
           ph_load_acquire(&book->begun) == ended;
}

// Claims `count` slabs in a row and returns the first, or POOL_HEAP_NONE.
POOL_HEAP_FN uint32_t ph_claim_run(struct ph_book *book, uint32_t count) {
    for (uint32_t round = 0; round < POOL_HEAP_ROUNDS && !ph_row_is_missing(book, count); round++) {
        uint32_t ended = ph_load_acquire(&book->ended);
        int seen;
        uint32_t slab = ph_claim_row(book, count, &seen);
        if (slab != POOL_HEAP_NONE)
            return slab;
        if (!seen && ph_load_acquire(&book->begun) == ended) {
            ph_store64(&book->row_missing, (uint64_t)count << 32 | ended);
            break;
        }
        ph_nap();
    }
    return POOL_HEAP_NONE;
}

// Takes a run of `count` slabs and returns its address, or 0.
POOL_HEAP_CALL uint64_t ph_take_run(struct ph_book *book, uint64_t count) {
    if (count > book->slabs)
        return 0;
    uint32_t slab = ph_claim_run(book, (uint32_t)count);
    if (slab == POOL_HEAP_NONE)
        return 0;
    book->slab[slab].run = (uint32_t)count;
    ph_retag(&book->slab[slab], POOL_HEAP_FREE, POOL_HEAP_RUN, 0);
    for (uint32_t i = 1; i < count; i++)
        ph_retag(&book->slab[slab + i], POOL_HEAP_FREE, POOL_HEAP_BODY, 0);
    return book->slab[slab].base;
}

// Gives a run back. False if it was given back before.
POOL_HEAP_CALL int ph_give_run(struct ph_book *book, uint32_t first) {
    struct ph_slab *slab = &book->slab[first];
    uint32_t state = ph_load(&slab->state), old;
    for (;; state = old) {
        if (ph_tag(state) != POOL_HEAP_RUN)
            return 0;
        uint32_t free = (state & POOL_HEAP_COUNT_MASK) | (uint32_t)POOL_HEAP_FREE
                                                             << POOL_HEAP_TAG_SHIFT;
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
