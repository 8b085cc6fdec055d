// Memory that other lanes have and a lane's stream runs after: there lies a block that goes from
// stream to stream behind an event.
//
// The ladder's first rung finds it, too, and may have to compare very much. Here it is found where
// a look at the best fit of each tier is enough, and then it is the block that the rung would take.
#ifndef STREAMPOOL_REGION_BEFORE_H
#define STREAMPOOL_REGION_BEFORE_H

#include "region/lane.h"

// Returns a large block in a tier that the lane's stream may take by the reuse rules 2 and 3, and
// notes for the stream that it does. Null where there is none, and where only the ladder can tell.
// The lane itself and the ready memory have nothing that fits. With the pool's lock held; takes the
// stream's.
struct sp_block *sp_before_find_locked(struct sp_lane *lane, uint64_t size, unsigned int flags);

#endif
