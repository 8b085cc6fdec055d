// Fronts: where the threads of a contended lane have some small blocks each.
//
// Threads that allocate and free on one stream stand in each other's way at its lane's lock, and
// each brings the lane's cache lines over from another processor. So a contended lane
// (sp_biased_lock_is_contended) has fronts: a thread goes to one of them by its number, takes a
// block that it or another thread has put there, and puts what it frees there. It goes to the lane
// for many blocks at once. What was freed on the stream may be taken on it whoever freed it (rule
// 1), so a front needs no fence: its blocks have the number of their slabs.
//
// The blocks of a front are *set aside* in their slabs, which are *fronted* (heap/slab.h). A thread
// claims a block that it frees by setting the block's bit there, for it doesn't hold the owner's
// lock. Who finds a slab that isn't fronted goes to the lane, which makes it so.
//
//   the lane's bytes in use == lane.used - the sum over its fronts of (granted - spent)
//   a slab of which a block was freed into a front was counted under the number of the free
//
// A front hands out no bytes but those that the lane counts as used already: what was granted to
// it, and what was freed into it. So lane.used alone tells whether the allowance covers them all.
//
// Whoever looks for free memory of the lane, or wants to know what it uses, empties or settles its
// fronts first. A front's lock is taken behind the lane's by the slow path of biased locks alone; a
// thread that goes to a front by its number takes it with no other lock held.
#ifndef STREAMPOOL_REGION_FRONT_H
#define STREAMPOOL_REGION_FRONT_H

#include "base/number.h"
#include "region/lane.h"

// A bin has no more bytes than SP_FRONT_BYTES, or one block.
enum { SP_FRONT_COUNT = 16, SP_FRONT_BINS = 4, SP_FRONT_BLOCKS = 16, SP_FRONT_BYTES = 64 << 10 };

// With its address, so that who takes it needn't look at the slab.
struct sp_front_block {
    struct sp_slab *slab;
    uint64_t address;
    uint16_t index;
};

// Blocks of one class, last in first out.
struct sp_front_bin {
    uint16_t class_index; // if it isn't empty
    uint16_t count;
    uint16_t strangers; // so often another class had no place here since one of this was used
    struct sp_front_block blocks[SP_FRONT_BLOCKS];
};

struct sp_front {
    _Alignas(64) struct sp_biased_lock lock;
    struct sp_pool *pool; // null: closed
    struct sp_stream *stream;
    // Written under the lane's lock alone: bytes that lane.used has for this front.
    _Atomic uint64_t granted;
    // Written under the front's lock alone, and read by whoever asks for a figure. What is freed
    // lowers `spent`, and numbers begin anew at their end: differences count.
    _Atomic uint64_t spent;
    _Atomic uint64_t hits;
    _Atomic uint32_t count; // of the blocks of all bins
    _Atomic uint32_t uses;  // how often a block was taken or put
    // Written under the lane's lock: `uses` of this one and of all, when its thread looked last.
    _Atomic uint32_t uses_at_look;
    uint32_t all_at_look;
    uint64_t at_hand; // what was granted and has arrived here: spent <= at_hand <= granted
    uint32_t grants;  // begins anew with each settling: what is on its way then is granted no more
    struct sp_front_bin bins[SP_FRONT_BINS];
};

// Blocks on their way between a front and the lane, and what else goes with them.
struct sp_front_batch {
    uint16_t class_index;
    uint16_t count;
    uint64_t granted; // bytes, as long as the front's `grants` are these
    uint32_t grants;
    struct sp_front_block blocks[SP_FRONT_BLOCKS];
};

// Where a thread stands that frees a small block of a lane, on the lane's stream.
struct sp_front_free {
    struct sp_lane *lane;
    struct sp_stream *stream;
    uint64_t sequence;
    struct sp_front_block block; // with its index once it is claimed
    uint16_t class_index;
    uint32_t requested; // of a claimed block
};

// How many blocks of a class a bin has room for.
static inline uint32_t sp_front_room(unsigned class_index) {
    uint32_t most = SP_FRONT_BYTES / sp_size_classes[class_index].block_size;
    return most > SP_FRONT_BLOCKS ? SP_FRONT_BLOCKS : most;
}

static_assert((int)SP_FRONT_BYTES >= (int)SP_SMALL_MAX,
              "a bin has room for one block of each class");

// Classes 4n to 4n + 3 have a bin each, and so have any four powers of two in a row, which are the
// classes 0, 1, 3, 7, 11 and so on.
static inline unsigned sp_front_bin_at(unsigned class_index) {
    unsigned low = class_index % 4;
    return (class_index / 4 ^ low ^ low / 2) % SP_FRONT_BINS;
}

static inline struct sp_front_bin *sp_front_bin_of(struct sp_front *front, unsigned class_index) {
    return &front->bins[sp_front_bin_at(class_index)];
}

static inline bool sp_front_is_any(const struct sp_lane *lane) {
    return sp_load_acquire(&lane->fronts) != NULL;
}

// The calling thread's front, or null.
static inline struct sp_front *sp_front_of_thread(struct sp_lane *lane) {
    struct sp_front *fronts = sp_load_acquire(&lane->fronts);
    return fronts ? &fronts[sp_this_thread->number % SP_FRONT_COUNT] : NULL;
}

// Returns how many bytes the lane uses, and how often it was hit, with its fronts. Exact with no
// other thread in a call.
uint64_t sp_front_used(const struct sp_lane *lane);
uint64_t sp_front_hits(const struct sp_lane *lane);

// Gives the lane fronts, with no lock held. Where that can't be, or does no good, the lane is
// contended no more.
void sp_front_open(struct sp_lane *lane, const struct sp_pool *pool,
                   const struct sp_stream *stream);

// Both with the lane's lock held. The first has lane.used be what is in use. The second takes the
// fronts away, of which no block is left, or whose pool was demolished; the lane is contended no
// more.
void sp_front_settle_locked(struct sp_lane *lane);
void sp_front_close_locked(struct sp_lane *lane);

// With the lane's lock held: from the first one on nobody puts a block into the fronts or takes or
// claims one there, until the second one. Blocks on their way to and fro may still be set aside.
void sp_front_suspend_locked(struct sp_lane *lane);
void sp_front_resume_locked(struct sp_lane *lane);

// Every so many uses of a front its thread looks at the others. With the lane's lock held: true
// when none of them was used since it looked last.
#ifdef SP_SCHEDULE_POINTS
enum { SP_FRONT_USES = 64 }; // for tests: fronts come and go
#else
enum { SP_FRONT_USES = 4096 };
#endif
static inline bool sp_front_is_look_due(const struct sp_front *front) {
    return sp_load_relaxed(&front->uses) - sp_load_relaxed(&front->uses_at_look) >= SP_FRONT_USES;
}
bool sp_front_is_alone_locked(struct sp_lane *lane, struct sp_front *front);

// Takes a block for a request, and counts the hit. 0: the front has none, or is another lane's.
uint64_t sp_front_take(struct sp_front *front, const struct sp_pool *pool,
                       const struct sp_stream *stream, size_t size);

// Frees a block into the front. False, and nothing is changed, where the block isn't live, or the
// front has no room for it, or its slab was not counted under the number. The second claims the
// block alone. The third is for a block that is claimed, which is live again where it fails. As
// long as fronts are open a live block is claimed by whoever frees it.
bool sp_front_put(struct sp_front *front, struct sp_front_free *free);
bool sp_front_claim(struct sp_front *front, struct sp_front_free *free);
bool sp_front_put_claimed(struct sp_front *front, const struct sp_front_free *free);

// Takes out as many blocks as have to go before a block of the class can come: the oldest ones.
void sp_front_make_room(struct sp_front *front, unsigned class_index, struct sp_front_batch *batch);

// With the lane's lock held: grants the front so much, with what is on its way; or takes that back.
void sp_front_grant_locked(struct sp_lane *lane, struct sp_front *front, uint64_t bytes,
                           struct sp_front_batch *batch);
void sp_front_take_back_locked(struct sp_lane *lane, struct sp_front *front,
                               const struct sp_front_batch *batch);

// With the lane's lock held: takes all blocks of a front's bin out.
void sp_front_empty_locked(struct sp_front *front, unsigned bin, struct sp_front_batch *batch);

// Puts blocks of the lane in: as many as there is room for are taken from the end of the batch,
// with all that is granted. A front that was closed takes nothing.
void sp_front_fill(struct sp_front *front, struct sp_front_batch *batch);

#endif
