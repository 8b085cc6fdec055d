/// @file
/// Makes a CUDA runtime program's pools those of streampool, with no change to its source:
///
///     nvcc -include streampool/cuda_compat.h program.cu -lstreampool
///
/// It includes cuda_runtime.h, and then gives the runtime's names for pools, for synchronising and
/// for errors to functions of its own, by macros. Types, enumerators and errors stay the
/// runtime's: a cudaMemPool_t is a handle of this library then, and errors are cudaError_t. It is
/// for C and for C++, for nvcc and for the host's compiler, with CUDA 11.2 or later, and with
/// per-thread default streams (`--default-stream per-thread`). docs/porting.md tells when to take
/// it, what differs, and how to do without it.
///
/// **Files.** A pool's handle means nothing to the runtime's own functions, so every file of a
/// program that uses pools is compiled in this way. Memory needs no such care: cudaFree and
/// cudaFreeAsync here also free what the runtime allocated. But a file that is not compiled in this
/// way can't free memory of a pool.
///
/// **The last error.** cudaGetLastError and cudaPeekAtLastError tell the runtime's last error or
/// this library's, whichever is later, and getting it clears both. The rule behind it: when a
/// function here fails, it clears the runtime's last error, which is earlier. So an error that the
/// runtime has beside one of this library is always the later one, a kernel's launch for example.
/// A function of streampool.h that the program calls itself doesn't clear the runtime's.
///
/// **Pools of the host.** cudaMemPoolCreate takes the places of the host and managed memory from
/// the CUDA version on that has names for them, 12.2 and 13.0. cudaMemGetDefaultMemPool,
/// cudaMemGetMemPool and cudaMemSetMemPool came with 13.0. docs/host-memory.md has what differs.
///
/// **What is not there yet.** Sharing a pool with other processes is refused: the call returns
/// cudaErrorNotSupported, poolGetLastErrorDetail says why, and no handle gets as far as the driver.
/// cudaDeviceGetAttribute tells the same beforehand.
#ifndef STREAMPOOL_CUDA_COMPAT_H
#define STREAMPOOL_CUDA_COMPAT_H

// clang-format off
#include <cuda_runtime.h>
#include <streampool/streampool.h>
// clang-format on

#if CUDART_VERSION < 11020
#error "streampool/cuda_compat.h is for CUDA 11.2 and later: earlier ones have no pools to replace"
#endif

// The rest of this file is no interface, but for the runtime's names at its end.

// In C++ each function has one address in a program, so a type that is made with it, such as
// std::unique_ptr with a deleter, is one type in all files. Files with per-thread default streams
// have functions of their own where stream 0 matters, as they have with the runtime.
#if defined(__cplusplus)
#define STREAMPOOL_COMPAT inline
#if defined(CUDA_API_PER_THREAD_DEFAULT_STREAM)
#define streampool_compat_MallocAsync          streampool_compat_MallocAsync_ptsz
#define streampool_compat_MallocFromPoolAsync  streampool_compat_MallocFromPoolAsync_ptsz
#define streampool_compat_FreeAsync            streampool_compat_FreeAsync_ptsz
#define streampool_compat_StreamSynchronize    streampool_compat_StreamSynchronize_ptsz
#define streampool_compat_StreamQuery          streampool_compat_StreamQuery_ptsz
#define streampool_compat_StreamWaitEvent      streampool_compat_StreamWaitEvent_ptsz
#define streampool_compat_EventRecord          streampool_compat_EventRecord_ptsz
#define streampool_compat_EventRecordWithFlags streampool_compat_EventRecordWithFlags_ptsz
#endif
#else
#define STREAMPOOL_COMPAT static __inline__
#endif

// A program may call some functions from its kernels too. There they stay the runtime's.
#if defined(__CUDACC__)
#define STREAMPOOL_COMPAT_BOTH STREAMPOOL_COMPAT __host__ __device__
#else
#define STREAMPOOL_COMPAT_BOTH STREAMPOOL_COMPAT
#endif

#if defined(__cplusplus)
#define STREAMPOOL_COMPAT_NUMBER(type, value)  static_cast<type>(value)
#define STREAMPOOL_COMPAT_POINTER(type, value) reinterpret_cast<type>(value)
#define STREAMPOOL_COMPAT_OR(value)            = value
#else
#define STREAMPOOL_COMPAT_NUMBER(type, value)  ((type)(value))
#define STREAMPOOL_COMPAT_POINTER(type, value) ((type)(value))
#define STREAMPOOL_COMPAT_OR(value)
#endif

// Structures are passed on as they are. What an older toolkit has no field for is reserved there.
typedef char streampool_compat_same_props
    [sizeof(struct cudaMemPoolProps) == sizeof(struct poolMemPoolProps) ? 1 : -1];
typedef char streampool_compat_same_access
    [sizeof(struct cudaMemAccessDesc) == sizeof(struct poolMemAccessDesc) ? 1 : -1];

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------------------------------------------ errors

// Returns an error of the library as the runtime's, and clears the runtime's last one, which is
// earlier. That work is not ready yet is no error.
STREAMPOOL_COMPAT cudaError_t streampool_compat_result(poolError_t error) {
    if (error != poolSuccess && error != poolErrorNotReady)
        (void)cudaGetLastError();
    return STREAMPOOL_COMPAT_NUMBER(cudaError_t, error);
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_refuse(poolError_t error, const char *detail) {
    return streampool_compat_result(poolSetLastError(error, detail));
}

STREAMPOOL_COMPAT_BOTH cudaError_t streampool_compat_GetLastError(void) {
#if defined(__CUDA_ARCH__)
    return cudaGetLastError();
#else
    cudaError_t later = cudaGetLastError();
    poolError_t earlier = poolGetLastError();
    return later != cudaSuccess ? later : STREAMPOOL_COMPAT_NUMBER(cudaError_t, earlier);
#endif
}

STREAMPOOL_COMPAT_BOTH cudaError_t streampool_compat_PeekAtLastError(void) {
#if defined(__CUDA_ARCH__)
    return cudaPeekAtLastError();
#else
    cudaError_t later = cudaPeekAtLastError();
    poolError_t earlier = poolPeekAtLastError();
    return later != cudaSuccess ? later : STREAMPOOL_COMPAT_NUMBER(cudaError_t, earlier);
#endif
}

// ------------------------------------------------------------------------------ context and stream

// Before CUDA 12.0 cudaSetDevice alone may make no context current, and the runtime's next call
// does. Without that the library would find the context of another device.
STREAMPOOL_COMPAT void streampool_compat_bind(void) {
#if CUDART_VERSION < 12000
    int least = 0;
    int greatest = 0;
    (void)cudaDeviceGetStreamPriorityRange(&least, &greatest);
#endif
}

STREAMPOOL_COMPAT cudaStream_t streampool_compat_stream(cudaStream_t stream) {
    if (!stream || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
        streampool_compat_bind();
    return stream;
}

// ------------------------------------------------------------------------------- allocate and free

STREAMPOOL_COMPAT poolMemPool_t streampool_compat_pool(cudaMemPool_t pool) {
    return STREAMPOOL_COMPAT_POINTER(poolMemPool_t, pool);
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MallocAsync(void **ptr, size_t size,
                                                            cudaStream_t stream) {
    return streampool_compat_result(poolMallocAsync(ptr, size, streampool_compat_stream(stream)));
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MallocFromPoolAsync(void **ptr, size_t size,
                                                                    cudaMemPool_t pool,
                                                                    cudaStream_t stream) {
    return streampool_compat_result(poolMallocFromPoolAsync(ptr, size, streampool_compat_pool(pool),
                                                            streampool_compat_stream(stream)));
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_FreeAsync(void *ptr, cudaStream_t stream) {
    return streampool_compat_result(poolFreeAsync(ptr, streampool_compat_stream(stream)));
}

// Programs free a null pointer to have the runtime set up its context.
STREAMPOOL_COMPAT_BOTH cudaError_t streampool_compat_Free(void *ptr) {
#if defined(__CUDA_ARCH__)
    return cudaFree(ptr);
#else
    if (!ptr)
        return cudaFree(ptr);
    streampool_compat_bind();
    return streampool_compat_result(poolFree(ptr));
#endif
}

// ------------------------------------------------------------------------------------------- pools

// Hands out the pool that a call gave, if it succeeded.
STREAMPOOL_COMPAT cudaError_t streampool_compat_hand_out(poolError_t error, poolMemPool_t found,
                                                         cudaMemPool_t *pool) {
    if (error == poolSuccess)
        *pool = STREAMPOOL_COMPAT_POINTER(cudaMemPool_t, found);
    return streampool_compat_result(error);
}

STREAMPOOL_COMPAT cudaError_t
streampool_compat_MemPoolCreate(cudaMemPool_t *pool, const struct cudaMemPoolProps *props) {
    poolMemPool_t found = NULL;
    poolError_t error = poolMemPoolCreate(
        pool ? &found : NULL, STREAMPOOL_COMPAT_POINTER(const struct poolMemPoolProps *, props));
    return streampool_compat_hand_out(error, found, pool);
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MemPoolDestroy(cudaMemPool_t pool) {
    return streampool_compat_result(poolMemPoolDestroy(streampool_compat_pool(pool)));
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MemPoolGetAttribute(cudaMemPool_t pool,
                                                                    enum cudaMemPoolAttr attr,
                                                                    void *value) {
    return streampool_compat_result(poolMemPoolGetAttribute(
        streampool_compat_pool(pool), STREAMPOOL_COMPAT_NUMBER(enum poolMemPoolAttr, attr), value));
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MemPoolSetAttribute(cudaMemPool_t pool,
                                                                    enum cudaMemPoolAttr attr,
                                                                    void *value) {
    return streampool_compat_result(poolMemPoolSetAttribute(
        streampool_compat_pool(pool), STREAMPOOL_COMPAT_NUMBER(enum poolMemPoolAttr, attr), value));
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MemPoolTrimTo(cudaMemPool_t pool,
                                                              size_t minBytesToKeep) {
    return streampool_compat_result(
        poolMemPoolTrimTo(streampool_compat_pool(pool), minBytesToKeep));
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MemPoolSetAccess(
    cudaMemPool_t pool, const struct cudaMemAccessDesc *descList, size_t count) {
    return streampool_compat_result(poolMemPoolSetAccess(
        streampool_compat_pool(pool),
        STREAMPOOL_COMPAT_POINTER(const struct poolMemAccessDesc *, descList), count));
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MemPoolGetAccess(enum cudaMemAccessFlags *flags,
                                                                 cudaMemPool_t pool,
                                                                 struct cudaMemLocation *location) {
    enum poolMemAccessFlags found = poolMemAccessFlagsProtNone;
    poolError_t error =
        poolMemPoolGetAccess(flags ? &found : NULL, streampool_compat_pool(pool),
                             STREAMPOOL_COMPAT_POINTER(const struct poolMemLocation *, location));
    if (error == poolSuccess)
        *flags = STREAMPOOL_COMPAT_NUMBER(enum cudaMemAccessFlags, found);
    return streampool_compat_result(error);
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_DeviceGetDefaultMemPool(cudaMemPool_t *pool,
                                                                        int device) {
    poolMemPool_t found = NULL;
    poolError_t error = poolDeviceGetDefaultMemPool(pool ? &found : NULL, device);
    return streampool_compat_hand_out(error, found, pool);
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_DeviceGetMemPool(cudaMemPool_t *pool, int device) {
    poolMemPool_t found = NULL;
    poolError_t error = poolDeviceGetMemPool(pool ? &found : NULL, device);
    return streampool_compat_hand_out(error, found, pool);
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_DeviceSetMemPool(int device, cudaMemPool_t pool) {
    return streampool_compat_result(poolDeviceSetMemPool(device, streampool_compat_pool(pool)));
}

#if CUDART_VERSION >= 13000
STREAMPOOL_COMPAT cudaError_t streampool_compat_MemGetDefaultMemPool(
    cudaMemPool_t *pool, struct cudaMemLocation *location, enum cudaMemAllocationType type) {
    poolMemPool_t found = NULL;
    poolError_t error = poolMemGetDefaultMemPool(
        pool ? &found : NULL, STREAMPOOL_COMPAT_POINTER(const struct poolMemLocation *, location),
        STREAMPOOL_COMPAT_NUMBER(enum poolMemAllocationType, type));
    return streampool_compat_hand_out(error, found, pool);
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MemGetMemPool(cudaMemPool_t *pool,
                                                              struct cudaMemLocation *location,
                                                              enum cudaMemAllocationType type) {
    poolMemPool_t found = NULL;
    poolError_t error = poolMemGetMemPool(
        pool ? &found : NULL, STREAMPOOL_COMPAT_POINTER(const struct poolMemLocation *, location),
        STREAMPOOL_COMPAT_NUMBER(enum poolMemAllocationType, type));
    return streampool_compat_hand_out(error, found, pool);
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MemSetMemPool(struct cudaMemLocation *location,
                                                              enum cudaMemAllocationType type,
                                                              cudaMemPool_t pool) {
    return streampool_compat_result(poolMemSetMemPool(
        STREAMPOOL_COMPAT_POINTER(const struct poolMemLocation *, location),
        STREAMPOOL_COMPAT_NUMBER(enum poolMemAllocationType, type), streampool_compat_pool(pool)));
}
#endif

// A question about pools is no failure of the program's, so it leaves the last error.
STREAMPOOL_COMPAT int streampool_compat_has_pools(enum poolMemLocationType type, int id) {
    poolMemPool_t pool = NULL;
    poolError_t before = poolPeekAtLastError();
    struct poolMemLocation location;
    location.type = type;
    location.id = id;
    if (poolMemGetMemPool(&pool, &location, poolMemAllocationTypePinned) == poolSuccess)
        return 1;
    (void)poolGetLastError();
    (void)poolSetLastError(before, NULL);
    return 0;
}

// The attributes stand here by their numbers, since older toolkits lack some of the names.
STREAMPOOL_COMPAT_BOTH cudaError_t streampool_compat_DeviceGetAttribute(int *value,
                                                                        enum cudaDeviceAttr attr,
                                                                        int device) {
    cudaError_t error = cudaDeviceGetAttribute(value, attr, device);
#if !defined(__CUDA_ARCH__)
    if (error != cudaSuccess)
        return error;
    switch (STREAMPOOL_COMPAT_NUMBER(int, attr)) {
    case 115: // cudaDevAttrMemoryPoolsSupported
        *value = streampool_compat_has_pools(poolMemLocationTypeDevice, device);
        break;
    case 142: // cudaDevAttrHostNumaMemoryPoolsSupported
        *value = streampool_compat_has_pools(poolMemLocationTypeHostNuma, 0);
        break;
    case 144: // cudaDevAttrHostMemoryPoolsSupported
        *value = streampool_compat_has_pools(poolMemLocationTypeHost, 0);
        break;
    case 119: // cudaDevAttrMemoryPoolSupportedHandleTypes
        *value = 0;
        break;
    default:
        break;
    }
#endif
    return error;
}

// --------------------------------------------------------------------------- what is not there yet

STREAMPOOL_COMPAT cudaError_t streampool_compat_refuse_sharing(void) {
    return streampool_compat_refuse(poolErrorNotSupported,
                                    "streampool can't share memory with other processes yet");
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MemPoolExportToShareableHandle(
    void *handle, cudaMemPool_t pool, enum cudaMemAllocationHandleType type, unsigned int flags) {
    (void)handle, (void)pool, (void)type, (void)flags;
    return streampool_compat_refuse_sharing();
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MemPoolImportFromShareableHandle(
    cudaMemPool_t *pool, void *handle, enum cudaMemAllocationHandleType type, unsigned int flags) {
    (void)pool, (void)handle, (void)type, (void)flags;
    return streampool_compat_refuse_sharing();
}

STREAMPOOL_COMPAT cudaError_t
streampool_compat_MemPoolExportPointer(struct cudaMemPoolPtrExportData *data, void *ptr) {
    (void)data, (void)ptr;
    return streampool_compat_refuse_sharing();
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_MemPoolImportPointer(
    void **ptr, cudaMemPool_t pool, struct cudaMemPoolPtrExportData *data) {
    (void)ptr, (void)pool, (void)data;
    return streampool_compat_refuse_sharing();
}

// ---------------------------------------------------- synchronise, query, record, wait and destroy

STREAMPOOL_COMPAT cudaError_t streampool_compat_StreamSynchronize(cudaStream_t stream) {
    return streampool_compat_result(poolStreamSynchronize(streampool_compat_stream(stream)));
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_StreamQuery(cudaStream_t stream) {
    return streampool_compat_result(poolStreamQuery(streampool_compat_stream(stream)));
}

STREAMPOOL_COMPAT_BOTH cudaError_t streampool_compat_StreamWaitEvent(
    cudaStream_t stream, cudaEvent_t event, unsigned int flags STREAMPOOL_COMPAT_OR(0)) {
#if defined(__CUDA_ARCH__)
    return cudaStreamWaitEvent(stream, event, flags);
#else
    return streampool_compat_result(
        poolStreamWaitEvent(streampool_compat_stream(stream), event, flags));
#endif
}

STREAMPOOL_COMPAT_BOTH cudaError_t streampool_compat_StreamDestroy(cudaStream_t stream) {
#if defined(__CUDA_ARCH__)
    return cudaStreamDestroy(stream);
#else
    return streampool_compat_result(poolStreamDestroy(stream));
#endif
}

STREAMPOOL_COMPAT_BOTH cudaError_t
streampool_compat_EventRecord(cudaEvent_t event, cudaStream_t stream STREAMPOOL_COMPAT_OR(0)) {
#if defined(__CUDA_ARCH__)
    return cudaEventRecord(event, stream);
#else
    return streampool_compat_result(poolEventRecord(event, streampool_compat_stream(stream)));
#endif
}

// With flags the record is one for a graph, of which the library has nothing to learn.
STREAMPOOL_COMPAT cudaError_t streampool_compat_EventRecordWithFlags(
    cudaEvent_t event, cudaStream_t stream STREAMPOOL_COMPAT_OR(0),
    unsigned int flags STREAMPOOL_COMPAT_OR(0)) {
    return flags ? cudaEventRecordWithFlags(event, stream, flags)
                 : streampool_compat_EventRecord(event, stream);
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_EventSynchronize(cudaEvent_t event) {
    return streampool_compat_result(poolEventSynchronize(event));
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_EventQuery(cudaEvent_t event) {
    return streampool_compat_result(poolEventQuery(event));
}

STREAMPOOL_COMPAT_BOTH cudaError_t streampool_compat_EventDestroy(cudaEvent_t event) {
#if defined(__CUDA_ARCH__)
    return cudaEventDestroy(event);
#else
    return streampool_compat_result(poolEventDestroy(event));
#endif
}

STREAMPOOL_COMPAT cudaError_t streampool_compat_DeviceSynchronize(void) {
    streampool_compat_bind();
    return streampool_compat_result(poolDeviceSynchronize());
}

#ifdef __cplusplus
}

// ----------------------------------------------------------------- the overloads of cuda_runtime.h

STREAMPOOL_COMPAT cudaError_t streampool_compat_MallocAsync(void **ptr, size_t size,
                                                            cudaMemPool_t pool,
                                                            cudaStream_t stream) {
    return streampool_compat_MallocFromPoolAsync(ptr, size, pool, stream);
}

template <class T>
STREAMPOOL_COMPAT cudaError_t streampool_compat_MallocFromPoolAsync(T **ptr, size_t size,
                                                                    cudaMemPool_t pool,
                                                                    cudaStream_t stream) {
    void *memory = NULL;
    const cudaError_t error =
        streampool_compat_MallocFromPoolAsync(ptr ? &memory : NULL, size, pool, stream);
    if (error == cudaSuccess)
        *ptr = reinterpret_cast<T *>(memory);
    return error;
}

template <class T>
STREAMPOOL_COMPAT cudaError_t streampool_compat_MallocAsync(T **ptr, size_t size,
                                                            cudaMemPool_t pool,
                                                            cudaStream_t stream) {
    return streampool_compat_MallocFromPoolAsync(ptr, size, pool, stream);
}

template <class T>
STREAMPOOL_COMPAT cudaError_t streampool_compat_MallocAsync(T **ptr, size_t size,
                                                            cudaStream_t stream) {
    void *memory = NULL;
    const cudaError_t error = streampool_compat_MallocAsync(ptr ? &memory : NULL, size, stream);
    if (error == cudaSuccess)
        *ptr = reinterpret_cast<T *>(memory);
    return error;
}
#endif

// ---------------------------------------------------------------------------- the runtime's names

// With per-thread default streams these names are macros of the runtime's already.
#undef cudaMallocAsync
#undef cudaMallocFromPoolAsync
#undef cudaFreeAsync
#undef cudaStreamSynchronize
#undef cudaStreamQuery
#undef cudaStreamWaitEvent
#undef cudaEventRecord
#undef cudaEventRecordWithFlags

#define cudaMallocAsync                      streampool_compat_MallocAsync
#define cudaMallocFromPoolAsync              streampool_compat_MallocFromPoolAsync
#define cudaFreeAsync                        streampool_compat_FreeAsync
#define cudaFree                             streampool_compat_Free
#define cudaMemPoolCreate                    streampool_compat_MemPoolCreate
#define cudaMemPoolDestroy                   streampool_compat_MemPoolDestroy
#define cudaMemPoolGetAttribute              streampool_compat_MemPoolGetAttribute
#define cudaMemPoolSetAttribute              streampool_compat_MemPoolSetAttribute
#define cudaMemPoolTrimTo                    streampool_compat_MemPoolTrimTo
#define cudaMemPoolSetAccess                 streampool_compat_MemPoolSetAccess
#define cudaMemPoolGetAccess                 streampool_compat_MemPoolGetAccess
#define cudaMemPoolExportToShareableHandle   streampool_compat_MemPoolExportToShareableHandle
#define cudaMemPoolImportFromShareableHandle streampool_compat_MemPoolImportFromShareableHandle
#define cudaMemPoolExportPointer             streampool_compat_MemPoolExportPointer
#define cudaMemPoolImportPointer             streampool_compat_MemPoolImportPointer
#define cudaDeviceGetDefaultMemPool          streampool_compat_DeviceGetDefaultMemPool
#define cudaDeviceGetMemPool                 streampool_compat_DeviceGetMemPool
#define cudaDeviceSetMemPool                 streampool_compat_DeviceSetMemPool
#define cudaDeviceGetAttribute               streampool_compat_DeviceGetAttribute
#define cudaStreamSynchronize                streampool_compat_StreamSynchronize
#define cudaStreamQuery                      streampool_compat_StreamQuery
#define cudaStreamWaitEvent                  streampool_compat_StreamWaitEvent
#define cudaStreamDestroy                    streampool_compat_StreamDestroy
#define cudaEventRecord                      streampool_compat_EventRecord
#define cudaEventRecordWithFlags             streampool_compat_EventRecordWithFlags
#define cudaEventSynchronize                 streampool_compat_EventSynchronize
#define cudaEventQuery                       streampool_compat_EventQuery
#define cudaEventDestroy                     streampool_compat_EventDestroy
#define cudaGetLastError                     streampool_compat_GetLastError
#define cudaPeekAtLastError                  streampool_compat_PeekAtLastError
#if CUDART_VERSION >= 13000
#define cudaMemGetDefaultMemPool streampool_compat_MemGetDefaultMemPool
#define cudaMemGetMemPool        streampool_compat_MemGetMemPool
#define cudaMemSetMemPool        streampool_compat_MemSetMemPool
#endif

// Kernels can't wait for their device any more. Those of older toolkits keep the runtime's name.
#if !defined(__CUDA_ARCH__)
#define cudaDeviceSynchronize streampool_compat_DeviceSynchronize
#endif

#undef STREAMPOOL_COMPAT
#undef STREAMPOOL_COMPAT_BOTH
#undef STREAMPOOL_COMPAT_NUMBER
#undef STREAMPOOL_COMPAT_POINTER
#undef STREAMPOOL_COMPAT_OR

#endif
