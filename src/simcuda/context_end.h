// The end of a context, which takes along all that belongs to it.
#ifndef STREAMPOOL_SIMCUDA_CONTEXT_END_H
#define STREAMPOOL_SIMCUDA_CONTEXT_END_H

#include "driver/abi.h"

struct sim_context;

CUresult sim_context_release_primary(int device);
// Waits for the work of a context, then destroys it and everything that belongs to it.
void sim_context_destroy(struct sim_context *context);
// Destroys all contexts, of which no work is pending. No thread asks for its default streams again.
void sim_context_destroy_all(void);

#endif
