// The heap's own thread. It waits for trims, and gives closed chunks back to the pool.
#ifndef STREAMPOOL_DEVHEAP_REAPER_H
#define STREAMPOOL_DEVHEAP_REAPER_H

#include "devheap/heap.h"

// Starts the thread, where it doesn't run. The caller holds the heap's lock, as for the next one.
poolError_t sp_heap_reaper_begin(struct poolHeap_st *heap);

// Hands over a trim whose event is recorded.
void sp_heap_reaper_add(struct poolHeap_st *heap, struct sp_heap_trim *trim);

// Blocks until all trims are complete and the thread has ended. Returns the first error that it
// met. The caller doesn't hold the lock, and nobody adds a trim any more.
poolError_t sp_heap_reaper_end(struct poolHeap_st *heap);

// Gives back the chunks that are closed. The caller holds the lock.
poolError_t sp_heap_reaper_give(struct poolHeap_st *heap);

void sp_heap_reaper_free(struct poolHeap_st *heap, struct sp_heap_trim *trim);

#endif
