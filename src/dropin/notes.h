// Notes about allocations of ours, for programs that ask: the number that tells an allocation from
// others at the same address (CU_POINTER_ATTRIBUTE_BUFFER_ID), and what the program has set
// (CU_POINTER_ATTRIBUTE_SYNC_MEMOPS). Nearly no program asks, so nothing is noted before one does.
//
// A note ends with its allocation: the calls that free take it along. Memory that the program frees
// by streampool's own calls has its note end when an allocation of another size is found there.
#ifndef STREAMPOOL_DROPIN_NOTES_H
#define STREAMPOOL_DROPIN_NOTES_H

#include "driver/abi.h"

#include "base/atomic.h"

#include <stdbool.h>
#include <streampool/streampool.h>

struct sp_note {
    CUdeviceptr base;          // 0: no note
    unsigned long long number; // none of the driver's numbers, and never given twice
    bool synchronizes;
    size_t size; // that was asked for
};

// Finds the note of a live allocation, and makes one if there is none. False without host memory.
bool sp_notes_find(const struct poolPointerAttributes *allocation, struct sp_note *note);

// Sets if synchronous operations on the allocation are to be complete when they return. False
// without host memory.
bool sp_notes_set_synchronizes(const struct poolPointerAttributes *allocation, bool synchronizes);

extern _Atomic size_t sp_notes_count;

// For a call that frees: takes the note of an address along. It is given back where the call fails.
struct sp_note sp_notes_take_noted(CUdeviceptr base);
void sp_notes_give_back_noted(struct sp_note note);

static inline struct sp_note sp_notes_take(CUdeviceptr base) {
    struct sp_note none = {0};
    return sp_load_relaxed(&sp_notes_count) == 0 ? none : sp_notes_take_noted(base);
}

static inline void sp_notes_give_back(struct sp_note note) {
    if (note.base)
        sp_notes_give_back_noted(note);
}

#endif
