// Chains, and the blocks into which the address range of a chain is divided.
//
// A chain covers its range without a gap: every address of it lies in exactly one block, and each
// block knows its neighbours.
//
//   block.address + block.size == block.next->address, up to the chain's end
//   all sizes and addresses are multiples of SP_ALIGNMENT
//
// A block's state says what it is. A block is addresses and sizes only: nothing here touches memory
// behind an address, and nothing calls a driver.
//
// The lock of the pool that owns the chain guards the chain and every field of its blocks, with two
// exceptions. A thread that frees a live block changes its `state` under the lock of the block's
// account, so that the second of two frees is found. And the holder of a live or cached block, or
// of one that is BUSY because it is being freed, may read and write its `requested` and `fences`.
//
// Descriptors are never given back to the system. So a stale pointer from the page map still points
// to a descriptor, whose state says that it is no block.
//
// A table finds the block at an address. A *unit* is 2 MiB of the chain's range, and the table has
// an entry for each: the first block that begins in it, or null. The entries stand in *leaves* of
// 512 units. A leaf is made when the first block begins in its part of the range, as a range has
// room for a whole device, and a new pool should not pay for that.
//
//   exactly the first block of each unit stands in the table
//   a bit of `begins` is set exactly where the entry isn't null
#ifndef STREAMPOOL_HEAP_BLOCK_H
#define STREAMPOOL_HEAP_BLOCK_H

#include "base/atomic.h"
#include "base/number.h"
#include "base/tree.h"
#include "order/fence.h"

#define SP_ALIGNMENT ((size_t)512)

// The bin of a size, of which there are eight to a doubling. A larger size is never in a lower bin.
static inline unsigned sp_block_bin(uint64_t size) {
    uint64_t units = size / SP_ALIGNMENT;
    if (units < 8)
        return (unsigned)units;
    unsigned doubling = sp_log2_floor(units);
    return doubling * 8 - 16 + (unsigned)(units >> (doubling - 3) & 7);
}

enum sp_block_state {
    SP_BLOCK_NONE,     // a spare descriptor
    SP_BLOCK_HOLE,     // address space with no memory behind it, in the index of holes
    SP_BLOCK_FREE,     // memory, in a tier's index
    SP_BLOCK_CACHED,   // memory, free, in a lane's quick list: to the chain it is still taken
    SP_BLOCK_LIVE,     // memory, handed out: to a caller, or as the run of a slab
    SP_BLOCK_BUSY,     // in no index: a thread frees it, maps or unmaps it, or inserts waits for it
    SP_BLOCK_STITCHED, // memory, part of a live or cached block that lies at another address; see
                       // region/stitch.h
    SP_BLOCK_VACANT,   // address space of a stitched view in which no block lies
    SP_BLOCK_LOST,     // in no index: its memory ended with its context; see region/segment.h
};

struct sp_chain;
struct sp_lane;
struct sp_leaf;
struct sp_slab;
struct sp_tier;

// Blocks of different lanes lie side by side, so each has cache lines of its own: two of them. The
// first has all that is read of a neighbour.
struct sp_block {
    _Alignas(64) uint64_t address;
    uint64_t size;
    _Atomic uint32_t state;
    bool is_run;     // live: of a slab
    uint8_t bin;     // free: in the tier
    bool is_foreign; // free: freed by another stream than allocated it, or by several
    struct sp_chain *chain;
    struct sp_block *prev, *next; // neighbours by address; next also links spare descriptors
    struct sp_tier *tier;         // free: the index it is in
    union {
        struct sp_tree_node by_size; // free: in that index
        struct sp_block *part_of;    // stitched: the block that it is part of
        struct {
            uint64_t requested;          // live: the bytes that were asked for
            struct sp_block *quick_next; // cached: in the lane's quick list
            union {
                struct sp_slab *slab; // a run: the slab
                // Live, and no run: the lane that counts `requested`; see region/figures.h.
                struct sp_lane *_Atomic account;
            };
        };
    };
    // The places in streams where it was last used. A live block keeps those it was taken with.
    struct sp_fence_set fences;
};
static_assert(sizeof(struct sp_block) == 128, "a block descriptor is two cache lines");

static inline enum sp_block_state sp_block_state(const struct sp_block *block) {
    return (enum sp_block_state)sp_load_acquire(&block->state);
}

static inline void sp_block_set_state(struct sp_block *block, enum sp_block_state state) {
    sp_store_release(&block->state, state);
}

// Makes a block that was taken out of an index live, with no account yet.
static inline void sp_block_set_live(struct sp_block *block) {
    block->is_foreign = false;
    sp_store_relaxed(&block->account, NULL);
    sp_block_set_state(block, SP_BLOCK_LIVE);
}

static inline uint64_t sp_block_end(const struct sp_block *block) {
    return block->address + block->size;
}

// The block is free memory in a tier. Null is not.
static inline bool sp_block_is_in_tier(const struct sp_block *block) {
    return block && sp_block_state(block) == SP_BLOCK_FREE;
}

struct sp_chain {
    uint64_t address;
    uint64_t size;
    uint64_t bias; // see sp_chain_rank()
    struct sp_block *first;
    // Descriptors for the next blocks, which are taken with no lock but the chain's own.
    struct sp_block *spare;
    uint32_t spare_count;
    struct sp_leaf **leaves; // the table
};

// The rank of a block says where it stands in an order, also among those of other chains. It is the
// address, but where the driver chose that: there the chain's owner sets the bias, so that the
// order doesn't depend on the driver.
static inline uint64_t sp_chain_rank(const struct sp_block *block) {
    return block->address + block->chain->bias;
}

// Makes a chain of one block, which is BUSY and in no index. False without host memory.
bool sp_chain_open(struct sp_chain *chain, uint64_t address, uint64_t size);

// Gives all descriptors back, whatever the blocks are. Does nothing to a chain that is all zero.
void sp_chain_close(struct sp_chain *chain);

// Return the block at the chain's end, and the one that an address of the range lies in.
struct sp_block *sp_chain_last(const struct sp_chain *chain);
struct sp_block *sp_chain_find(const struct sp_chain *chain, uint64_t address);

// Makes the chain longer by `more` bytes, which are a block of their own at its end, BUSY and in no
// index. Null without host memory; then nothing has changed.
struct sp_block *sp_chain_extend(struct sp_chain *chain, uint64_t more);

// Makes the chain shorter by `less` bytes at the end of its last block, which is in no index and
// has no fences. They are not the whole chain. Returns the rest of that block, or null.
struct sp_block *sp_chain_shrink(struct sp_chain *chain, uint64_t less);

// Cuts a block that is in no index after `size` bytes, less than its size. Returns the rest, which
// has the block's state and fences. Null without host memory; then nothing has changed.
struct sp_block *sp_block_split(struct sp_block *block, uint64_t size);

// Cuts the first `size` bytes, less than its size, off a block, which stays what it is with the
// rest, in an index too. Returns them as a block that is BUSY and has the same fences. Null without
// host memory; then nothing has changed.
struct sp_block *sp_block_cut_front(struct sp_block *block, uint64_t size);

// Appends the block's next neighbour, both in no index, and joins their fences. False without host
// memory for those; then nothing has changed.
bool sp_block_absorb_next(struct sp_block *block);

// --------------------------------------------------------------------------------------- the table

enum { SP_UNIT_SHIFT = 21, SP_LEAF_SHIFT = 9, SP_LEAF_UNITS = 1 << SP_LEAF_SHIFT };

// The units of a leaf, in groups.
enum { SP_GROUP_SHIFT = 6, SP_LEAF_GROUPS = SP_LEAF_UNITS >> SP_GROUP_SHIFT };

struct sp_leaf {
    uint64_t begins[SP_LEAF_GROUPS];   // a bit for each unit, by which a long block is passed over
    uint8_t rows[SP_LEAF_UNITS];       // these numbers are for searches: see heap/search.h
    uint8_t rows_most;                 // no entry is larger
    uint8_t free[SP_LEAF_UNITS];       // numbers likewise
    uint8_t free_most[SP_LEAF_GROUPS]; // no entry of the group is larger
    struct sp_block *first[];
};

// The number of the unit that an address lies in.
static inline size_t sp_units_at(const struct sp_chain *chain, uint64_t address) {
    return (size_t)((address - chain->address) >> SP_UNIT_SHIFT);
}

static inline size_t sp_units_count(const struct sp_chain *chain) {
    return (size_t)((chain->size - 1) >> SP_UNIT_SHIFT) + 1;
}

// How many leaves the chain has room for.
static inline size_t sp_units_leaves(const struct sp_chain *chain) {
    return ((sp_units_count(chain) - 1) >> SP_LEAF_SHIFT) + 1;
}

// The leaf of a unit, or null where no block has begun.
static inline struct sp_leaf *sp_units_leaf(const struct sp_chain *chain, size_t unit) {
    return chain->leaves[unit >> SP_LEAF_SHIFT];
}

// Makes the leaf in which a block that begins at an address is entered. False without host memory.
bool sp_chain_make_room(struct sp_chain *chain, uint64_t address);

#endif
