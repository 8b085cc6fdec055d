// Slabs: a run of pages cut into equal small blocks of one size class.
//
// The run is a live block of a chain. The slab's bookkeeping is in host memory and goes by index.
// As long as the same number of bytes was asked for with all live blocks, it stands once in the
// slab, and all that a pair looks at is in one cache line: among many blocks that line is in no
// near cache, and each further one would make the pair wait longer. A slab that has blocks of two
// numbers is *mixed* from then on, and has the number of each block.
//
//   free      a bit says so
//   returned  another bit says so
//   live      neither; `asked`, or `asked_each` in a mixed slab, are the bytes that were asked for
//
// A slab has an owner, the lane that made it, whose lock guards all of it. A block that is freed on
// the owner's stream is free at once. A block that is freed on another stream is *returned*:
// returned blocks wait until all of `foreign` is complete, for the whole slab at once, which is
// coarse and safe.
//
//   live + free + returned = blocks of the class
//   the memory was last used at (the owner's stream, last_sequence) and at `foreign`
//
// A request of at most SP_SMALL_MAX bytes is served from a slab of its size class, or is loose
// (region/loose.h). A larger one is a block of its own, of at least a page, so that no two large
// blocks begin in the same page of the page map. The classes stand 512 bytes apart up to 4 KiB, and
// above that there are four to a doubling. So rounding costs less than 512 bytes, or less than a
// fifth. A slab has as many pages as keep its own waste at or under a sixteenth.
#ifndef STREAMPOOL_HEAP_SLAB_H
#define STREAMPOOL_HEAP_SLAB_H

#include "base/atomic.h"
#include "base/cold.h"
#include "base/list.h"
#include "base/page_map.h"
#include "heap/block.h"

// X(block size in bytes, pages of a slab), by class.
// clang-format off
#define SP_SIZE_CLASSES(X) \
    X(512, 1) X(1024, 1) X(1536, 1) X(2048, 1) X(2560, 1) X(3072, 1) X(3584, 1) X(4096, 1) \
    X(5120, 1) X(6144, 1) X(7168, 1) X(8192, 1) \
    X(10240, 1) X(12288, 1) X(14336, 2) X(16384, 1) \
    X(20480, 1) X(24576, 2) X(28672, 4) X(32768, 2) \
    X(40960, 2) X(49152, 3) X(57344, 7)
// clang-format on

enum {
#define SP_COUNT_CLASS(size, pages) +1
    SP_CLASS_COUNT = SP_SIZE_CLASSES(SP_COUNT_CLASS),
#undef SP_COUNT_CLASS
    SP_SMALL_MAX = 57344
};

struct sp_size_class {
    uint32_t block_size;
    uint32_t pages;
    uint32_t blocks;     // in a slab
    uint64_t reciprocal; // see sp_slab_index
};

extern const struct sp_size_class sp_size_classes[SP_CLASS_COUNT];

enum { SP_SLAB_WORDS = 2 }; // of bits, one for each block

#define SP_SLAB_END   ((uint16_t)0xFFFF) // an index of no block
#define SP_SLAB_MIXED ((uint16_t)0xFFFF) // more than anybody may ask for

static_assert(SP_SMALL_MAX < SP_SLAB_MIXED, "what is asked for is told from it");

// Slabs of different lanes lie side by side, so each has cache lines of its own.
struct sp_slab {
    // An allocation or a free needs the fields up to `returned`, one cache line. The link is in the
    // owner's list of slabs of the class that have free blocks, or unlinked.
    _Alignas(64) struct sp_list link;
    struct sp_lane *owner;
    uint64_t address;
    uint64_t last_sequence;
    uint64_t free[SP_SLAB_WORDS]; // a bit for each block of the class that is free
    uint16_t asked;               // with each live block, or SP_SLAB_MIXED; 0 before the first one
    uint8_t class_index;
    uint8_t live;
    uint8_t returned;

    struct sp_block *run;
    uint64_t returned_blocks[SP_SLAB_WORDS];
    // In the owner's list of slabs that have returned blocks, or unlinked.
    struct sp_list returned_link;
    struct sp_list owned_link; // in the owner's list of all its slabs
    struct sp_fence_set foreign;
    struct sp_slab *next_spare;
    _Alignas(64) uint16_t asked_each[]; // by index, where the slab is mixed
};

// A bit for each class of which a slab was ever mixed: a hint which cache lines a free will need.
extern __attribute__((visibility("hidden"))) _Atomic uint32_t sp_slab_mixed_classes;

// Makes a slab that has no run and is in no list; the caller sets the owner. Null without host
// memory.
struct sp_slab *sp_slab_create(unsigned class_index);

// Makes a live block of the class's size the slab's run.
void sp_slab_set_run(struct sp_slab *slab, struct sp_block *run);

// Makes the slab spare.
void sp_slab_destroy(struct sp_slab *slab);

// The class of a request of 1 to SP_SMALL_MAX bytes.
static inline unsigned sp_slab_class_of(size_t size) {
    size_t last = size - 1;
    if (last < 4096)
        return (unsigned)(last >> 9);
    unsigned doubling = sp_log2_floor(last);
    return 8 + (doubling - 12) * 4 + (unsigned)((last >> (doubling - 2)) & 3);
}

// The index of the block that an offset in a slab lies in. It takes no division, as the reciprocal
// is exact for every offset.
static inline uint64_t sp_slab_index(const struct sp_size_class *class, uint64_t offset) {
    return ((offset >> 9) * class->reciprocal) >> 32;
}

static inline const struct sp_size_class *sp_slab_class(const struct sp_slab *slab) {
    return &sp_size_classes[slab->class_index];
}

static inline uint32_t sp_slab_bytes(const struct sp_slab *slab) {
    return sp_slab_class(slab)->pages * (uint32_t)SP_PAGE_SIZE;
}

static inline bool sp_slab_has_free(const struct sp_slab *slab) {
    return (slab->free[0] | slab->free[1]) != 0;
}

static inline bool sp_slab_is_live(const struct sp_slab *slab, uint32_t index) {
    uint64_t others = slab->free[index / 64];
    if (SP_UNLIKELY(slab->returned != 0))
        others |= slab->returned_blocks[index / 64];
    return (others >> index % 64 & 1) == 0;
}

// The bytes that were asked for when a live block was taken.
static inline uint32_t sp_slab_requested(const struct sp_slab *slab, uint32_t index) {
    uint16_t asked = slab->asked;
    return SP_UNLIKELY(asked == SP_SLAB_MIXED) ? sp_load_plain(&slab->asked_each[index]) : asked;
}

// Notes what is asked for with a block that is about to be live, where that isn't `asked`, and the
// slab isn't mixed yet.
void sp_slab_note_asked(struct sp_slab *slab, uint32_t index, uint16_t asked);

// Takes the lowest free block, of which there must be one, for a request of so many bytes: at least
// 1, and no more than a block has. Who looks at the slab without the lock, and sees that the block
// isn't free, sees what was asked for.
static inline uint64_t sp_slab_take(struct sp_slab *slab, size_t requested) {
    uint32_t block_size = sp_size_classes[slab->class_index].block_size;
    uint32_t word = slab->free[0] == 0; // no branch: it would often be foreseen wrongly
    uint64_t bits = slab->free[word];
    uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(bits);
    if (slab->asked == SP_SLAB_MIXED)
        sp_store_plain(&slab->asked_each[index], (uint16_t)requested);
    else if (SP_UNLIKELY(requested != slab->asked))
        sp_slab_note_asked(slab, index, (uint16_t)requested);
    slab->live++;
    __atomic_store_n(&slab->free[word], bits & (bits - 1), __ATOMIC_RELEASE);
    return slab->address + (uint64_t)index * block_size;
}

// The index of the live block at an address in the slab, or SP_SLAB_END when none begins there.
static inline uint16_t sp_slab_find(const struct sp_slab *slab, uint64_t address) {
    const struct sp_size_class *class = &sp_size_classes[slab->class_index];
    uint64_t offset = address - slab->address;
    uint64_t index = sp_slab_index(class, offset);
    if (index * class->block_size != offset || index >= class->blocks ||
        !sp_slab_is_live(slab, (uint32_t)index))
        return SP_SLAB_END;
    return (uint16_t)index;
}

// Frees a live block. Returns the bytes that were asked for.
static inline uint32_t sp_slab_put(struct sp_slab *slab, uint16_t index) {
    slab->free[index / 64] |= (uint64_t)1 << index % 64;
    slab->live--;
    return sp_slab_requested(slab, index);
}

// Makes a live block a returned one. Returns the bytes that were asked for.
static inline uint32_t sp_slab_return(struct sp_slab *slab, uint16_t index) {
    uint64_t bits = slab->returned_blocks[index / 64];
    sp_store_plain(&slab->returned_blocks[index / 64], bits | (uint64_t)1 << index % 64);
    slab->returned++;
    slab->live--;
    return sp_slab_requested(slab, index);
}

// Makes all returned blocks free. The caller knows that all of `foreign` is complete, or that the
// owner's stream runs after it.
void sp_slab_accept_returned(struct sp_slab *slab);

#endif
