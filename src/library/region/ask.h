// Questions: what others need to know of the frees that no event stands behind is found out, or
// gets an event.
// Lazy lanes (region/held.h) have their own streams asked. A call that names no stream asks about
// the streams of the calling thread's current context: only that one is known to be alive.
#ifndef STREAMPOOL_REGION_ASK_H
#define STREAMPOOL_REGION_ASK_H

#include "region/lane.h"

// Finds out for others what the frees of the pool's lazy lanes have come to, where they have
// recorded nothing: asks the stream if the caller `may_ask`, and else, or where work is pending,
// records. The caller's own lane, which may be null, is left out.
struct sp_outcome sp_ask_lazy_lanes(struct sp_pool *pool, const struct sp_lane *caller,
                                    bool may_ask);

// Asks the lazy lanes of all pools of the device, whatever they have freed: before a request is
// refused, when the extent that a small block lies in may be what it lacks.
struct sp_outcome sp_ask_lazy_lanes_of(struct sp_device *device, const struct sp_lane *caller);

// Asks some lazy lanes by turns, for a request that can't ask very many.
struct sp_outcome sp_ask_some_lazy_lanes(struct sp_pool *pool, const struct sp_lane *caller);

// Before a promise ends, the measure of completion changes, or the pool is given up: no lazy lane
// leaves a free without an event any more, and what was left gets one. Whoever makes the change
// makes lanes lazy again by sp_held_deal().
void sp_ask_and_close_lanes(struct sp_pool *pool);

// Asks the current context's events; and its legacy stream, if the pool may ask and has memory that
// nothing else tells of. Publishes what is complete. Waits for no work, and harms no capture.
// Returns the driver's failure. For a deterministic pool nothing is asked.
struct sp_outcome sp_ask_current_context(struct sp_pool *pool);

// Asks the same for all pools of a device, which may have to give back what nobody uses any more.
struct sp_outcome sp_ask_current_context_of(struct sp_device *device);

#endif
