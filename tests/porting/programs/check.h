// What the programs of this folder have in common. They are programs for the CUDA runtime and know
// nothing of streampool: run.sh and CMakeLists.txt, one folder above, build them in several ways.
#ifndef PORTING_CHECK_H
#define PORTING_CHECK_H

#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

static inline void check(cudaError_t error, const char *call, int line) {
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "line %d: %s: %s\n", line, call, cudaGetErrorString(error));
    exit(1);
}

// Ends the program when the call fails.
#define CHECK(call) check((call), #call, __LINE__)

// Prints what a program found, and ends it when that is wrong.
static inline void require(int holds, const char *what) {
    printf("%s: %s\n", what, holds ? "yes" : "no");
    if (!holds)
        exit(1);
}

// Ends the program, with the status of a test that is skipped, where device 0 has no pools.
static inline void need_pools(void) {
    cudaMemPool_t pool;
    CHECK(cudaSetDevice(0));
    cudaError_t error = cudaDeviceGetDefaultMemPool(&pool, 0);
    if (error != cudaErrorNotSupported) {
        CHECK(error);
        return;
    }
    puts("skipped: device 0 has no pools");
    exit(77);
}

#endif
