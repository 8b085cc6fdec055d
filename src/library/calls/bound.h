// Growth that is bounded: by the attribute GrowthBeyondUse a stream waits for pending memory rather
// than have the pool grow far beyond what was ever in use at once.
//
// A wait is worth it where the host runs ahead of the device: then the event is complete, or nearly
// so, when the stream comes to it. Where it isn't, two streams that could run side by side run one
// after the other. So a stream waits so many times in a row at most; then the pool grows, and what
// it grew by is the stream's own from then on.
#ifndef STREAMPOOL_CALLS_BOUND_H
#define STREAMPOOL_CALLS_BOUND_H

#include "calls/rung.h"

// A stream waits instead of a growth so often in a row at most; see docs/notes/growth.md for what
// was tried.
#define SP_WAITS_IN_ROW 4

// Looks into all lanes before the pool grows beyond the bound: of very many it has looked into
// some.
sp_rung sp_bound_brought_in;

// Has the stream wait for memory if the pool would grow beyond the bound; from here on the request
// is no longer held back. A wait that fails is no failure: the pool can grow.
sp_rung sp_bound_waited;

// Remaps free memory with new memory beyond the bound, once no wait would do.
sp_rung sp_bound_remapped;

#endif
