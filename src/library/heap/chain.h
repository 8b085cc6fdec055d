// Chains: the blocks of one address range, in order.
//
// A chain covers its range without a gap: every address of it lies in exactly one block, and each
// block knows its neighbours.
//
//   block.address + block.size == block.next->address, up to the chain's end
//   all sizes and addresses are multiples of SP_ALIGNMENT
//
// The lock of the pool that owns the chain guards it.
#ifndef STREAMPOOL_HEAP_CHAIN_H
#define STREAMPOOL_HEAP_CHAIN_H

#include "heap/block.h"

struct sp_leaf;

struct sp_chain {
    uint64_t address;
    uint64_t size;
    uint64_t bias; // see sp_chain_rank()
    struct sp_block *first;
    // Descriptors for the next blocks, which are taken with no lock but the chain's own.
    struct sp_block *spare;
    uint32_t spare_count;
    struct sp_leaf **leaves; // see heap/units.h
};

static inline bool sp_chain_covers(const struct sp_chain *chain, uint64_t address) {
    return address >= chain->address && address - chain->address < chain->size;
}

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

// The block at the chain's end.
struct sp_block *sp_chain_last(const struct sp_chain *chain);

// The block that an address of the range lies in.
struct sp_block *sp_chain_find(const struct sp_chain *chain, uint64_t address);

// Makes the chain longer by `more` bytes, which are a block of their own at its end, BUSY and in no
// index. Null without host memory; then nothing has changed.
struct sp_block *sp_chain_extend(struct sp_chain *chain, uint64_t more);

// Makes the chain shorter by `less` bytes at the end of its last block, which is in no index and
// has no fences. They are not the whole chain. Returns the rest of that block, or null.
struct sp_block *sp_chain_shrink(struct sp_chain *chain, uint64_t less);

#endif
