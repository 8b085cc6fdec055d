// Access of a context's work to the memory that cuMemAlloc gives in another context, on another
// device: cuCtxEnablePeerAccess.
//
//   peers[d] of a context is the number of contexts of device d that have access to its memory
//   an allocation's mapping has access for device d where d is its own, or peers[d] > 0
#ifndef STREAMPOOL_SIMCUDA_MEMORY_PEER_H
#define STREAMPOOL_SIMCUDA_MEMORY_PEER_H

#include "driver/abi.h"

struct sim_context;

// Work of one context gets access to the memory of the other. PEER_ACCESS_UNSUPPORTED where the
// devices have no access to each other or are the same one, PEER_ACCESS_ALREADY_ENABLED.
CUresult sim_peer_enable(struct sim_context *context, struct sim_context *peer);
// PEER_ACCESS_NOT_ENABLED when it has none.
CUresult sim_peer_disable(const struct sim_context *context, struct sim_context *peer);
// Ends all accesses from and to a context, which is about to end.
void sim_peer_forget(const struct sim_context *context);
void sim_peer_reset(void);

#endif
