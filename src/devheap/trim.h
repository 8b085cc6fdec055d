// Closing chunks, so that the pool gets them back. The caller holds the heap's lock.
#ifndef STREAMPOOL_DEVHEAP_TRIM_H
#define STREAMPOOL_DEVHEAP_TRIM_H

#include "devheap/heap.h"

// Closes chunks that are free, down to so many bytes, behind the work of all of these streams.
poolError_t sp_heap_trim(struct poolHeap_st *heap, uint64_t bytes_to_keep, const CUstream streams[],
                         size_t count);

#endif
