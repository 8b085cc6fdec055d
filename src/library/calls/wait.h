// Waits that bring memory within reach that is free and pending: waits in a stream's order, and
// those of the host for a context.
#ifndef STREAMPOOL_CALLS_WAIT_H
#define STREAMPOOL_CALLS_WAIT_H

#include "region/request.h"

// True when the request may make its stream wait: the others are called then alone.
bool sp_wait_is_allowed(const struct sp_request *request);

// Takes nothing: has events recorded behind memory of lazy lanes, so that it can be waited for.
// Where nothing may be asked it has none yet.
struct sp_outcome sp_wait_recorded(struct sp_request *request, struct sp_block **block);

// Makes the stream wait for what stands between it and some free memory, and takes that: what fits
// best, or what takes the cheapest wait (region/find.h) if GrowthBeyondUse holds the request
// back. Nothing when there is none that events stand behind.
struct sp_outcome sp_wait_made_ordered(struct sp_request *request, struct sp_block **block);

// Likewise for free memory of another region than the request's own: see sp_find_other_region().
struct sp_outcome sp_wait_in_other_region(struct sp_request *request, struct sp_block **block);

// Makes the stream wait for memory that no event stands behind and of which the
// legacy stream can tell.
struct sp_outcome sp_wait_behind_legacy(struct sp_request *request, struct sp_block **block);

// Makes the stream wait for any memory that no event stands behind, where the driver can record the
// whole context.
struct sp_outcome sp_wait_behind_context(struct sp_request *request, struct sp_block **block);

// On a plain device: waits on the host for the stream, where that lets the pool give back, for a
// growth, what the stream may have by its order in too small pieces. Takes nothing.
struct sp_outcome sp_wait_for_own(struct sp_request *request, struct sp_block **block);

// True when memory may come within reach by itself.
bool sp_wait_is_worth(const struct sp_request *request);

// Waits on the host for the whole context, for as long as the pool's attribute allows, on drivers
// before CUDA 12.5. Takes nothing.
struct sp_outcome sp_wait_for_context(struct sp_request *request, struct sp_block **block);

#endif
