// What the drop-in's test programs have in common: each runs one function, which its argument
// names, in a process of its own, and ends with 0 when all that it requires holds.
#ifndef DROPIN_REQUIRE_H
#define DROPIN_REQUIRE_H

#include "dropin/ways.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KIB = 1024, MIB = 1024 * KIB };

#define REQUIRE(holds) require((holds), #holds, __FILE__, __LINE__)

static inline void require(bool holds, const char *what, const char *file, int line) {
    if (holds)
        return;
    fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
    exit(1);
}

#define REQUIRE_CODE(call, code) require_code((call), (code), #call, __FILE__, __LINE__)
#define REQUIRE_DONE(call)       REQUIRE_CODE(call, CUDA_SUCCESS)

static inline void require_code(CUresult result, CUresult expected, const char *call,
                                const char *file, int line) {
    if (result == expected)
        return;
    fprintf(stderr, "%s:%d: %s: %d, not %d\n", file, line, call, (int)result, (int)expected);
    exit(1);
}

// Sets what is simulated, before the driver is initialised.
static inline void simulate(const char *settings) {
    setenv("STREAMPOOL_SIMCUDA", settings, 1);
}

// Finds a function by which a test controls the simulated driver: of streampool/simcuda.h.
static inline void find_control(void *function_pointer, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/libcuda.so.1", getenv("DRIVER_FOLDER"));
    void *library = dlopen(path, RTLD_NOW), *found = library ? dlsym(library, name) : 0;
    require(found != NULL, name, __FILE__, __LINE__);
    memcpy(function_pointer, &found, sizeof found);
}

// Finds the calls, and makes device 0's primary context current.
static inline CUcontext start(void) {
    CUcontext context = NULL;
    find_calls("dlsym", NULL);
    REQUIRE_DONE(cu.cuInit(0));
    REQUIRE_DONE(cu.cuDevicePrimaryCtxRetain(&context, 0));
    REQUIRE_DONE(cu.cuCtxSetCurrent(context));
    return context;
}

static inline CUstream new_stream(void) {
    CUstream stream = NULL;
    REQUIRE_DONE(cu.cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static inline CUdeviceptr allocate(size_t size, CUstream stream) {
    CUdeviceptr address = 0;
    REQUIRE_DONE(cu.cuMemAllocAsync(&address, size, stream));
    return address;
}

static inline CUmemoryPool default_pool(CUdevice device) {
    CUmemoryPool pool = NULL;
    REQUIRE_DONE(cu.cuDeviceGetDefaultMemPool(&pool, device));
    return pool;
}

static inline uint64_t pool_figure(CUmemoryPool pool, CUmemPool_attribute attribute) {
    uint64_t figure = 0;
    REQUIRE_DONE(cu.cuMemPoolGetAttribute(pool, attribute, &figure));
    return figure;
}

// Has a pool keep all that it has.
static inline void keep_all(CUmemoryPool pool) {
    uint64_t threshold = UINT64_MAX;
    REQUIRE_DONE(cu.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
}

#define RUN_IF_NAMED(name)                                                                         \
    if (count == 2 && strcmp(arguments[1], #name) == 0) {                                          \
        name();                                                                                    \
        return 0;                                                                                  \
    }
// The program, of which `ROWS(X)` lists the functions.
#define MAIN(ROWS)                                                                                 \
    int main(int count, char **arguments) {                                                        \
        ROWS(RUN_IF_NAMED)                                                                         \
        fprintf(stderr, "usage: %s NAME\n", arguments[0]);                                         \
        return 2;                                                                                  \
    }

#endif
