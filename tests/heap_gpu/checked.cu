#define POOL_HEAP_CHECK
#include "checked.h"

#include <streampool/heap.cuh>

static __global__ void free_one_badly(pool_heap heap, void **blocks) {
    // One block more keeps the slab in use.
    char *kept = static_cast<char *>(pool_heap_malloc(heap, 100));
    blocks[0] = kept + 8;
    blocks[1] = pool_heap_malloc(heap, 100);
    pool_heap_free(heap, blocks[0]);
    pool_heap_free(heap, blocks[1]);
    pool_heap_free(heap, blocks[1]);
    pool_heap_free(heap, kept);
}

void free_badly(pool_heap heap, void **blocks, cudaStream_t stream) {
    free_one_badly<<<1, 1, 0, stream>>>(heap, blocks);
}
