// The ladder: what a request that its lane can't serve tries, from the cheapest to the dearest.
#ifndef STREAMPOOL_CALLS_LADDER_H
#define STREAMPOOL_CALLS_LADDER_H

#include "region/request.h"

// Tries every rung (calls/rung.h), from the cheapest to the dearest. When none has memory the
// outcome says what the last growth has lacked, or that the request forbids to grow.
struct sp_outcome sp_ladder_climb(struct sp_request *request, struct sp_block **block);

// Tries once more what may have come back since: free memory, growth unless the request forbids it,
// remaps, and waits of the stream. It asks nothing.
struct sp_outcome sp_ladder_climb_again(struct sp_request *request, struct sp_block **block);

// The rung that waits on the host, for as long as the pool's attribute allows, until something
// within reach is large enough.
struct sp_outcome sp_ladder_wait_on_host(struct sp_request *request, struct sp_block **block);

#endif
