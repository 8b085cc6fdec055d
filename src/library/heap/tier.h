// Tiers: free blocks that may be used on the same terms, indexed by (size, address).
//
// A pool has a tier of ready memory, which anybody may take, one for each lane, whose own stream
// may take it, one of memory that waits for several streams, and one of holes, which are free
// address space. Best fit takes the smallest block that is large enough, the lowest address among
// equals. Neighbours in one tier are always merged, so a tier never holds two adjacent blocks, but
// when joining their fences found no host memory; then they are merged when next one of them comes
// back.
//
// The order by (size, address) stands in *bins*, eight to a doubling of the size: each has the
// blocks of its range of sizes, in a tree, and a bit that says whether it has any. So a block is
// mostly alone in its bin, or among a few, and is put in and taken out in a few instructions, and
// with no look at others; and a thousand blocks of one size are a tree of a thousand.
//
// Guarded by the lock of the pool that owns the blocks. Nothing here fails but a division, for
// which there may be no host memory.
//
//   tier.bytes = sum of the sizes of its blocks; block.tier == tier exactly for these
//   bins[i] is the root of those with bin i; bit i of `used` is set exactly when there are any
#ifndef STREAMPOOL_HEAP_TIER_H
#define STREAMPOOL_HEAP_TIER_H

#include "heap/calendar.h"

enum { SP_TIER_BINS = 256 }; // the last one has all that are larger, too

struct sp_tier {
    uint64_t used[SP_TIER_BINS / 64]; // a bit for each bin that is not empty
    uint64_t bytes;
    enum sp_block_state state;    // of its blocks: SP_BLOCK_FREE or SP_BLOCK_HOLE
    struct sp_calendar *calendar; // that its blocks are in, too, or null
    struct sp_tree_node *bins[SP_TIER_BINS];
};

void sp_tier_init(struct sp_tier *tier, enum sp_block_state state);

// For blocks with one fence each, whose numbers are one stream's.
static inline void sp_tier_init_with_calendar(struct sp_tier *tier, struct sp_calendar *calendar) {
    sp_tier_init(tier, SP_BLOCK_FREE);
    tier->calendar = calendar;
}

// Puts a block in, merged with its neighbours of the same tier. Returns the merged block.
struct sp_block *sp_tier_insert(struct sp_tier *tier, struct sp_block *block);

// Takes a block out of the tier that it is in; its state is BUSY until the caller says otherwise.
void sp_tier_remove(struct sp_block *block);

// The same with the block's first `size` bytes alone; what is left of it stays in the tier. False
// without host memory for the division; then nothing has changed.
bool sp_tier_take(struct sp_block *block, uint64_t size);

// The block that best fits `size` bytes, or null.
struct sp_block *sp_tier_best_fit(const struct sp_tier *tier, uint64_t size);

// Walking a tier by (size, address).
struct sp_block *sp_tier_first(const struct sp_tier *tier);
struct sp_block *sp_tier_last(const struct sp_tier *tier);
struct sp_block *sp_tier_next(const struct sp_block *block);

// The first block that doesn't stand before this size and address.
struct sp_block *sp_tier_from(const struct sp_tier *tier, uint64_t size, uint64_t address);

// The order, the bins, the sum of bytes, and that the blocks are this tier's. For checks.
bool sp_tier_check(const struct sp_tier *tier);

#endif
