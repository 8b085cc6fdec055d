/// @file
/// The calls of streampool.h as C++ programs make them: with typed pointers and with defaults, as
/// cuda_runtime.h has them for the calls of CUDA. streampool.h includes this file in C++, and C
/// programs see nothing of it.
///
///     float *numbers;
///     poolMallocAsync(&numbers, bytes, stream);
///     poolMallocAsync(&numbers, bytes, pool, stream);
///     poolStreamWaitEvent(stream, event);
///
/// A typed call does what the call with a `void **` does, and returns its errors. The pointer may
/// be one to anything, also to what is const or volatile. All of it is inline: the library exports
/// nothing more. With CUDA_API_PER_THREAD_DEFAULT_STREAM defined the names here become those with
/// _ptsz too, so both kinds of program link together.
#ifndef STREAMPOOL_OVERLOADS_H
#define STREAMPOOL_OVERLOADS_H

#include <streampool/streampool.h>

#ifdef __cplusplus

// A program may include streampool.h inside extern "C", where no template may stand.
extern "C++" {

// --------------------------------------------------------------------- typed pointers and defaults

// A C++ program passes the address of a typed pointer, and leaves out what is the default.

// A default is given by declaring the function once more.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wredundant-decls"
extern "C" {

/// Records an event as the call of streampool.h does, in the default stream unless another one is
/// named.
///
/// @param event Is the event to record.
/// @param stream Is the stream whose work so far the event stands for.
///
/// - Errors are the driver's.
STREAMPOOL_API poolError_t poolEventRecord(CUevent event, CUstream stream = nullptr);

/// Makes a stream wait as the call of streampool.h does, with flags 0 unless others are named.
///
/// @param stream Is the stream that waits.
/// @param event Is the event that it waits for.
/// @param flags Are the driver's.
///
/// - Errors are the driver's.
STREAMPOOL_API poolError_t poolStreamWaitEvent(CUstream stream, CUevent event,
                                               unsigned int flags = 0);
}
#pragma GCC diagnostic pop

/// Allocates from the given pool, as poolMallocFromPoolAsync does.
/// (cudaMallocAsync with a pool)
///
/// @param[out] ptr Receives the address on the device.
/// @param size Is the number of bytes.
/// @param pool Names the pool that the memory comes from.
/// @param stream Is the stream in whose order the memory is allocated.
///
/// - Errors are those of poolMallocFromPoolAsync.
inline poolError_t poolMallocAsync(void **ptr, size_t size, poolMemPool_t pool, CUstream stream) {
    return poolMallocFromPoolAsync(ptr, size, pool, stream);
}

/// Allocates `size` bytes, not objects, as poolMallocAsync does. (cudaMallocAsync)
///
/// @param[out] ptr Receives the address on the device.
/// @param size Is the number of bytes.
/// @param stream Is the stream in whose order the memory is allocated.
///
/// - Errors are those of poolMallocAsync.
template <typename T> inline poolError_t poolMallocAsync(T **ptr, size_t size, CUstream stream) {
    void *memory = nullptr;
    const poolError_t error = poolMallocAsync(ptr ? &memory : nullptr, size, stream);
    if (error == poolSuccess)
        *ptr = reinterpret_cast<T *>(memory);
    return error;
}

/// Allocates `size` bytes, not objects, as poolMallocFromPoolAsync does. (cudaMallocFromPoolAsync)
///
/// @param[out] ptr Receives the address on the device.
/// @param size Is the number of bytes.
/// @param pool Names the pool that the memory comes from.
/// @param stream Is the stream in whose order the memory is allocated.
///
/// - Errors are those of poolMallocFromPoolAsync.
template <typename T>
inline poolError_t poolMallocFromPoolAsync(T **ptr, size_t size, poolMemPool_t pool,
                                           CUstream stream) {
    void *memory = nullptr;
    const poolError_t error = poolMallocFromPoolAsync(ptr ? &memory : nullptr, size, pool, stream);
    if (error == poolSuccess)
        *ptr = reinterpret_cast<T *>(memory);
    return error;
}

/// Allocates `size` bytes, not objects, from the given pool. (cudaMallocAsync with a pool)
///
/// @param[out] ptr Receives the address on the device.
/// @param size Is the number of bytes.
/// @param pool Names the pool that the memory comes from.
/// @param stream Is the stream in whose order the memory is allocated.
///
/// - Errors are those of poolMallocFromPoolAsync.
template <typename T>
inline poolError_t poolMallocAsync(T **ptr, size_t size, poolMemPool_t pool, CUstream stream) {
    return poolMallocFromPoolAsync(ptr, size, pool, stream);
}

/// Allocates `size` bytes, not objects, as poolMallocAsyncWithFlags does.
///
/// @param[out] ptr Receives the address on the device.
/// @param size Is the number of bytes.
/// @param pool Names the pool that the memory comes from. May be null.
/// @param stream Is the stream in whose order the memory is allocated.
/// @param flags Is a combination of poolMallocFlags.
///
/// - Errors are those of poolMallocAsyncWithFlags.
template <typename T>
inline poolError_t poolMallocAsyncWithFlags(T **ptr, size_t size, poolMemPool_t pool,
                                            CUstream stream, unsigned int flags) {
    void *memory = nullptr;
    const poolError_t error =
        poolMallocAsyncWithFlags(ptr ? &memory : nullptr, size, pool, stream, flags);
    if (error == poolSuccess)
        *ptr = reinterpret_cast<T *>(memory);
    return error;
}

/// Allocates `size` bytes, not objects, in no stream's order, as poolMallocFromPool does.
///
/// @param[out] ptr Receives the address.
/// @param size Is the number of bytes.
/// @param pool Names the pool that the memory comes from.
///
/// - Errors are those of poolMallocFromPool.
template <typename T>
inline poolError_t poolMallocFromPool(T **ptr, size_t size, poolMemPool_t pool) {
    void *memory = nullptr;
    const poolError_t error = poolMallocFromPool(ptr ? &memory : nullptr, size, pool);
    if (error == poolSuccess)
        *ptr = reinterpret_cast<T *>(memory);
    return error;
}
}

#endif

#endif
