// Bad frees by code that was compiled with POOL_HEAP_CHECK.
#pragma once

#include <cuda_runtime.h>
#include <streampool/heap/descriptor.h>

// Launches a kernel that frees blocks[0], where no block begins, and blocks[1], twice. It leaves no
// block.
void free_badly(pool_heap heap, void **blocks, cudaStream_t stream);
