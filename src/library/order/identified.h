// Identified streams: drivers from CUDA 12.0 have an id for each stream and each context, which is
// never used again. The rest of order/identified.c is reached through order/identity.h.
#ifndef STREAMPOOL_ORDER_IDENTIFIED_H
#define STREAMPOOL_ORDER_IDENTIFIED_H

#include "order/remember.h"

// Finds the stream with an id that the calling thread doesn't remember.
struct sp_outcome sp_identified_meet(CUstream handle, uint64_t id, struct sp_stream **stream);

// Finds the legacy stream of the current context.
struct sp_outcome sp_identified_resolve_legacy(CUstream handle, struct sp_stream **stream);

#endif
