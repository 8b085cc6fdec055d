// Slabs: a run of pages cut into equal small blocks of one size class.
//
// The run is a live block of a chain. The slab's bookkeeping is in host memory and goes by index:
// it has a *code* of two bytes for each small block, so that a free among many blocks finds all
// that it needs in one cache line:
//
//   live      the bytes at its end that were not asked for, fewer than SP_SMALL_MAX
//   not live  SP_SLAB_NOT_LIVE and the next index of the list that it is in, or SP_SLAB_END; so at
//             least SP_SMALL_MAX
//
// Blocks that were never used stand behind `fresh`, so making a slab writes no list.
//
// A slab has an owner, the lane that made it, whose lock guards all of it. A block that is freed on
// the owner's stream is free at once. A block that is freed on another stream is *returned*:
// returned blocks wait until all of `foreign` is complete, for the whole slab at once, which is
// coarse and safe.
//
//   live + free (listed or behind fresh) + returned = blocks of the class
//   the memory was last used at (the owner's stream, last_sequence) and at `foreign`
#ifndef STREAMPOOL_HEAP_SLAB_H
#define STREAMPOOL_HEAP_SLAB_H

#include "base/list.h"
#include "heap/block.h"

#include <assert.h>

#define SP_SLAB_NOT_LIVE ((uint16_t)0xE000)
#define SP_SLAB_END      ((uint16_t)0x1FFF)

static_assert(SP_SMALL_MAX <= SP_SLAB_NOT_LIVE, "the code of a live block is none of another's");

// Slabs of different lanes lie side by side, so each has cache lines of its own.
struct sp_slab {
    // An allocation or a free needs the fields up to `counted_under`. The link is in the owner's
    // list of slabs of the class that have free blocks, or unlinked.
    _Alignas(64) struct sp_list link;
    struct sp_lane *owner;
    uint64_t address;
    uint64_t last_sequence;
    struct sp_block *run;
    uint16_t class_index;
    uint16_t live;
    uint16_t fresh; // blocks from here on were never used
    uint16_t free_head;
    uint16_t returned_head;
    uint16_t returned;
    // The number under which its lane last counted all of it; see region/at_hand.h.
    uint32_t counted_under;

    // In the owner's list of slabs that have returned blocks, or unlinked.
    struct sp_list returned_link;
    struct sp_list owned_link; // in the owner's list of all its slabs
    struct sp_fence_set foreign;
    struct sp_slab *next_spare;
    _Alignas(64) uint16_t codes[]; // by index
};

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
    return slab->free_head != SP_SLAB_END ||
           slab->fresh < sp_size_classes[slab->class_index].blocks;
}

static inline bool sp_slab_is_live(const struct sp_slab *slab, uint32_t index) {
    return slab->codes[index] < SP_SLAB_NOT_LIVE;
}

// The bytes that were asked for when a live block was taken.
static inline uint32_t sp_slab_requested(const struct sp_slab *slab, uint32_t index) {
    return sp_size_classes[slab->class_index].block_size - slab->codes[index];
}

// The index behind that of a block that is not live, in its list.
static inline uint16_t sp_slab_next(const struct sp_slab *slab, uint16_t index) {
    return slab->codes[index] & (uint16_t)~SP_SLAB_NOT_LIVE;
}

static inline void sp_slab_set_next(struct sp_slab *slab, uint16_t index, uint16_t next) {
    slab->codes[index] = next | SP_SLAB_NOT_LIVE;
}

// Takes a free block, of which there must be one, for a request of so many bytes: at least 1, and
// no more than a block has.
static inline uint64_t sp_slab_take(struct sp_slab *slab, size_t requested) {
    uint32_t block_size = sp_size_classes[slab->class_index].block_size;
    uint16_t index = slab->free_head;
    if (index != SP_SLAB_END)
        slab->free_head = sp_slab_next(slab, index);
    else
        index = slab->fresh++;
    slab->codes[index] = (uint16_t)(block_size - requested);
    slab->live++;
    return slab->address + (uint64_t)index * block_size;
}

// The index of the live block at an address in the slab, or SP_SLAB_END when none begins there.
static inline uint16_t sp_slab_find(const struct sp_slab *slab, uint64_t address) {
    const struct sp_size_class *class = &sp_size_classes[slab->class_index];
    uint64_t offset = address - slab->address;
    uint64_t index = sp_slab_index(class, offset);
    if (index * class->block_size != offset || index >= class->blocks ||
        slab->codes[index] >= SP_SLAB_NOT_LIVE)
        return SP_SLAB_END;
    return (uint16_t)index;
}

// Frees a live block at once. Returns the bytes that were asked for.
static inline uint32_t sp_slab_put(struct sp_slab *slab, uint16_t index) {
    uint32_t requested = sp_size_classes[slab->class_index].block_size - slab->codes[index];
    slab->codes[index] = slab->free_head | SP_SLAB_NOT_LIVE;
    slab->free_head = index;
    slab->live--;
    return requested;
}

// Makes a live block a returned one. Returns the bytes that were asked for.
static inline uint32_t sp_slab_return(struct sp_slab *slab, uint16_t index) {
    uint32_t requested = sp_slab_requested(slab, index);
    slab->codes[index] = slab->returned_head | SP_SLAB_NOT_LIVE;
    slab->returned_head = index;
    slab->returned++;
    slab->live--;
    return requested;
}

// Makes all returned blocks free. The caller knows that all of `foreign` is complete, or that the
// owner's stream runs after it.
void sp_slab_accept_returned(struct sp_slab *slab);

#endif
