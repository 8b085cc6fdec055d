// Offers: of the lanes that share a pool, the one that recorded an event behind a free last.
//
// A lane that places by address keeps the block that it gave out last in its quick list
// (region/place.h), where no other lane finds it but by a look through all of them. A large block
// that goes from stream to stream has an event behind its free, as it exceeds what a lane may hold
// back. So the free leaves word which lane that was. A lane that misses looks there first, and
// takes a block of exactly the size as it is, if the reuse rule lets it.
//
// The word is a hint: the lane may have the block no more, or be another pool's by now.
#ifndef STREAMPOOL_REGION_OFFER_H
#define STREAMPOOL_REGION_OFFER_H

#include "region/lane.h"

// Takes a large block of exactly the size, BUSY, for a stream out of a lane's quick list, by rules
// 1 to 3; by rule 4 where the pool may ask. Null when there is none. It is counted by its rule, and
// noted for the stream. No lock is held, nor a pin: the struct may be another pool's by then, which
// is not taken apart as long as the block is in no tier. The block is to be given out, or put into
// one.
struct sp_block *sp_offer_take(struct sp_pool *pool, struct sp_stream *stream, uint64_t size,
                               unsigned int flags);

// Memory that other lanes have and a lane's stream runs after: there lies a block that goes from
// stream to stream behind an event.
//
// The ladder's first rung finds it, too, and may have to compare very much. Here it is found where
// a look at the best fit of each tier is enough, and then it is the block that the rung would take.
//
// Returns a large block in a tier that the lane's stream may take by the reuse rules 2 and 3, and
// notes for the stream that it does. Null where there is none, and where only the ladder can tell.
// The lane itself and the ready memory have nothing that fits. With the pool's lock held; takes the
// stream's.
struct sp_block *sp_offer_find_before_locked(struct sp_lane *lane, uint64_t size,
                                             unsigned int flags);

#endif
