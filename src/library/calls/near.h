// Large memory near at hand: free memory that the lane has in pieces, or that the pool has ready.
//
// It is tried before the ladder, under the lane's lock and the pool's alone: with no pin, no copy
// of the stream's clock and no look at other streams. Every so many misses the lane goes the long
// way instead, on which it looks after the others.
#ifndef STREAMPOOL_CALLS_NEAR_H
#define STREAMPOOL_CALLS_NEAR_H

#include "region/lane.h"

// Takes a large block for the stream. Returns its address, 0 when nothing near at hand fits.
// Records an event on the stream where that may join what doesn't fit alone. No lock is held.
uint64_t sp_near_take(struct sp_pool *pool, struct sp_stream *stream, size_t size,
                      unsigned int flags);

// True when it is the lane's turn to ask the others: once in so many misses of its quick lists.
// False in a pool with one lane, and while another thread asks: questions of several threads at
// once take many times as long, and what one learns all know. A question takes about as long as a
// miss. Where the pool's free memory lies in pieces each miss of a lane that is in no crowd asks:
// see sp_growth_note() and region/crowd.h.
enum { SP_MISSES_PER_POLL = 8 };
bool sp_near_is_turn_of_others(const struct sp_lane *lane);

// Counts a miss towards that turn.
void sp_near_count_miss(struct sp_lane *lane);

#endif
