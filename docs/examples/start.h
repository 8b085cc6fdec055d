// The C programs of this folder other than basic.c and cuda_compat.c include this file: checked
// calls, a stream of device 0, and a pool on it.
#ifndef EXAMPLES_START_H
#define EXAMPLES_START_H

#include <cuda.h>
#include <stdio.h>
#include <stdlib.h>
#include <streampool/streampool.h>

static inline void check(int error, const char *call) {
    if (error == 0)
        return;
    fprintf(stderr, "%s: %s\n", call, poolGetErrorString((poolError_t)error));
    fprintf(stderr, "%s\n", poolGetLastErrorDetail());
    exit(1);
}

#define CHECK(call) check((int)(call), #call)

// Makes the primary context of device 0 current.
static inline void open_device(void) {
    CUdevice device;
    CUcontext context;
    CHECK(cuInit(0));
    CHECK(cuDeviceGet(&device, 0));
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
}

static inline CUstream open_stream(unsigned int flags) {
    CUstream stream;
    CHECK(cuStreamCreate(&stream, flags));
    return stream;
}

static inline poolMemPool_t open_pool(void) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeDevice, 0}};
    poolMemPool_t pool;
    CHECK(poolMemPoolCreate(&pool, &props));
    return pool;
}

// An attribute or a statistic that is a uint64_t.
static inline uint64_t figure(poolMemPool_t pool, enum poolMemPoolAttr name) {
    uint64_t value = 0;
    CHECK(poolMemPoolGetAttribute(pool, name, &value));
    return value;
}

#endif
