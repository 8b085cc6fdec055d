// A free under way that needs its pool to the end: what is left to do once the block is no longer
// live.
//
// A release has a *point* for each stream behind whose work the block is freed: one as a rule,
// several by poolFreeAsyncAfter(), and none where the caller vouches for his own work.
#ifndef STREAMPOOL_CALLS_RELEASE_H
#define STREAMPOOL_CALLS_RELEASE_H

#include "region/at_hand.h"

struct sp_release_point {
    struct sp_stream *stream;
    uint64_t sequence;    // of the fence
    struct sp_lane *lane; // the stream's own, in the block's pool
    uint64_t counts;      // the bytes that nobody else can have before an event stands behind it
    unsigned left;        // to do there: SP_LEFT_RECORD, SP_LEFT_SHORTEN
};

struct sp_release {
    struct sp_release_point *points; // of different streams, by their slots
    uint32_t count;
    struct sp_fence_set fences; // of several points, but for a slab's own stream's
    struct sp_pool *pool;
    struct sp_lane *account; // the lane that the block was allocated on
    struct sp_slab *slab;    // of a small block
    struct sp_block *block;  // a large one
    uint64_t address;        // of what the points count: the slab may be another one by then
    uint64_t requested;
    unsigned left; // to do: SP_LEFT_SLAB, SP_LEFT_BLOCK
};

// Finds the pool of the account, and the lane of each stream there, which stays as long as the
// block is live; and the fences of several points. False without host memory. What it took of that
// is given back by sp_fence_set_give_more(&release->fences).
bool sp_release_find_lanes(struct sp_release *release);

// Counts what each point counts, in its stream's lane.
void sp_release_count(struct sp_release *release);

// Records the event that a put has left to do, on the lane's stream, which has counted it. The free
// itself has been done, so a driver that fails here only delays reuse.
void sp_release_record(struct sp_lane *lane, struct sp_stream *stream);

// Does what is left. The large block of a release is BUSY, and has room for a fence of each point.
void sp_release_finish(const struct sp_release *release);

#endif
