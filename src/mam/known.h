// Large blocks that a manager knows to be its own.
//
// A free must know that the address is a block of the manager. poolPointerGetAttributes tells it,
// and counts the pieces of memory under the block on the way, which takes longer the larger the
// block is. So a manager notes the large blocks that it hands out, as many as there is room for: a
// later block takes the place of an earlier one, of which the call must be asked then.
//
//   an address is noted  =>  it was handed out, and no poolMamFree has had it since
#ifndef STREAMPOOL_MAM_KNOWN_H
#define STREAMPOOL_MAM_KNOWN_H

#include "base/atomic.h"

#include <stdbool.h>
#include <stddef.h>

enum { SP_KNOWN_PLACES = 256 };
#define SP_KNOWN_LEAST ((size_t)1 << 20) // bytes of a block for which it is worth while

struct sp_known {
    _Atomic(void *) places[SP_KNOWN_PLACES];
};

// Large blocks begin at multiples of 512 bytes, and often at those of 2 MiB.
static inline _Atomic(void *) *sp_known_place(struct sp_known *known, const void *block) {
    uint64_t mixed = (uint64_t)(uintptr_t)block * 0x9e3779b97f4a7c15;
    return &known->places[mixed >> 56];
}

static inline void sp_known_note(struct sp_known *known, void *block) {
    sp_store_relaxed(sp_known_place(known, block), block);
}

// True when the block was noted; it isn't any more.
static inline bool sp_known_take(struct sp_known *known, void *block) {
    _Atomic(void *) *place = sp_known_place(known, block);
    return sp_load_relaxed(place) == block &&
           atomic_compare_exchange_strong(place, &(void *){block}, NULL);
}

// Forgets all.
static inline void sp_known_clear(struct sp_known *known) {
    for (size_t i = 0; i < SP_KNOWN_PLACES; i++)
        sp_store_relaxed(&known->places[i], NULL);
}

#endif
