// Which streams have kernels of the host's that may not be complete. The heap's lock guards it.
#ifndef STREAMPOOL_DEVHEAP_MARKS_H
#define STREAMPOOL_DEVHEAP_MARKS_H

#include "devheap/heap.h"

// Makes sure that a mark for the stream can be set, and gives its index. Fails for a stream that
// captures.
poolError_t sp_heap_marks_reserve(struct poolHeap_st *heap, CUstream stream, size_t *index);

// Marks the point of the stream where a kernel was enqueued that admits so many slabs. An error is
// of no consequence but that others may wait longer.
poolError_t sp_heap_marks_set(struct poolHeap_st *heap, size_t index, uint32_t slabs);

// Makes a stream wait for all marks.
poolError_t sp_heap_marks_wait(struct poolHeap_st *heap, CUstream stream);

// Counts the slabs that kernels of other streams may still have to admit.
uint32_t sp_heap_marks_slabs(struct poolHeap_st *heap, size_t except);

// Blocks until all that is marked is complete, and forgets it.
poolError_t sp_heap_marks_end(struct poolHeap_st *heap);

#endif
