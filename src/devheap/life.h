// Making a heap, and destroying it.
#ifndef STREAMPOOL_DEVHEAP_LIFE_H
#define STREAMPOOL_DEVHEAP_LIFE_H

#include "devheap/heap.h"

// Makes a heap of at most so many units on a machine, which is the heap's from then on. Blocks.
poolError_t sp_heap_life_begin(struct poolHeap_st **made, struct sp_heap_machine *machine,
                               uint32_t units);

// Gives back all memory behind these streams; without streams at once. Blocks until the host's
// kernels are complete. Nobody uses the heap any more. Goes on after an error, and returns the
// first one.
poolError_t sp_heap_life_end(struct poolHeap_st *heap, const CUstream streams[], size_t count);

#endif
