// Kernels of the test on a GPU. Each block that they allocate gets contents that depend on its
// owner, and `wrong` counts words that aren't as they were written.
#pragma once

#include <cstdint>
#include <streampool/heap.cuh>

using u32 = unsigned;
using u64 = unsigned long long;

static __device__ u32 thread_of_grid() {
    return blockIdx.x * blockDim.x + threadIdx.x;
}

static __host__ __device__ u32 mixed(u32 number) {
    number = (number ^ number >> 16) * 0x7feb352du;
    return number ^ number >> 15;
}

// Writes the first and the last word, and some between, of a block.
static __device__ void write_block(void *block, size_t bytes, u32 owner) {
    u32 *words = static_cast<u32 *>(block);
    size_t count = bytes / 4, step = count / 64 + 1;
    for (size_t i = 0; i < count; i += step)
        words[i] = mixed(owner + static_cast<u32>(i));
    words[count - 1] = mixed(owner);
}

static __device__ u32 check_block(const void *block, size_t bytes, u32 owner) {
    const u32 *words = static_cast<const u32 *>(block);
    size_t count = bytes / 4, step = count / 64 + 1;
    u32 wrong = words[count - 1] != mixed(owner);
    for (size_t i = 0; i + 1 < count; i += step)
        wrong += words[i] != mixed(owner + static_cast<u32>(i));
    return wrong;
}

// Sizes from 16 bytes to `most`, smaller ones more often.
static __device__ size_t size_of(u32 number, size_t most) {
    u32 dice = mixed(number);
    size_t size = size_t(16) << dice % 12;
    size += (dice >> 8) % size;
    return (size < most ? size : most) / 4 * 4;
}

// One block for each thread; most 0: of `bytes` bytes.
__global__ void allocate(pool_heap heap, void **blocks, u32 count, size_t bytes, size_t most,
                         u32 *refused) {
    u32 i = thread_of_grid();
    if (i >= count)
        return;
    size_t size = most ? size_of(i, most) : bytes;
    blocks[i] = pool_heap_malloc(heap, size);
    if (blocks[i])
        write_block(blocks[i], size, i);
    else
        atomicAdd(refused, 1);
}

__global__ void check(void *const *blocks, u32 count, size_t bytes, size_t most, u32 *wrong) {
    u32 i = thread_of_grid();
    if (i < count && blocks[i])
        if (u32 found = check_block(blocks[i], most ? size_of(i, most) : bytes, i))
            atomicAdd(wrong, found);
}

// Each thread frees what another one allocated.
__global__ void release(pool_heap heap, void *const *blocks, u32 count, u32 turn) {
    u32 i = thread_of_grid();
    if (i < count)
        pool_heap_free(heap, blocks[(i + turn) % count]);
}

// Allocates, writes, checks and frees, `rounds` times, with up to four live blocks a thread. Some
// threads of a warp leave early.
__global__ void churn(pool_heap heap, u32 rounds, size_t most, u32 *wrong, u32 *refused) {
    void *block[4] = {};
    size_t size[4];
    u32 owner[4], bad = 0, no = 0, thread = thread_of_grid();
    u32 end = thread % 7 == 3 ? rounds / 2 : rounds;
    for (u32 round = 0; round < end; round++) {
        u32 i = round % 4;
        if (block[i]) {
            bad += check_block(block[i], size[i], owner[i]);
            pool_heap_free(heap, block[i]);
        }
        owner[i] = thread * 40503u + round;
        size[i] = size_of(owner[i], most);
        block[i] = pool_heap_malloc(heap, size[i]);
        if (block[i])
            write_block(block[i], size[i], owner[i]);
        else
            no++;
    }
    for (u32 i = 0; i < 4; i++) {
        if (block[i])
            bad += check_block(block[i], size[i], owner[i]);
        pool_heap_free(heap, block[i]);
    }
    if (bad)
        atomicAdd(wrong, bad);
    if (no)
        atomicAdd(refused, no);
}

// Pairs of malloc and free.
__global__ void pairs(pool_heap heap, u32 rounds, size_t bytes, u32 *refused) {
    u32 no = 0;
    for (u32 round = 0; round < rounds; round++) {
        void *block = pool_heap_malloc(heap, bytes);
        no += block == nullptr;
        pool_heap_free(heap, block);
    }
    if (no)
        atomicAdd(refused, no);
}

// Takes blocks until there are none, and links them.
__global__ void exhaust(pool_heap heap, void **lists, size_t bytes, u64 *taken) {
    void *first = nullptr;
    u64 count = 0;
    while (void *block = pool_heap_malloc(heap, bytes)) {
        *static_cast<void **>(block) = first;
        first = block;
        count++;
    }
    lists[thread_of_grid()] = first;
    atomicAdd(taken, count);
}

__global__ void release_lists(pool_heap heap, void **lists) {
    void *block = lists[thread_of_grid()];
    while (block) {
        void *next = *static_cast<void **>(block);
        pool_heap_free(heap, block);
        block = next;
    }
    lists[thread_of_grid()] = nullptr;
}

// Grows a block step by step.
__global__ void reallocate(pool_heap heap, u32 *wrong, u32 *refused) {
    u32 owner = thread_of_grid();
    size_t bytes = 16;
    u32 *block = static_cast<u32 *>(pool_heap_malloc(heap, bytes));
    for (size_t more = 24; block && more <= 6000; bytes = more, more += more / 2 / 4 * 4) {
        for (size_t i = 0; i < bytes / 4; i++)
            block[i] = mixed(owner + static_cast<u32>(i));
        u32 *moved = static_cast<u32 *>(pool_heap_realloc(heap, block, more));
        if (!moved) {
            atomicAdd(refused, 1);
            break;
        }
        block = moved;
        u32 bad = pool_heap_usable_size(heap, block) < more;
        for (size_t i = 0; i < bytes / 4; i++)
            bad += block[i] != mixed(owner + static_cast<u32>(i));
        if (bad)
            atomicAdd(wrong, bad);
    }
    pool_heap_free(heap, block);
}

// Works for so many ticks of the clock, with a block that it checks at the end.
__global__ void linger(pool_heap heap, long long ticks, u32 *wrong) {
    void *block = pool_heap_malloc(heap, 1000);
    if (!block)
        atomicAdd(wrong, 1);
    else
        write_block(block, 1000, thread_of_grid());
    long long begin = clock64();
    while (clock64() - begin < ticks)
        __nanosleep(1000);
    if (block)
        atomicAdd(wrong, check_block(block, 1000, thread_of_grid()));
}

// Some threads trap while others allocate.
__global__ void trap(pool_heap heap, u32 rounds) {
    for (u32 round = 0; round < rounds; round++) {
        void *block = pool_heap_malloc(heap, 16 + round % 5000);
        if (thread_of_grid() == 4321 && round == rounds / 2)
            __trap();
        pool_heap_free(heap, block);
    }
}

// Counts blocks that don't lie as heap.cuh says.
__global__ void align(pool_heap heap, u32 *wrong) {
    for (size_t bytes = 16; bytes <= 1 << 16; bytes *= 2) {
        char *block = static_cast<char *>(pool_heap_malloc(heap, bytes));
        size_t alignment = bytes < 512 ? bytes : 512;
        if (block && reinterpret_cast<uintptr_t>(block) % alignment != 0)
            atomicAdd(wrong, 1);
        pool_heap_free(heap, block);
    }
}
