// The runtime's calls that runtime_program.c makes, made of the driver's own: the program is then
// one that uses the driver alone. Built with BY_DLOPEN it finds them in the driver that it loads;
// without, it is linked with the driver.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#define TEXT_OF(symbol) #symbol
#define TEXT(symbol)    TEXT_OF(symbol)

#ifdef BY_DLOPEN
#define CALL(symbol) ((__typeof__(&symbol))find(TEXT(symbol)))

static void *find(const char *symbol) {
    static void *library;
    if (!library)
        library = dlopen("libcuda.so.1", RTLD_NOW);
    void *found = library ? dlsym(library, symbol) : NULL;
    if (found)
        return found;
    fprintf(stderr, "%s: not found\n", symbol);
    exit(1);
}
#else
#define CALL(symbol) symbol
#endif

// -------------------------------------------------------------------------- errors and the context

static cudaError_t last;

static cudaError_t done(CUresult result) {
    if (result != CUDA_SUCCESS && result != CUDA_ERROR_NOT_READY)
        last = (cudaError_t)result;
    return (cudaError_t)result;
}

cudaError_t cudaGetLastError(void) {
    cudaError_t answer = last;
    last = cudaSuccess;
    return answer;
}

cudaError_t cudaPeekAtLastError(void) {
    return last;
}

const char *cudaGetErrorName(cudaError_t error) {
    const char *name = "?";
    CALL(cuGetErrorName)((CUresult)error, &name);
    return name;
}

// A thread's first call makes the device's context current.
static void begin(void) {
    CUcontext context = NULL;
    CALL(cuInit)(0);
    if (CALL(cuCtxGetCurrent)(&context) == CUDA_SUCCESS && context)
        return;
    CALL(cuDevicePrimaryCtxRetain)(&context, 0);
    CALL(cuCtxSetCurrent)(context);
}

// Makes the call again when it says that the thread has no context, as the runtime does.
#define MAKE(symbol, arguments)                                                                    \
    ({                                                                                             \
        CUresult result_ = CALL(symbol) arguments;                                                 \
        if (result_ == CUDA_ERROR_NOT_INITIALIZED || result_ == CUDA_ERROR_INVALID_CONTEXT) {      \
            begin();                                                                               \
            result_ = CALL(symbol) arguments;                                                      \
        }                                                                                          \
        done(result_);                                                                             \
    })

#define FORWARD(name, parameters, symbol, arguments)                                               \
    cudaError_t CUDARTAPI name parameters {                                                        \
        return MAKE(symbol, arguments);                                                            \
    }

cudaError_t cudaDeviceReset(void) {
    cudaError_t answer = MAKE(cuDevicePrimaryCtxReset, (0));
    CALL(cuCtxSetCurrent)(NULL);
    return answer;
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device) {
    return MAKE(cuDeviceGetAttribute, (value, (CUdevice_attribute)attribute, device));
}

// ------------------------------------------------------------------------------ streams and events

FORWARD(cudaDeviceSynchronize, (void), cuCtxSynchronize, ())
FORWARD(cudaStreamCreate, (cudaStream_t * stream), cuStreamCreate, (stream, CU_STREAM_DEFAULT))
FORWARD(cudaStreamCreateWithFlags, (cudaStream_t * stream, unsigned int flags), cuStreamCreate,
        (stream, flags))
FORWARD(cudaStreamDestroy, (cudaStream_t stream), cuStreamDestroy, (stream))
FORWARD(cudaStreamSynchronize, (cudaStream_t stream), cuStreamSynchronize, (stream))
FORWARD(cudaStreamQuery, (cudaStream_t stream), cuStreamQuery, (stream))
FORWARD(cudaStreamWaitEvent, (cudaStream_t stream, cudaEvent_t event, unsigned int flags),
        cuStreamWaitEvent, (stream, event, flags))
FORWARD(cudaLaunchHostFunc, (cudaStream_t stream, cudaHostFn_t function, void *data),
        cuLaunchHostFunc, (stream, function, data))
FORWARD(cudaEventCreateWithFlags, (cudaEvent_t * event, unsigned int flags), cuEventCreate,
        (event, flags))
FORWARD(cudaEventDestroy, (cudaEvent_t event), cuEventDestroy, (event))
FORWARD(cudaEventRecord, (cudaEvent_t event, cudaStream_t stream), cuEventRecord, (event, stream))
FORWARD(cudaEventRecordWithFlags, (cudaEvent_t event, cudaStream_t stream, unsigned int flags),
        cuEventRecordWithFlags, (event, stream, flags))
FORWARD(cudaEventQuery, (cudaEvent_t event), cuEventQuery, (event))
FORWARD(cudaEventSynchronize, (cudaEvent_t event), cuEventSynchronize, (event))

// ------------------------------------------------------------------------------------------ memory

FORWARD(cudaMallocAsync, (void **address, size_t size, cudaStream_t stream), cuMemAllocAsync,
        ((CUdeviceptr *)address, size, stream))
FORWARD(cudaMallocFromPoolAsync,
        (void **address, size_t size, cudaMemPool_t pool, cudaStream_t stream),
        cuMemAllocFromPoolAsync, ((CUdeviceptr *)address, size, pool, stream))
FORWARD(cudaFreeAsync, (void *address, cudaStream_t stream), cuMemFreeAsync,
        ((CUdeviceptr)address, stream))
FORWARD(cudaMalloc, (void **address, size_t size), cuMemAlloc, ((CUdeviceptr *)address, size))
FORWARD(cudaFree, (void *address), cuMemFree, ((CUdeviceptr)address))
FORWARD(cudaMallocHost, (void **address, size_t size), cuMemHostAlloc, (address, size, 0))
FORWARD(cudaFreeHost, (void *address), cuMemFreeHost, (address))
FORWARD(cudaMemsetAsync, (void *address, int value, size_t count, cudaStream_t stream),
        cuMemsetD8Async, ((CUdeviceptr)address, (unsigned char)value, count, stream))
FORWARD(cudaMemcpyAsync,
        (void *to, const void *from, size_t count, enum cudaMemcpyKind kind, cudaStream_t stream),
        cuMemcpyAsync, ((CUdeviceptr)to, (CUdeviceptr)from, ((void)kind, count), stream))
FORWARD(cudaIpcGetMemHandle, (cudaIpcMemHandle_t * handle, void *address), cuIpcGetMemHandle,
        ((CUipcMemHandle *)handle, (CUdeviceptr)address))

// The driver has no call that tells all of this at once, and fails where the memory isn't its own.
cudaError_t cudaPointerGetAttributes(struct cudaPointerAttributes *found, const void *address) {
    CUpointer_attribute asked[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
        CU_POINTER_ATTRIBUTE_DEVICE_POINTER, CU_POINTER_ATTRIBUTE_HOST_POINTER};
    unsigned int type = 0;
    void *values[] = {&type, &found->device, &found->devicePointer, &found->hostPointer};
    cudaError_t answer = MAKE(cuPointerGetAttributes, (4, asked, values, (CUdeviceptr)address));
    found->type = (enum cudaMemoryType)type;
    return answer;
}

// ------------------------------------------------------------------------------------------- pools

FORWARD(cudaDeviceGetDefaultMemPool, (cudaMemPool_t * pool, int device), cuDeviceGetDefaultMemPool,
        (pool, device))
FORWARD(cudaDeviceGetMemPool, (cudaMemPool_t * pool, int device), cuDeviceGetMemPool,
        (pool, device))
FORWARD(cudaDeviceSetMemPool, (int device, cudaMemPool_t pool), cuDeviceSetMemPool, (device, pool))
FORWARD(cudaMemPoolCreate, (cudaMemPool_t * pool, const struct cudaMemPoolProps *props),
        cuMemPoolCreate, (pool, (const CUmemPoolProps *)props))
FORWARD(cudaMemPoolDestroy, (cudaMemPool_t pool), cuMemPoolDestroy, (pool))
FORWARD(cudaMemPoolTrimTo, (cudaMemPool_t pool, size_t keep), cuMemPoolTrimTo, (pool, keep))
FORWARD(cudaMemPoolSetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value),
        cuMemPoolSetAttribute, (pool, (CUmemPool_attribute)which, value))
FORWARD(cudaMemPoolGetAttribute, (cudaMemPool_t pool, enum cudaMemPoolAttr which, void *value),
        cuMemPoolGetAttribute, (pool, (CUmemPool_attribute)which, value))
FORWARD(cudaMemPoolSetAccess,
        (cudaMemPool_t pool, const struct cudaMemAccessDesc *descriptors, size_t count),
        cuMemPoolSetAccess, (pool, (const CUmemAccessDesc *)descriptors, count))
FORWARD(cudaMemPoolGetAccess,
        (enum cudaMemAccessFlags * flags, cudaMemPool_t pool, struct cudaMemLocation *location),
        cuMemPoolGetAccess, ((CUmemAccess_flags *)flags, pool, (CUmemLocation *)location))
FORWARD(cudaMemPoolExportToShareableHandle,
        (void *handle, cudaMemPool_t pool, enum cudaMemAllocationHandleType type,
         unsigned int flags),
        cuMemPoolExportToShareableHandle, (handle, pool, (CUmemAllocationHandleType)type, flags))
FORWARD(cudaMemPoolImportFromShareableHandle,
        (cudaMemPool_t * pool, void *handle, enum cudaMemAllocationHandleType type,
         unsigned int flags),
        cuMemPoolImportFromShareableHandle, (pool, handle, (CUmemAllocationHandleType)type, flags))
FORWARD(cudaMemPoolExportPointer, (struct cudaMemPoolPtrExportData * data, void *address),
        cuMemPoolExportPointer, ((CUmemPoolPtrExportData *)data, (CUdeviceptr)address))
#if CUDART_VERSION >= 13000
FORWARD(cudaMemGetDefaultMemPool,
        (cudaMemPool_t * pool, struct cudaMemLocation *location, enum cudaMemAllocationType type),
        cuMemGetDefaultMemPool, (pool, (CUmemLocation *)location, (CUmemAllocationType)type))
FORWARD(cudaMemGetMemPool,
        (cudaMemPool_t * pool, struct cudaMemLocation *location, enum cudaMemAllocationType type),
        cuMemGetMemPool, (pool, (CUmemLocation *)location, (CUmemAllocationType)type))
#endif

// -------------------------------------------------------------------------------- captures, graphs

FORWARD(cudaStreamBeginCapture, (cudaStream_t stream, enum cudaStreamCaptureMode mode),
        cuStreamBeginCapture, (stream, (CUstreamCaptureMode)mode))
FORWARD(cudaStreamIsCapturing, (cudaStream_t stream, enum cudaStreamCaptureStatus *status),
        cuStreamIsCapturing, (stream, (CUstreamCaptureStatus *)status))
FORWARD(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t *graph), cuStreamEndCapture,
        (stream, graph))
FORWARD(cudaGraphInstantiate,
        (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long flags),
        cuGraphInstantiateWithFlags, (executable, graph, flags))
FORWARD(cudaGraphLaunch, (cudaGraphExec_t executable, cudaStream_t stream), cuGraphLaunch,
        (executable, stream))
FORWARD(cudaGraphExecDestroy, (cudaGraphExec_t executable), cuGraphExecDestroy, (executable))
FORWARD(cudaGraphDestroy, (cudaGraph_t graph), cuGraphDestroy, (graph))
FORWARD(cudaDeviceGraphMemTrim, (int device), cuDeviceGraphMemTrim, (device))

// ------------------------------------------------------------------------------------ entry points

cudaError_t cudaGetDriverEntryPointByVersion(const char *symbol, void **function,
                                             unsigned int version, unsigned long long flags,
                                             enum cudaDriverEntryPointQueryResult *status) {
    CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    cudaError_t answer =
        MAKE(cuGetProcAddress, (symbol, function, (int)version, (cuuint64_t)flags, &found));
    if (status)
        *status = (enum cudaDriverEntryPointQueryResult)found;
    return answer;
}
