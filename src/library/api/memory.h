// Frees behind several streams share these with frees behind one.
#ifndef STREAMPOOL_API_MEMORY_H
#define STREAMPOOL_API_MEMORY_H

#include "api/api.h"

// Returns the promises of the pool that memory belongs to, by its owner, or none.
int sp_memory_promises_of(uintptr_t owner);

// Finds the stream of a free, and asks the driver nothing that the promises answer. Returns null
// with an error, also where the stream captures.
struct sp_stream *sp_memory_admit_free(CUstream handle, int promises, poolError_t *error);

#endif
