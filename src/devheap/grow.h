// Taking memory from the pool, and letting kernels use it. The caller holds the heap's lock.
#ifndef STREAMPOOL_DEVHEAP_GROW_H
#define STREAMPOOL_DEVHEAP_GROW_H

#include "devheap/heap.h"

enum sp_heap_shape {
    SP_HEAP_UNITS, // chunks of one unit each, side by side where the pool has them so
    SP_HEAP_WHOLE  // one chunk
};

// Takes so many units in the order of the stream. After an error nothing was changed, but where the
// driver refuses to launch a further kernel: then those chunks stay that were admitted before.
poolError_t sp_heap_grow(struct poolHeap_st *heap, uint64_t units, enum sp_heap_shape shape,
                         CUstream stream);

// Units that the heap may still take.
uint32_t sp_heap_grow_left(const struct poolHeap_st *heap);

#endif
