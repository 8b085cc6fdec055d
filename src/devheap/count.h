// Statistics. The caller holds no lock.
#ifndef STREAMPOOL_DEVHEAP_COUNT_H
#define STREAMPOOL_DEVHEAP_COUNT_H

#include "devheap/heap.h"

// Counts in the order of the stream, and blocks until that is done.
poolError_t sp_heap_count(struct poolHeap_st *heap, CUstream stream,
                          struct poolHeapStatistics *statistics);

// Gives up what counts were told in. No call counts any more.
void sp_heap_count_end(struct poolHeap_st *heap);

// Prints what was counted. False when the file can't be written.
bool sp_heap_count_print(const struct poolHeapStatistics *statistics, FILE *file);

#endif
