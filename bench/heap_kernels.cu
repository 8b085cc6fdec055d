// Kernels of the case `heap`: every thread allocates or frees once, from a device heap of this
// library or from CUDA's own, or adds to a counter.
//
// Each kernel notes in clock[0] and clock[1] when its first block began and when its last one
// ended, in nanoseconds of the device, so that the launch is not in the figure.
#include <stddef.h>
#include <stdint.h>
#include <streampool/heap.cuh>

namespace {

__device__ uint64_t now() {
    uint64_t nanoseconds;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
}

__device__ uint32_t begin(unsigned long long *clock) {
    if (threadIdx.x == 0)
        atomicMin(&clock[0], (unsigned long long)now());
    __syncthreads();
    return blockIdx.x * blockDim.x + threadIdx.x;
}

__device__ void end(unsigned long long *clock) {
    __syncthreads();
    if (threadIdx.x == 0)
        atomicMax(&clock[1], (unsigned long long)now());
}

// Which block a thread frees: its own for a step of 1, else one that lies far away.
__device__ uint32_t far(uint32_t thread, uint32_t count, uint32_t step) {
    return (uint32_t)((uint64_t)thread * step % count);
}

} // namespace

extern "C" {

__global__ void bench_heap_malloc(pool_heap heap, void **blocks, uint64_t bytes, uint32_t count,
                                  unsigned long long *clock) {
    uint32_t thread = begin(clock);
    if (thread < count)
        blocks[thread] = pool_heap_malloc(heap, bytes);
    end(clock);
}

__global__ void bench_heap_free(pool_heap heap, void **blocks, uint32_t step, uint32_t count,
                                unsigned long long *clock) {
    uint32_t thread = begin(clock);
    if (thread < count)
        pool_heap_free(heap, blocks[far(thread, count, step)]);
    end(clock);
}

__global__ void bench_heap_pair(pool_heap heap, uint64_t bytes, uint32_t count,
                                unsigned long long *clock) {
    uint32_t thread = begin(clock);
    if (thread < count) {
        uint32_t *block = (uint32_t *)pool_heap_malloc(heap, bytes);
        if (block != NULL)
            *block = thread;
        pool_heap_free(heap, block);
    }
    end(clock);
}

__global__ void bench_cuda_malloc(void **blocks, uint64_t bytes, uint32_t count,
                                  unsigned long long *clock) {
    uint32_t thread = begin(clock);
    if (thread < count)
        blocks[thread] = malloc(bytes);
    end(clock);
}

__global__ void bench_cuda_free(void **blocks, uint32_t step, uint32_t count,
                                unsigned long long *clock) {
    uint32_t thread = begin(clock);
    if (thread < count)
        free(blocks[far(thread, count, step)]);
    end(clock);
}

__global__ void bench_cuda_pair(uint64_t bytes, uint32_t count, unsigned long long *clock) {
    uint32_t thread = begin(clock);
    if (thread < count) {
        uint32_t *block = (uint32_t *)malloc(bytes);
        if (block != NULL)
            *block = thread;
        free(block);
    }
    end(clock);
}

// The least: an addition to one counter, which the compiler makes once for a warp.
__global__ void bench_counter(uint32_t *counter, uint32_t **blocks, uint32_t count,
                              unsigned long long *clock) {
    uint32_t thread = begin(clock);
    if (thread < count)
        blocks[thread] = counter + atomicAdd(counter, 1);
    end(clock);
}

// Counts null pointers, and blocks that lie where another one does.
__global__ void bench_heap_check(uint32_t **blocks, uint64_t bytes, uint32_t count,
                                 unsigned long long *wrong, uint32_t write) {
    uint32_t thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= count)
        return;
    uint32_t *block = blocks[thread];
    if (block == NULL)
        atomicAdd(wrong, write ? 0ull : 1ull);
    else if (write)
        block[0] = block[bytes / 4 - 1] = thread;
    else if (block[0] != thread || block[bytes / 4 - 1] != thread)
        atomicAdd(wrong, 1ull);
}
}
