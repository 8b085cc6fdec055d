// Open lanes (region/open.h) in use: what others need to know of their frees is found out, or gets
// an event.
#ifndef STREAMPOOL_REGION_OPEN_LANES_H
#define STREAMPOOL_REGION_OPEN_LANES_H

#include "region/lane.h"

// Finds out for others what the frees of the pool's open lanes have come to, where they have
// recorded nothing: asks the stream if the caller
// `may_ask`, and else, or where work is pending, records. The caller's own lane, which may be null,
// is left out.
struct sp_outcome sp_open_lanes_fence(struct sp_pool *pool, const struct sp_lane *caller,
                                      bool may_ask);

// Asks the open lanes of all pools of the device, whatever they have freed: before a request is
// refused, when the extent that a small block lies in may be what it lacks.
struct sp_outcome sp_open_lanes_ask_device(struct sp_device *device, const struct sp_lane *caller);

// Asks some open lanes by turns, for a request that can't ask very many.
struct sp_outcome sp_open_lanes_ask_some(struct sp_pool *pool, const struct sp_lane *caller);

// Before a promise ends, the measure of completion changes, or the pool is given up: no open lane
// leaves a free without an event any more, and what was left gets one. Whoever makes the change
// opens the lanes again with sp_held_deal().
void sp_open_lanes_close(struct sp_pool *pool);

#endif
