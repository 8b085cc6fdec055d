// Rows of the test on a GPU have this in common: a heap with streams, and what is required of it.
#pragma once

#include "kernels.cuh"

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <streampool/heap.h>
#include <unistd.h>

static const size_t mib = 1 << 20;
static const u32 threads = 256;

[[noreturn]] inline void fail(const char *what, int line) {
    std::printf("  line %d: %s\n", line, what);
    std::exit(1);
}

#define REQUIRE(condition) ((condition) ? (void)0 : fail(#condition, __LINE__))

inline void check_call(int error, const char *call, int line) {
    if (error == 0)
        return;
    std::printf("  line %d: %s: %d %s: %s\n", line, call, error,
                cudaGetErrorString(static_cast<cudaError_t>(error)), poolGetLastErrorDetail());
    std::exit(1);
}

#define CHECK(call) check_call(call, #call, __LINE__)

// A heap, streams, and memory that kernels report to.
struct scene {
    poolMemPool_t pool;
    poolHeap_t heap;
    pool_heap device;
    cudaStream_t stream[3];
    u32 *wrong, *refused;
    void **blocks;
    static const u32 room = 1 << 20; // of `blocks`
};

inline scene begin(size_t most) {
    scene s;
    CHECK(cudaFree(nullptr));
    CHECK(poolDeviceGetDefaultMemPool(&s.pool, 0));
    CHECK(poolHeapCreate(&s.heap, s.pool, most));
    s.device = poolHeapDevice(s.heap);
    for (cudaStream_t &stream : s.stream)
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaMallocManaged(&s.wrong, sizeof *s.wrong));
    CHECK(cudaMallocManaged(&s.refused, sizeof *s.refused));
    CHECK(cudaMallocManaged(&s.blocks, scene::room * sizeof *s.blocks));
    *s.wrong = *s.refused = 0;
    return s;
}

inline poolHeapStatistics count(const scene &s) {
    poolHeapStatistics statistics;
    CHECK(poolHeapGetStatistics(s.heap, s.stream[2], &statistics));
    return statistics;
}

inline void synchronize() {
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

inline void require_served(const scene &s) {
    if (*s.refused == 0)
        return;
    std::printf("  %u requests were refused\n", *s.refused);
    CHECK(poolHeapPrintStatistics(s.heap, s.stream[2], stdout));
    std::exit(1);
}

inline void require_empty(const scene &s) {
    poolHeapStatistics statistics = count(s);
    REQUIRE(statistics.slabsFree == statistics.slabs);
    REQUIRE(statistics.slabs * statistics.slabSize == statistics.bytesTaken);
    REQUIRE(statistics.foreignFrees == 0 && statistics.doubleFrees == 0);
    for (size_t i = 0; i < statistics.classes; i++)
        REQUIRE(statistics.byClass[i].blocks == 0);
    REQUIRE(*s.wrong == 0);
}

inline void end(const scene &s) {
    synchronize();
    CHECK(poolHeapDestroy(s.heap, nullptr, 0));
}

inline u64 used_bytes(poolMemPool_t pool) {
    u64 used;
    CHECK(poolMemPoolGetAttribute(pool, poolMemPoolAttrUsedMemCurrent, &used));
    return used;
}

// A trim's memory comes back when a thread of the heap's has given it.
inline void await_bytes(const scene &s, size_t bytes) {
    for (int i = 0; i < 5000 && count(s).bytesTaken > bytes; i++)
        usleep(1000);
    REQUIRE(count(s).bytesTaken == bytes);
}

// Blocks of threads for so many of these.
inline u32 grid_of(u32 count) {
    return (count + threads - 1) / threads;
}

inline void allocate_many(const scene &s, u32 blocks, size_t bytes, size_t most, int stream) {
    allocate<<<grid_of(blocks), threads, 0, s.stream[stream]>>>(s.device, s.blocks, blocks, bytes,
                                                                most, s.refused);
}

inline void check_many(const scene &s, u32 blocks, size_t bytes, size_t most) {
    check<<<grid_of(blocks), threads>>>(s.blocks, blocks, bytes, most, s.wrong);
    synchronize();
    REQUIRE(*s.wrong == 0);
}

inline void release_many(const scene &s, u32 blocks, int stream) {
    release<<<grid_of(blocks), threads, 0, s.stream[stream]>>>(s.device, s.blocks, blocks, 12345);
}

// Slabs of blocks: those in use, those that full ones would be, and the current ones that classes
// may have, one for each group of processors: a 128th of the heap at most.
struct slab_use {
    u64 slabs, least, current;
};

inline slab_use use_of(const scene &s) {
    poolHeapStatistics statistics = count(s);
    slab_use use = {0, 0, 0};
    for (size_t i = 0; i < statistics.classes; i++) {
        const poolHeapClass &c = statistics.byClass[i];
        use.slabs += c.slabs;
        use.least += (c.blocks + c.blocksPerSlab - 1) / c.blocksPerSlab;
        use.current += c.slabs != 0 ? statistics.slabs / 128 + 1 : 0;
    }
    std::printf("  %llu of %llu slabs are in use, %llu are the least\n", use.slabs,
                static_cast<u64>(statistics.slabs), use.least);
    return use;
}
