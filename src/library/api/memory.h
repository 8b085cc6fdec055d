// Frees behind several streams share these with frees behind one, and calls that make promises of
// their own with calls that make none.
#ifndef STREAMPOOL_API_MEMORY_H
#define STREAMPOOL_API_MEMORY_H

#include "api/api.h"

// Returns the promises of the pool that memory belongs to, by its owner, or none.
int sp_memory_promises_of(uintptr_t owner);

// Finds the stream of a free, and asks the driver nothing that the promises answer. Returns null
// with an error, also where the stream captures.
struct sp_stream *sp_memory_admit_free(CUstream handle, int promises, poolError_t *error);

// As poolMallocAsync(), poolMallocFromPoolAsync() and poolFreeAsync() in a process whose runtime is
// plain, with pointers that aren't null. `known` combines promises that hold for the stream
// whatever the pool was promised.
poolError_t sp_memory_allocate(void **ptr, size_t size, CUstream stream, int known);
poolError_t sp_memory_allocate_from(void **ptr, size_t size, poolMemPool_t handle, CUstream stream,
                                    int known);
//
// A free of memory that is no pool's is refused, with no word said: `is_foreign` says so.
poolError_t sp_memory_free(void *ptr, CUstream stream, int known, bool *is_foreign);

#endif
