/// @file
/// Slabs of blocks: opening them for a class, taking blocks, giving them back. Internal to
/// streampool/heap.cuh.
///
/// Whoever wants blocks adds their number to the slab's state. The old state tells whether the slab
/// was of that class, and how many blocks it had to spare; what was asked in vain is taken back.
/// Then it sets as many bits: there are free ones, as a free clears its bit before it counts.
#ifndef STREAMPOOL_HEAP_SLAB_CUH
#define STREAMPOOL_HEAP_SLAB_CUH

#include "set.cuh"

POOL_HEAP_FN uint32_t ph_tag(uint32_t state) {
    return state >> POOL_HEAP_TAG_SHIFT;
}

// Changes the tag, and leaves alone what others add and take back meanwhile.
POOL_HEAP_FN uint32_t ph_retag(struct ph_slab *slab, uint32_t from, uint32_t to, uint32_t count) {
    return ph_add(&slab->state, ((to - from) << POOL_HEAP_TAG_SHIFT) + count);
}

// While a slab is in no set, between `begin` and `end`, a search that finds nothing looks again.
POOL_HEAP_FN void ph_move_begin(struct ph_book *book) {
    ph_add(&book->begun, 1);
}
POOL_HEAP_FN void ph_move_end(struct ph_book *book) {
    ph_add(&book->ended, 1);
}

POOL_HEAP_FN void ph_add_free(struct ph_book *book, uint32_t slab) {
    ph_set_add(&book->free, slab);
}

// Takes a slab out of the set of free ones, which makes it the caller's: its tag says free until
// the caller changes it. POOL_HEAP_NONE if there is none, else the caller ends the move.
POOL_HEAP_FN uint32_t ph_claim(struct ph_book *book) {
    for (uint32_t i = 0; i < book->slabs + 64; i++) {
        uint32_t slab = ph_set_pick(&book->free);
        if (slab == POOL_HEAP_NONE)
            return slab;
        ph_move_begin(book);
        if (ph_set_remove(&book->free, slab / 64, UINT64_C(1) << slab % 64) != 0)
            return slab;
        ph_move_end(book);
    }
    return POOL_HEAP_NONE;
}

// A class has two sets of slabs: with room, and with any block to spare. A slab has a place in one
// while fewer blocks are taken than its limit.
enum { POOL_HEAP_ROOM, POOL_HEAP_ANY, POOL_HEAP_SETS };

POOL_HEAP_FN struct ph_set *ph_set_of(struct ph_book *book, uint32_t cls, uint32_t which) {
    return which == POOL_HEAP_ANY ? &book->any[cls] : &book->room[cls];
}
POOL_HEAP_FN uint32_t ph_limit(const struct ph_class *c, uint32_t which) {
    return which == POOL_HEAP_ANY ? c->blocks : c->room;
}

// Takes a slab of no class out of a set of a class.
POOL_HEAP_FN void ph_drop(struct ph_set *set, uint32_t slab) {
    uint64_t bit = UINT64_C(1) << slab % 64;
    if ((ph_load64(&set->leaves[slab / 64]) & bit) != 0)
        ph_set_remove(set, slab / 64, bit);
}

// No block of the slab is taken any more: it becomes free, unless somebody wants one again.
POOL_HEAP_FN void ph_retire(struct ph_book *book, uint32_t slab, uint32_t cls) {
    uint32_t empty = (POOL_HEAP_FIRST + cls) << POOL_HEAP_TAG_SHIFT;
    ph_move_begin(book);
    if (ph_swap_if(&book->slab[slab].state, empty,
                   (uint32_t)POOL_HEAP_FREE << POOL_HEAP_TAG_SHIFT) == empty) {
        POOL_HEAP_ROLLED
        for (uint32_t which = 0; which < POOL_HEAP_SETS; which++)
            ph_drop(ph_set_of(book, cls, which), slab);
        ph_add_free(book, slab);
    }
    ph_move_end(book);
}

// Gives back blocks whose bits are clear, or that were asked for in vain.
POOL_HEAP_FN void ph_give(struct ph_book *book, uint32_t index, uint32_t count) {
    uint32_t old = ph_add(&book->slab[index].state, 0 - count);
    uint32_t was = old & POOL_HEAP_COUNT_MASK, now = was - count;
    if (ph_tag(old) < POOL_HEAP_FIRST)
        return;
    uint32_t cls = ph_tag(old) - POOL_HEAP_FIRST;
    const struct ph_class *c = &book->cls[cls];
    POOL_HEAP_ROLLED
    for (uint32_t which = 0; was >= c->room && which < POOL_HEAP_SETS; which++) {
        if (was >= ph_limit(c, which) && now < ph_limit(c, which))
            ph_set_add(ph_set_of(book, cls, which), index);
    }
    if (now == 0)
        ph_retire(book, index, cls);
}

// Takes the slab out of a set where it seems to have no place: it isn't of the class, or has too
// many blocks taken.
POOL_HEAP_FN void ph_forget(struct ph_book *book, uint32_t slab, uint32_t cls, uint32_t which) {
    struct ph_set *set = ph_set_of(book, cls, which);
    uint64_t bit = UINT64_C(1) << slab % 64;
    if ((ph_load64(&set->leaves[slab / 64]) & bit) == 0)
        return;
    ph_set_remove(set, slab / 64, bit);
    uint32_t state = ph_load(&book->slab[slab].state);
    if (ph_tag(state) == POOL_HEAP_FIRST + cls &&
        (state & POOL_HEAP_COUNT_MASK) < ph_limit(&book->cls[cls], which))
        ph_set_add(set, slab);
}

// Blocks of one slab that a thread has reserved, and not all taken yet.
struct ph_grant {
    uint32_t slab;
    uint32_t blocks;
    uint32_t start; // the next block to try, while all that were tried were free
    uint32_t probe; // words that were looked at since one wasn't
};

// Reserves up to `count` blocks of the class in a slab. Returns how many, 0 too if the slab is of
// another class meanwhile.
POOL_HEAP_FN uint32_t ph_reserve(struct ph_book *book, uint32_t index, uint32_t cls, uint32_t count,
                                 struct ph_grant *grant) {
    const struct ph_class *c = &book->cls[cls];
    uint32_t old = ph_add(&book->slab[index].state, count);
    uint32_t taken = old & POOL_HEAP_COUNT_MASK, got = 0;
    if (ph_tag(old) == POOL_HEAP_FIRST + cls && taken < c->blocks) {
        got = c->blocks - taken < count ? c->blocks - taken : count;
        POOL_HEAP_ROLLED
        for (uint32_t which = 0; taken + got >= c->room && which < POOL_HEAP_SETS; which++) {
            if (taken < ph_limit(c, which) && taken + got >= ph_limit(c, which))
                ph_forget(book, index, cls, which);
        }
    }
    if (got < count)
        ph_give(book, index, count - got);
    grant->slab = index;
    grant->blocks = got;
    grant->start = taken;
    grant->probe = 0;
    return got;
}

// False when a look at the slab tells that nothing can be reserved there.
POOL_HEAP_FN int ph_may_have(struct ph_book *book, uint32_t index, uint32_t cls) {
    uint32_t state = ph_load(&book->slab[index].state);
    return ph_tag(state) == POOL_HEAP_FIRST + cls &&
           (state & POOL_HEAP_COUNT_MASK) < book->cls[cls].blocks;
}

POOL_HEAP_FN uint32_t *ph_bits(struct ph_slab *slab, const struct ph_class *c) {
    return c->begin != 0 ? (uint32_t *)(uintptr_t)slab->base : slab->bits;
}

// Makes a claimed slab one of the class, with up to `count` of its blocks reserved. It is in no set
// then.
POOL_HEAP_FN void ph_open(struct ph_book *book, uint32_t index, uint32_t cls, uint32_t count,
                          struct ph_grant *grant) {
    const struct ph_class *c = &book->cls[cls];
    struct ph_slab *slab = &book->slab[index];
    uint32_t got = count < c->blocks ? count : c->blocks;
    if (c->begin != 0)
        ph_clear((void *)(uintptr_t)slab->base, c->begin);
    ph_retag(slab, POOL_HEAP_FREE, POOL_HEAP_FIRST + cls, got);
    grant->slab = index;
    grant->blocks = got;
    grant->start = 0;
    grant->probe = 0;
}

// Puts a slab of the class into the sets where it belongs.
POOL_HEAP_FN void ph_list(struct ph_book *book, uint32_t index, uint32_t cls) {
    const struct ph_class *c = &book->cls[cls];
    uint32_t state = ph_load(&book->slab[index].state), count = state & POOL_HEAP_COUNT_MASK;
    if (ph_tag(state) != POOL_HEAP_FIRST + cls)
        return;
    POOL_HEAP_ROLLED
    for (uint32_t which = 0; which < POOL_HEAP_SETS; which++) {
        if (count < ph_limit(c, which))
            ph_set_add(ph_set_of(book, cls, which), index);
    }
}

// The lowest `count` ones of a word.
POOL_HEAP_FN uint32_t ph_some(uint32_t bits, uint32_t count) {
    uint32_t some = 0;
    if (ph_count(bits) <= count)
        return bits;
    for (; count != 0; count--, bits &= bits - 1)
        some |= bits & (0 - bits);
    return some;
}

// Takes some of the blocks that were reserved, at least one: sets bits of one word, and returns
// them.
//
// A slab that nobody has freed in is filled from its beginning: there the blocks are those that
// follow the ones taken before, which need no look at the words. Where they aren't free, it goes
// through all words by steps that lie far apart.
POOL_HEAP_FN uint32_t ph_take(struct ph_book *book, uint32_t cls, struct ph_grant *grant,
                              uint32_t *word) {
    const struct ph_class *c = &book->cls[cls];
    uint32_t *bits = ph_bits(&book->slab[grant->slab], c);
    uint32_t words = (c->blocks + 31) / 32, won = 0;
    while (won == 0) {
        uint32_t wanted, start = grant->start;
        *word = (start / 32 + grant->probe * 0x9e3779b1u) & (c->probes - 1);
        if (*word >= words) {
            grant->probe++;
            continue;
        }
        if (grant->probe == 0) {
            uint32_t left = 32 - start % 32, count = grant->blocks < left ? grant->blocks : left;
            wanted = (count == 32 ? ~0u : (1u << count) - 1) << start % 32;
            grant->start += count;
        } else {
            uint32_t blocks = c->blocks - *word * 32; // that the word stands for
            uint32_t valid = blocks >= 32 ? ~0u : (1u << blocks) - 1;
            wanted = ph_some(~ph_load(&bits[*word]) & valid, grant->blocks);
        }
        if (wanted != 0)
            won = wanted & ~ph_or(&bits[*word], wanted);
        if (grant->probe != 0 || won != wanted)
            grant->probe++;
    }
    grant->blocks -= ph_count(won);
    return won;
}

#endif
