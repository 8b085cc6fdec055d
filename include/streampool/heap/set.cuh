/// @file
/// Sets of slabs that all threads change and search at once. Internal to streampool/heap.cuh.
///
/// A set is a guess, but for that of free slabs, where clearing a bit claims the slab. Who clears a
/// bit looks again at what it stands for, and sets it again if need be: so no slab is forgotten.
#ifndef STREAMPOOL_HEAP_SET_CUH
#define STREAMPOOL_HEAP_SET_CUH

#include "book.cuh"

// A thread may have ended between the two operations of its own: so the sums are set where they
// lack this slab's, too, or all slabs of the leaf would be hidden from then on.
POOL_HEAP_CALL void ph_set_add(struct ph_set *set, uint32_t slab) {
    uint32_t leaf = slab / 64, middle = leaf / 64;
    uint64_t bit = UINT64_C(1) << leaf % 64, sum = UINT64_C(1) << middle;
    int first = ph_or64(&set->leaves[leaf], UINT64_C(1) << slab % 64) == 0;
    if (first || (ph_load64(&set->middle[middle]) & bit) == 0)
        first = ph_or64(&set->middle[middle], bit) == 0;
    if (first || (ph_load64(&set->sums) & sum) == 0)
        ph_or64(&set->sums, sum);
}

// The last bit of a leaf was cleared: its sums go, unless somebody has added to it since.
POOL_HEAP_FN void ph_set_tidy(struct ph_set *set, uint32_t leaf) {
    uint32_t middle = leaf / 64;
    uint64_t bit = UINT64_C(1) << leaf % 64;
    if (ph_and64(&set->middle[middle], ~bit) == bit) {
        ph_and64(&set->sums, ~(UINT64_C(1) << middle));
        if (ph_load64(&set->middle[middle]) != 0)
            ph_or64(&set->sums, UINT64_C(1) << middle);
    }
    if (ph_load64(&set->leaves[leaf]) != 0 && ph_or64(&set->middle[middle], bit) == 0)
        ph_or64(&set->sums, UINT64_C(1) << middle);
}

// Takes these slabs of a leaf out of the set, and returns those that were in it.
POOL_HEAP_CALL uint64_t ph_set_remove(struct ph_set *set, uint32_t leaf, uint64_t slabs) {
    uint64_t old = ph_and64(&set->leaves[leaf], ~slabs);
    if (old != 0 && (old & ~slabs) == 0)
        ph_set_tidy(set, leaf);
    return old & slabs;
}

// Finds a slab of the set: a random one of the first 64 that has any, so that threads spread, and
// the slabs at the end stay empty. POOL_HEAP_NONE if there is none.
POOL_HEAP_FN uint32_t ph_set_pick(struct ph_set *set) {
    for (uint64_t sums = ph_load64(&set->sums); sums != 0; sums &= sums - 1) {
        uint32_t middle = ph_lowest64(sums);
        for (uint64_t more = ph_load64(&set->middle[middle]); more != 0; more &= more - 1) {
            uint32_t leaf = middle * 64 + ph_lowest64(more);
            uint64_t slabs = ph_load64(&set->leaves[leaf]);
            if (slabs == 0)
                continue;
            uint32_t turn = ph_dice() >> 26;
            uint64_t turned = turn == 0 ? slabs : slabs >> turn | slabs << (64 - turn);
            return leaf * 64 + (ph_lowest64(turned) + turn) % 64;
        }
    }
    return POOL_HEAP_NONE;
}

#endif
