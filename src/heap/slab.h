// Slabs: a run of pages cut into equal small blocks of one size class.
//
// The run is a live block of a chain; the slab's bookkeeping is in host memory and goes by index: for each
// small block the bytes that were asked for (0 = not live) and the next index of the free list that it is
// in. Blocks that were never used stand behind `fresh`, so making a slab writes no list.
//
// A slab has an owner, the lane that made it, whose lock guards all of it. Blocks freed on the owner's stream
// are free at once. Blocks freed on another stream are *returned*: they wait until all of `foreign` is
// complete, for the whole slab at once, which is coarse and safe.
//
//   live + free (listed or behind fresh) + returned = blocks of the class
//   the memory was last used at (the owner's stream, last_sequence) and at `foreign`
#ifndef STREAMPOOL_HEAP_SLAB_H
#define STREAMPOOL_HEAP_SLAB_H

#include "base/list.h"
#include "heap/block.h"

#define SP_SLAB_END UINT16_MAX

// Slabs of different lanes lie side by side, so each has cache lines of its own.
struct sp_slab {
    // What an allocation and a free need, one of them.
    _Alignas(64) struct sp_list
        link; // in the owner's list of slabs of the class that have free blocks, or unlinked
    void *owner;
    uint64_t address;
    uint64_t last_sequence;
    uint16_t *next; // by index
    uint16_t class_index;
    uint16_t live;
    uint16_t fresh; // blocks from here on were never used
    uint16_t free_head;

    uint16_t returned_head;
    uint16_t returned;
    struct sp_list returned_link; // in the owner's list of slabs that have returned blocks, or unlinked
    struct sp_list owned_link;    // in the owner's list of all its slabs
    struct sp_block *run;
    struct sp_fence_set foreign;
    struct sp_slab *next_spare;
    uint32_t requested[]; // by index
};

// Null without host memory. The slab has no run yet and owns nothing: the caller sets owner and links.
struct sp_slab *sp_slab_create(unsigned class_index);

// Makes a live block of the class's size the slab's run.
void sp_slab_set_run(struct sp_slab *slab, struct sp_block *run);
void sp_slab_destroy(struct sp_slab *slab);

static inline const struct sp_size_class *sp_slab_class(const struct sp_slab *slab) {
    return &sp_size_classes[slab->class_index];
}

static inline bool sp_slab_has_free(const struct sp_slab *slab) {
    return slab->free_head != SP_SLAB_END || slab->fresh < sp_slab_class(slab)->blocks;
}

// Takes a free block, of which there must be one, for a request of that many bytes.
static inline uint64_t sp_slab_take(struct sp_slab *slab, size_t requested) {
    uint16_t index = slab->free_head;
    if (index != SP_SLAB_END)
        slab->free_head = slab->next[index];
    else
        index = slab->fresh++;
    slab->requested[index] = (uint32_t)requested;
    slab->live++;
    return slab->address + (uint64_t)index * sp_slab_class(slab)->block_size;
}

// The index of the live block at an address in the slab, or SP_SLAB_END when none begins there.
static inline uint16_t sp_slab_find(const struct sp_slab *slab, uint64_t address) {
    const struct sp_size_class *class = sp_slab_class(slab);
    uint64_t offset = address - slab->address;
    uint64_t index = ((offset >> 9) * class->reciprocal) >> 32;
    if (index * class->block_size != offset || index >= class->blocks || slab->requested[index] == 0)
        return SP_SLAB_END;
    return (uint16_t)index;
}

// Frees a live block: at once, or as returned. Both give the bytes that were asked for.
static inline uint32_t sp_slab_put(struct sp_slab *slab, uint16_t index) {
    uint32_t requested = slab->requested[index];
    slab->requested[index] = 0;
    slab->next[index] = slab->free_head;
    slab->free_head = index;
    slab->live--;
    return requested;
}

static inline uint32_t sp_slab_return(struct sp_slab *slab, uint16_t index) {
    uint32_t requested = slab->requested[index];
    slab->requested[index] = 0;
    slab->next[index] = slab->returned_head;
    slab->returned_head = index;
    slab->returned++;
    slab->live--;
    return requested;
}

// Makes all returned blocks free: all of `foreign` is complete, or the owner's stream runs after it.
void sp_slab_accept_returned(struct sp_slab *slab);

// The sums above, and that the lists hold what they should. For checks.
bool sp_slab_check(const struct sp_slab *slab);

#endif
