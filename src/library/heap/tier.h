// Tiers: free blocks that may be used on the same terms, indexed by (size, rank). The rank is the
// address, but where the driver chose that (heap/block.h).
//
// Regions and lanes have them (region/pool.h, region/lane.h). Best fit takes the smallest block
// that is large enough, and the lowest address among equals.
//
// Neighbours in one tier are merged, but for two exceptions. When joining their fences finds no
// host memory they stay apart until one of them comes back.
//
// And pending memory that is *foreign*, for another stream freed it than had allocated it, merges
// up to SP_FOREIGN_MOST bytes. A merged block waits for the last of what has joined it. Where one
// stream allocates what another one frees, block after block, all that lies side by side would wait
// for the last free, which is always a moment ago: none of it would ever be complete, and the pool
// would grow without end. The parts complete one after the other. The stream that freed them has
// them together all the same, as a row (heap/search.h).
//
// The order by (size, rank) stands in *bins*, eight to a doubling of the size. Each has the
// blocks of its range of sizes in a tree, and a bit that says whether it has any. So a block is
// mostly alone in its bin, or among a few, and goes in and out in a few instructions with no look
// at others. A thousand blocks of one size are a tree of a thousand.
//
// The lock of the pool that owns the blocks guards its tiers. Only a division can fail here, for
// which there may be no host memory.
//
//   tier.bytes = sum of the sizes of its blocks; block.tier == tier exactly for these
//   bins[i] is the root of those with bin i; bit i of `used` is set exactly when there are any
#ifndef STREAMPOOL_HEAP_TIER_H
#define STREAMPOOL_HEAP_TIER_H

#include "heap/block.h"

enum { SP_TIER_BINS = 256 };         // the last one also has all larger sizes
enum { SP_FOREIGN_MOST = 16 << 20 }; // bytes

// Calendars: free blocks of one stream by the number of their fence, so that those which complete
// are found with no look at the others.
//
// A calendar is a radix heap. It has a number `now`, which rises: all fences up to it are over.
// Each block stands in a bucket. In bucket 0 stand the blocks that are to be looked at. In bucket i
// stand those whose number differs from `now` in bit i-1 and in no higher one. When `now` rises,
// and i-1 is the highest bit that changes, only blocks in the buckets up to i can be over. All of
// them go to bucket 0 in a few stores. Blocks there are looked at a few at a time: each is over, or
// is put into an earlier bucket than its last one. So a block is looked at at most as often as its
// number has bits, however often `now` rises.
//
//   a block's number may rise while it is in the calendar; so it is over no sooner than its bucket
//   numbers from the last bucket on are not told apart
//
// The link stands in the block's fence set, which has exactly one fence. The lock of the pool that
// owns the blocks guards the calendar.
enum { SP_CALENDAR_BUCKETS = 32, SP_BUCKET_OVER = 0 };

struct sp_calendar {
    uint64_t now;
    struct sp_list buckets[SP_CALENDAR_BUCKETS];
};

void sp_calendar_init(struct sp_calendar *calendar);

static inline uint64_t sp_calendar_number(const struct sp_block *block) {
    return block->fences.alone.sequence;
}

void sp_calendar_add(struct sp_calendar *calendar, struct sp_block *block);

// Sets the number up to which all is over. It may be less than before.
void sp_calendar_advance(struct sp_calendar *calendar, uint64_t now);

// Returns a block of bucket 0 that is over, or null when none is. It looks at no more than
// `*looks` blocks and lowers the number by each.
struct sp_block *sp_calendar_next_over(struct sp_calendar *calendar, unsigned *looks);

// Returns a number that no block of the calendar falls below. It is exact to the bucket.
uint64_t sp_calendar_earliest(const struct sp_calendar *calendar);

// Some blocks of bucket 0 have not been looked at.
static inline bool sp_calendar_is_behind(const struct sp_calendar *calendar) {
    return !sp_list_empty(&calendar->buckets[SP_BUCKET_OVER]);
}

// ------------------------------------------------------------------------------------------- tiers

struct sp_tier {
    uint64_t used[SP_TIER_BINS / 64]; // a bit for each bin that is not empty
    uint64_t bytes;
    enum sp_block_state state;    // of its blocks: SP_BLOCK_FREE or SP_BLOCK_HOLE
    struct sp_calendar *calendar; // its blocks are in this one, too; or null
    bool apart;                   // its blocks join none that wait for others
    struct sp_tree_node *bins[SP_TIER_BINS];
};

void sp_tier_init(struct sp_tier *tier, enum sp_block_state state);

// Puts a block in, merged with its neighbours of the same tier. Returns the merged block.
struct sp_block *sp_tier_insert(struct sp_tier *tier, struct sp_block *block);

// Takes a block out of the tier that it is in. Its state becomes BUSY.
void sp_tier_remove(struct sp_block *block);

// Takes the first `size` bytes of a block out of the tier, as a block that is BUSY; the rest stays.
// Null without host memory for the division; then nothing has changed.
struct sp_block *sp_tier_take(struct sp_block *block, uint64_t size);

// The block that best fits `size` bytes, or null.
struct sp_block *sp_tier_best_fit(const struct sp_tier *tier, uint64_t size);

// These walk a tier by (size, rank), and return null at its end.
struct sp_block *sp_tier_first(const struct sp_tier *tier);
struct sp_block *sp_tier_last(const struct sp_tier *tier);
struct sp_block *sp_tier_next(const struct sp_block *block);

// The first block that doesn't stand before this size and rank.
struct sp_block *sp_tier_from(const struct sp_tier *tier, uint64_t size, uint64_t rank);

#endif
