// The driver API, as the programs in this folder call it: a call that fails ends the program with
// status 1.
#ifndef STREAMPOOL_TESTS_CHECK_DRIVER_H
#define STREAMPOOL_TESTS_CHECK_DRIVER_H

#include <stdio.h>
#include <stdlib.h>

#include "simcuda/entry/entry.h"
#include "simcuda/kernel/kernels.h"

#define OK(call)                                                                                   \
    do {                                                                                           \
        int error = (int)(call);                                                                   \
        if (error != 0) {                                                                          \
            fprintf(stderr, "%s:%d: %s is %d\n", __FILE__, __LINE__, #call, error);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

// Makes the primary context of device 0 current, and returns the kernels' module.
static inline CUmodule start(void) {
    CUcontext context;
    CUmodule module;
    OK(cuInit(0));
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuCtxSetCurrent(context));
    OK(cuModuleLoadData(&module, SP_KERNELS_PTX));
    return module;
}

static inline CUstream make_stream(void) {
    CUstream stream;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    return stream;
}

static inline CUdeviceptr allocate(size_t size) {
    CUdeviceptr address;
    OK(cuMemAlloc_v2(&address, size));
    return address;
}

static inline CUfunction find_kernel(CUmodule module, const char *name) {
    CUfunction function;
    OK(cuModuleGetFunction(&function, module, name));
    return function;
}

// Has the kernel sp_fill write so many bytes.
static inline void fill(CUmodule module, CUstream stream, CUdeviceptr address, uint64_t size,
                        uint32_t seed) {
    void *parameters[] = {&address, &size, &seed};
    OK(cuLaunchKernel(find_kernel(module, "sp_fill"), 1, 1, 1, 32, 1, 1, 0, stream, parameters,
                      NULL));
}

// Has the kernel sp_check compare so many bytes with what sp_fill writes.
static inline void compare(CUmodule module, CUstream stream, CUdeviceptr address, uint64_t size,
                           uint32_t seed, CUdeviceptr errors) {
    void *parameters[] = {&address, &size, &seed, &errors};
    OK(cuLaunchKernel(find_kernel(module, "sp_check"), 1, 1, 1, 32, 1, 1, 0, stream, parameters,
                      NULL));
}

#endif
