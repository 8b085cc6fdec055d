// Blocks: how a view's address range is divided, and the order of the pieces.
//
// A *chain* covers one range without a gap: every address of it lies in exactly one block, and each
// block knows its neighbours. What a block is tells its state. Addresses and sizes only: nothing
// here touches memory behind an address, and nothing calls a driver.
//
// Who guards what: the chain and every field by the lock of the pool that owns the chain, but for
// two things. Whoever frees a live block changes its `state` under the lock of its account, so a
// double free is found by whoever comes second. And a live or cached block is its holder's: he may
// read and write `requested` and `fences`. Descriptors are never given back to the system, so that
// a stale pointer from the page map still points to a descriptor, whose state says that it is
// nobody's.
//
//   block.address + block.size == block.next->address, up to the chain's end
//   all sizes and addresses are multiples of SP_ALIGNMENT
#ifndef STREAMPOOL_HEAP_BLOCK_H
#define STREAMPOOL_HEAP_BLOCK_H

#include "base/atomic.h"
#include "base/tree.h"
#include "heap/size_class.h"
#include "order/fence.h"

#include <assert.h>

enum sp_block_state {
    SP_BLOCK_NONE,   // a spare descriptor
    SP_BLOCK_HOLE,   // address space with no memory behind it, in the index of holes
    SP_BLOCK_FREE,   // memory, in a tier's index
    SP_BLOCK_CACHED, // memory, free, in a lane's quick list: to the chain it is still taken
    SP_BLOCK_LIVE,   // memory, handed out: to a caller, or as the run of a slab
    SP_BLOCK_BUSY,   // set aside by a thread that maps or unmaps it, or inserts waits for it: in no
                     // index
    SP_BLOCK_LENT,   // memory, part of a live or cached block that lies at another address; see
                     // pool/stitch.h
    SP_BLOCK_VACANT, // address space of a stitched view in which no block lies
};

struct sp_tier;
struct sp_slab;

// Blocks of different lanes lie side by side, so each has cache lines of its own: two of them. The
// first has what a look at a neighbour needs.
struct sp_block {
    _Alignas(64) uint64_t address;
    uint64_t size;
    _Atomic uint32_t state;
    bool is_run; // live: of a slab
    uint8_t bin; // free: in the tier
    struct sp_chain *chain;
    struct sp_block *prev, *next; // neighbours by address; next also links spare descriptors
    struct sp_tier *tier;         // free: the index it is in
    union {
        struct sp_tree_node by_size; // free: in that index
        struct {
            uint64_t requested;          // live: the bytes that were asked for
            struct sp_block *quick_next; // cached: in the lane's quick list
            union {
                struct sp_slab *slab; // a run: the slab
                // Live, and no run: where `requested` is counted; see pool/figures.h.
                void *_Atomic account;
            };
        };
    };
    // Where it was last used; a live block keeps those it was taken with.
    struct sp_fence_set fences;
};
static_assert(sizeof(struct sp_block) == 128, "a block descriptor is two cache lines");

// Blocks are found by address through a table with an entry for each *unit* of the range: the first
// block that begins in the unit, or null. It is in leaves, each made when the first block begins in
// its part of the range: a range has room for a whole device, and a new pool should not pay for
// that.
enum { SP_UNIT_SHIFT = 21, SP_LEAF_SHIFT = 9, SP_LEAF_UNITS = 1 << SP_LEAF_SHIFT };

struct sp_leaf {
    uint8_t rows[SP_LEAF_UNITS]; // see heap/rows.h
    uint8_t rows_most;           // no entry is larger
    struct sp_block *first[];
};

struct sp_chain {
    uint64_t address;
    uint64_t size;
    struct sp_block *first;
    // Descriptors at hand for the next splits, so that these need no lock but the chain's own.
    struct sp_block *spare;
    uint32_t spare_count;
    struct sp_leaf **leaves; // null: no block has begun there
};

static inline enum sp_block_state sp_block_state(const struct sp_block *block) {
    return (enum sp_block_state)sp_load_acquire(&block->state);
}

static inline void sp_block_set_state(struct sp_block *block, enum sp_block_state state) {
    sp_store_release(&block->state, state);
}

// Out of an index: taken, and in nobody's account yet.
static inline void sp_block_set_live(struct sp_block *block) {
    sp_store_relaxed(&block->account, NULL);
    sp_block_set_state(block, SP_BLOCK_LIVE);
}

static inline bool sp_chain_covers(const struct sp_chain *chain, uint64_t address) {
    return address >= chain->address && address - chain->address < chain->size;
}

static inline size_t sp_unit_of(const struct sp_chain *chain, uint64_t address) {
    return (size_t)((address - chain->address) >> SP_UNIT_SHIFT);
}

static inline size_t sp_chain_units(const struct sp_chain *chain) {
    return (size_t)((chain->size - 1) >> SP_UNIT_SHIFT) + 1;
}

static inline size_t sp_chain_leaves(const struct sp_chain *chain) {
    return ((sp_chain_units(chain) - 1) >> SP_LEAF_SHIFT) + 1;
}

static inline struct sp_leaf *sp_leaf_of(const struct sp_chain *chain, size_t unit) {
    return chain->leaves[unit >> SP_LEAF_SHIFT];
}

static inline uint64_t sp_block_end(const struct sp_block *block) {
    return block->address + block->size;
}

// Makes a chain of one block, which is in no index (BUSY). False without host memory.
bool sp_chain_open(struct sp_chain *chain, uint64_t address, uint64_t size);

// The block at the chain's end.
struct sp_block *sp_chain_last(const struct sp_chain *chain);

// Makes the chain longer by so many bytes, which are a block of their own at its end, BUSY, in no
// index. Null without host memory; then nothing has changed.
struct sp_block *sp_chain_extend(struct sp_chain *chain, uint64_t more);

// Makes the chain shorter by so many bytes of its last block, which is in no index and has no
// fences; but for them all of a chain. Returns what is left of the block, or null.
struct sp_block *sp_chain_shrink(struct sp_chain *chain, uint64_t less);

// Gives all descriptors back; what the blocks are doesn't matter any more. Nothing of a chain that
// is all zero.
void sp_chain_close(struct sp_chain *chain);

// The block that an address of the range lies in.
struct sp_block *sp_chain_find(const struct sp_chain *chain, uint64_t address);

// Cuts a block that is in no index after `size` bytes, less than its size. The rest, which is
// returned, has the same state and the same fences. Null without host memory; then nothing has
// changed.
struct sp_block *sp_block_split(struct sp_block *block, uint64_t size);

// Appends the block's next neighbour, both in no index; the fences are joined. False without host
// memory for those; then nothing has changed.
bool sp_block_absorb_next(struct sp_block *block);

// Order, adjacency, the neighbours' agreement, the table of units and that of rows, no two adjacent
// holes, and that exactly the free blocks and the holes are in a tier. For checks.
bool sp_chain_check(const struct sp_chain *chain);

#endif
