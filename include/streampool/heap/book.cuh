/// @file
/// The book of a device heap: one allocation on the device that says what each slab holds.
///
/// Host and device share this layout. All of it is internal to streampool/heap.h and
/// streampool/heap.cuh.
///
/// A heap's memory is *slabs* of one size, a power of two from 64 KiB to 2 MiB. A slab is free, or
/// holds blocks of one class, or is part of a run, which is one large block. The book has
///
///   states    for each slab: what it is (its *tag*), and how many of its blocks are taken, in one
///             word, so that an atomic addition takes blocks and tells whether they were there
///   bits      which blocks are taken. With more than POOL_HEAP_BITS_INLINE blocks they lie at the
///             slab's beginning
///   sets      of slabs, as bits with sums above: the free ones, and for each class those with a
///             block to spare (*any*) and those with many (*room*)
///   current   for each class and each of some groups of processors: the slab to look at first,
///             which needs not be in a set
///   places    a hash table from addresses to slabs
#ifndef STREAMPOOL_HEAP_BOOK_CUH
#define STREAMPOOL_HEAP_BOOK_CUH

#include "machine.cuh"

enum {
    POOL_HEAP_CLASSES = 32,      // 16, 32, 48, 64, 96, ... bytes, up to half of 2 MiB
    POOL_HEAP_SLABS_MAX = 65536, // an index has 16 bits in a key of ph_match
    POOL_HEAP_SHIFT_MIN = 16,    // a slab has 64 KiB
    POOL_HEAP_SHIFT_MAX = 21,    // ... to 2 MiB
    POOL_HEAP_BITS_INLINE = 1024,
    POOL_HEAP_GROUPS_MAX = 64, // groups of processors
    POOL_HEAP_ERRORS = 16,     // errors that the book remembers
};

// Tags of a slab, in the upper six bits of its state. The lower bits count the blocks that are
// taken, and for a moment those that somebody asked for in vain.
enum {
    POOL_HEAP_ABSENT, // no memory
    POOL_HEAP_FREE,   // in the set of free slabs, or on its way into it or out of it
    POOL_HEAP_RUN,    // the first slab of a run
    POOL_HEAP_BODY,   // another slab of a run
    POOL_HEAP_FIRST,  // and more: blocks of class tag - POOL_HEAP_FIRST
    POOL_HEAP_TAG_SHIFT = 26,
};
#define POOL_HEAP_COUNT_MASK ((UINT32_C(1) << POOL_HEAP_TAG_SHIFT) - 1)
#define POOL_HEAP_NONE       UINT32_MAX // no slab

// Blocks of one size.
struct ph_class {
    uint32_t size;   // bytes
    uint32_t blocks; // in a slab
    uint32_t room;   // taken blocks below which a slab has room
    uint32_t begin;  // bytes before the first block, for bits
    uint32_t probes; // words of bits, rounded up to a power of two
    uint32_t unused[3];
};

struct ph_slab {
    uint32_t state;
    uint32_t run;  // slabs of the run that begins here
    uint64_t base; // its address; constant while the slab isn't absent
    uint32_t unused[4];
    uint32_t bits[POOL_HEAP_BITS_INLINE / 32];
};

// A set of slabs: a bit each, a sum bit for 64 of them, and a sum bit for 64 of those.
struct ph_set {
    uint64_t sums;
    uint64_t *middle; // POOL_HEAP_SLABS_MAX / 64 / 64 words at most
    uint64_t *leaves;
};

// As many groups of processors as leave the most of a heap to other classes: a class has a current
// slab for each, and all of them together are a 128th of the slabs at most.
POOL_HEAP_FN uint32_t ph_groups(uint32_t slabs, uint32_t most) {
    uint32_t groups = 1;
    while (groups < most && groups * 2 * 128 <= slabs)
        groups *= 2;
    return groups;
}

// Where a group of processors looks first for a class: a sector of its own.
struct ph_current {
    uint32_t slab;
    uint32_t opening; // odd while one of the group looks for the next slab; each has its number
    uint32_t unused[6];
};

// An error that a free found.
struct ph_error {
    uint32_t kind; // enum poolHeapErrorKind
    uint32_t unused;
    uint64_t address;
};

struct ph_book {
    // These stay as they are while the heap lives.
    uint32_t slabs;   // entries of `slab`
    uint32_t shift;   // of a slab's size
    uint32_t classes; // that a slab of this size can hold
    uint32_t groups;  // of processors at most, a power of two
    uint32_t places;  // a power of two
    uint32_t reach;   // of searches in `place`; grows as slabs are admitted
    uint32_t unused[2];
    struct ph_slab *slab;
    struct ph_current *current; // [classes][groups]
    uint64_t *place;            // of a slab by its address (place.cuh)
    uint64_t *joined;           // a bit for each slab: the slab before it ends where it begins
    struct ph_class cls[POOL_HEAP_CLASSES];
    // These change, some with each call.
    struct ph_set free;
    struct ph_set any[POOL_HEAP_CLASSES];
    struct ph_set room[POOL_HEAP_CLASSES];
    uint64_t row_missing; // what run.cuh remembers of a search in vain
    uint32_t present;     // slabs that aren't absent
    uint32_t spread;      // groups of processors in use: ph_groups() of that
    uint32_t searching;   // 1 while somebody claims several slabs
    uint32_t begun;       // times that somebody began to move a slab from set to set
    uint32_t ended;       // ... and had done it
    uint32_t error_count;
    struct ph_error error[POOL_HEAP_ERRORS];
    uint64_t failures[POOL_HEAP_CLASSES + 1]; // requests that found nothing; the last is runs'
    uint64_t bytes_failed_most;               // the largest of them
    uint64_t run_failed_most; // the largest run that the heap could hold, since a survey looked
    uint64_t foreign_frees;
    uint64_t double_frees;
};

#endif
