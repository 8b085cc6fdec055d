// Questions of calls that name no stream. Only the calling thread's current context is known to be
// alive, so only its streams are asked about.
#ifndef STREAMPOOL_REGION_ASK_H
#define STREAMPOOL_REGION_ASK_H

#include "region/pool.h"

// Asks the context's events; and its legacy stream, if the pool may ask and has memory that nothing
// else tells of. Publishes what is complete. Waits for no work, and harms no capture. Returns the
// driver's failure. For a deterministic pool nothing is asked.
struct sp_outcome sp_ask_current_context(struct sp_pool *pool);

// Asks the same for all pools of a device, which may have to give back what nobody uses any more.
struct sp_outcome sp_ask_current_context_of(struct sp_device *device);

#endif
