// A stand-in for the CUDA runtime, with as much of it as the C programs of this folder call: it
// makes driver calls of the library that STREAMPOOL_DRIVER names, which is the simulated driver, as
// NVIDIA's runtime calls a real one. It has no pools; those are the library's under test.
//
// As in the runtime, a call that fails leaves its error behind for cudaGetLastError, but for
// cudaErrorNotReady, and cudaSetDevice makes the device's primary context current.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <streampool/streampool.h>
#include <string.h>

typedef void (*entry_point)(void);

static entry_point find(const char *name) {
    const char *path = getenv("STREAMPOOL_DRIVER");
    void *driver = dlopen(path ? path : "", RTLD_NOW);
    void *symbol = driver ? dlsym(driver, name) : NULL;
    entry_point found;
    if (!symbol) {
        fprintf(stderr, "no %s in STREAMPOOL_DRIVER=%s\n", name, path ? path : "");
        exit(1);
    }
    memcpy(&found, &symbol, sizeof found);
    return found;
}

// The name of a call is a macro of cuda.h's where the call has versions.
#define TEXT_OF(name)       #name
#define TEXT(name)          TEXT_OF(name)
#define DRIVER(name, ...)   ((__typeof__(&name))find(TEXT(name)))(__VA_ARGS__)
#define DEVICE_POINTER(ptr) ((CUdeviceptr)(uintptr_t)(ptr))

// ------------------------------------------------------------------------------------------ errors

static _Thread_local cudaError_t last;

static cudaError_t end(cudaError_t error) {
    if (error != cudaSuccess && error != cudaErrorNotReady)
        last = error;
    return error;
}

static cudaError_t end_driver(CUresult result) {
    return end((cudaError_t)result);
}

cudaError_t cudaPeekAtLastError(void) {
    return last;
}

cudaError_t cudaGetLastError(void) {
    cudaError_t error = last;
    last = cudaSuccess;
    return error;
}

// The errors here are among the library's, whose names differ by the prefix.
const char *cudaGetErrorName(cudaError_t error) {
    static _Thread_local char name[64];
    snprintf(name, sizeof name, "cuda%s", poolGetErrorName((poolError_t)error) + strlen("pool"));
    return name;
}

const char *cudaGetErrorString(cudaError_t error) {
    return poolGetErrorString((poolError_t)error);
}

// ------------------------------------------------------------------------------- devices, contexts

cudaError_t cudaGetDeviceCount(int *count) {
    CUresult result = DRIVER(cuInit, 0);
    return end_driver(result == CUDA_SUCCESS ? DRIVER(cuDeviceGetCount, count) : result);
}

cudaError_t cudaSetDevice(int ordinal) {
    CUcontext context = NULL;
    CUdevice device;
    CUresult result = DRIVER(cuInit, 0);
    if (result == CUDA_SUCCESS)
        result = DRIVER(cuDeviceGet, &device, ordinal);
    if (result == CUDA_SUCCESS)
        result = DRIVER(cuDevicePrimaryCtxRetain, &context, device);
    return end_driver(result == CUDA_SUCCESS ? DRIVER(cuCtxSetCurrent, context) : result);
}

// The simulated driver tells nothing of its own pools: it has none. A real device has those of the
// host, too, and some kinds of handle.
enum { HOST_NUMA_POOLS = 142, HOST_POOLS = 144 }; // older toolkits have no names for them

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int ordinal) {
    CUdevice device;
    CUresult result = DRIVER(cuDeviceGet, &device, ordinal);
    if (result != CUDA_SUCCESS)
        return end_driver(result);
    if (attr == cudaDevAttrMemoryPoolSupportedHandleTypes) {
        *value = cudaMemHandleTypePosixFileDescriptor;
        return cudaSuccess;
    }
    if ((int)attr == HOST_NUMA_POOLS || (int)attr == HOST_POOLS) {
        *value = 1;
        return cudaSuccess;
    }
    return end_driver(DRIVER(cuDeviceGetAttribute, value, (CUdevice_attribute)attr, device));
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int device, int peer) {
    return end_driver(DRIVER(cuDeviceCanAccessPeer, can, device, peer));
}

// -------------------------------------------------------------------------------------- and memory

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned int flags) {
    return end_driver(DRIVER(cuStreamCreate, stream, flags));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags) {
    return end_driver(DRIVER(cuEventCreate, event, flags));
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned int flags) {
    return end_driver(flags ? CUDA_ERROR_NOT_SUPPORTED : DRIVER(cuEventRecord, event, stream));
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *argument) {
    return end_driver(DRIVER(cuLaunchHostFunc, stream, function, argument));
}

cudaError_t cudaMalloc(void **memory, size_t size) {
    CUdeviceptr address = 0;
    CUresult result = DRIVER(cuMemAlloc, &address, size);
    *memory = (void *)(uintptr_t)address;
    return end_driver(result);
}

cudaError_t cudaFree(void *memory) {
    return memory ? end_driver(DRIVER(cuMemFree, DEVICE_POINTER(memory))) : cudaSuccess;
}

cudaError_t cudaMemsetAsync(void *memory, int value, size_t count, cudaStream_t stream) {
    return end_driver(
        DRIVER(cuMemsetD8Async, DEVICE_POINTER(memory), (unsigned char)value, count, stream));
}

static CUresult copy_between(void *to, const void *from, size_t count) {
    void *between = malloc(count);
    CUresult result = between ? DRIVER(cuMemcpyDtoH, between, DEVICE_POINTER(from), count)
                              : CUDA_ERROR_OUT_OF_MEMORY;
    if (result == CUDA_SUCCESS)
        result = DRIVER(cuMemcpyHtoD, DEVICE_POINTER(to), between, count);
    free(between);
    return result;
}

// Waits for the stream, and copies at once.
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t count, enum cudaMemcpyKind kind,
                            cudaStream_t stream) {
    CUresult result = DRIVER(cuStreamSynchronize, stream);
    if (result != CUDA_SUCCESS)
        return end_driver(result);
    switch (kind) {
    case cudaMemcpyHostToDevice:
        return end_driver(DRIVER(cuMemcpyHtoD, DEVICE_POINTER(to), from, count));
    case cudaMemcpyDeviceToHost:
        return end_driver(DRIVER(cuMemcpyDtoH, to, DEVICE_POINTER(from), count));
    case cudaMemcpyDeviceToDevice:
        return end_driver(copy_between(to, from, count));
    default:
        return end(cudaErrorInvalidMemcpyDirection);
    }
}
