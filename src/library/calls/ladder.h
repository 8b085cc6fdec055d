// The ladder: what a request that its lane can't serve tries, from the cheapest to the dearest.
#ifndef STREAMPOOL_CALLS_LADDER_H
#define STREAMPOOL_CALLS_LADDER_H

#include "region/request.h"

// Its parts, in their order: nothing waits; the stream is made to wait; the host waits. To climb
// *again* is to try once more what may have come back since: free memory, growth unless the request
// forbids it, remaps, and waits of the stream. That asks nothing.
enum sp_ladder_parts {
    SP_LADDER_AT_ONCE = 1,
    SP_LADDER_STREAM_WAITS = 2,
    SP_LADDER_HOST_WAITS = 4,
    SP_LADDER_ALL = 7,
    SP_LADDER_AGAIN = 8,
    SP_LADDER_FREE = 16, // memory that is free as it is, which the first part takes first
};

// Tries the rungs (calls/rung.h) of these parts, from the cheapest to the dearest. When none has
// memory the outcome says what the last growth has lacked, or that the request forbids to grow.
struct sp_outcome sp_ladder_climb(struct sp_request *request, unsigned parts,
                                  struct sp_block **block);

// The rung that waits on the host, for as long as the pool's attribute allows, until something
// within reach is large enough.
struct sp_outcome sp_ladder_wait_on_host(struct sp_request *request, struct sp_block **block);

#endif
