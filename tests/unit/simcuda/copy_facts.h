// Sizes, places and values of simcuda/abi.h for copies and words of memory: one list, which
// copy_abi_test.c evaluates with our declarations, and copy_facts_toolkit.c with the toolkit's.
// Include it after the one or the other.
#ifndef STREAMPOOL_TESTS_SIMCUDA_COPY_FACTS_H
#define STREAMPOOL_TESTS_SIMCUDA_COPY_FACTS_H

#include <stddef.h>

#define SIDE(X, type, side)                                                                        \
    X(offsetof(type, side##XInBytes))                                                              \
    X(offsetof(type, side##Y))                                                                     \
    X(offsetof(type, side##MemoryType))                                                            \
    X(offsetof(type, side##Host))                                                                  \
    X(offsetof(type, side##Device))                                                                \
    X(offsetof(type, side##Array))                                                                 \
    X(offsetof(type, side##Pitch))

#define SIDE_OF_LAYERS(X, type, side)                                                              \
    SIDE(X, type, side)                                                                            \
    X(offsetof(type, side##Z))                                                                     \
    X(offsetof(type, side##LOD))                                                                   \
    X(offsetof(type, side##Height))

#define BOTH(X, type, SIDE)                                                                        \
    SIDE(X, type, src)                                                                             \
    SIDE(X, type, dst)                                                                             \
    X(sizeof(type))                                                                                \
    X(offsetof(type, WidthInBytes))                                                                \
    X(offsetof(type, Height))

#define COPY_FACTS(X)                                                                              \
    BOTH(X, CUDA_MEMCPY2D, SIDE)                                                                   \
    BOTH(X, CUDA_MEMCPY3D, SIDE_OF_LAYERS)                                                         \
    X(offsetof(CUDA_MEMCPY3D, reserved0))                                                          \
    X(offsetof(CUDA_MEMCPY3D, reserved1))                                                          \
    X(offsetof(CUDA_MEMCPY3D, Depth))                                                              \
    BOTH(X, CUDA_MEMCPY3D_PEER, SIDE_OF_LAYERS)                                                    \
    X(offsetof(CUDA_MEMCPY3D_PEER, srcContext))                                                    \
    X(offsetof(CUDA_MEMCPY3D_PEER, dstContext))                                                    \
    X(offsetof(CUDA_MEMCPY3D_PEER, Depth))                                                         \
    X(sizeof(CUmemcpyAttributes))                                                                  \
    X(offsetof(CUmemcpyAttributes, srcLocHint))                                                    \
    X(offsetof(CUmemcpyAttributes, dstLocHint))                                                    \
    X(offsetof(CUmemcpyAttributes, flags))                                                         \
    X(sizeof(CUstreamBatchMemOpParams))                                                            \
    X(offsetof(CUstreamBatchMemOpParams, waitValue.address))                                       \
    X(offsetof(CUstreamBatchMemOpParams, waitValue.value))                                         \
    X(offsetof(CUstreamBatchMemOpParams, waitValue.value64))                                       \
    X(offsetof(CUstreamBatchMemOpParams, waitValue.flags))                                         \
    X(offsetof(CUstreamBatchMemOpParams, writeValue.address))                                      \
    X(offsetof(CUstreamBatchMemOpParams, writeValue.value))                                        \
    X(offsetof(CUstreamBatchMemOpParams, writeValue.value64))                                      \
    X(offsetof(CUstreamBatchMemOpParams, writeValue.flags))                                        \
    X(offsetof(CUstreamBatchMemOpParams, flushRemoteWrites.flags))                                 \
    X(offsetof(CUstreamBatchMemOpParams, memoryBarrier.flags))                                     \
    X(CU_MEMORYTYPE_HOST)                                                                          \
    X(CU_MEMORYTYPE_DEVICE)                                                                        \
    X(CU_MEMORYTYPE_ARRAY)                                                                         \
    X(CU_MEMORYTYPE_UNIFIED)                                                                       \
    X(CU_DEVICE_INVALID)                                                                           \
    X(CU_POINTER_ATTRIBUTE_P2P_TOKENS)                                                             \
    X(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID)                                                        \
    X(CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)                                               \
    X(CU_MEMHOSTALLOC_PORTABLE)                                                                    \
    X(CU_MEMHOSTALLOC_DEVICEMAP)                                                                   \
    X(CU_MEMHOSTALLOC_WRITECOMBINED)                                                               \
    X(CU_MEMHOSTREGISTER_PORTABLE)                                                                 \
    X(CU_MEMHOSTREGISTER_DEVICEMAP)                                                                \
    X(CU_MEMHOSTREGISTER_IOMEMORY)                                                                 \
    X(CU_MEMHOSTREGISTER_READ_ONLY)                                                                \
    X(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM)                                                           \
    X(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)                                                  \
    X(CU_MEMCPY_SRC_ACCESS_ORDER_ANY)                                                              \
    X(CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)                                                  \
    X(CU_STREAM_WAIT_VALUE_GEQ)                                                                    \
    X(CU_STREAM_WAIT_VALUE_EQ)                                                                     \
    X(CU_STREAM_WAIT_VALUE_AND)                                                                    \
    X(CU_STREAM_WAIT_VALUE_NOR)                                                                    \
    X(CU_STREAM_WAIT_VALUE_FLUSH)                                                                  \
    X(CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER)                                                     \
    X(CU_STREAM_MEMORY_BARRIER_TYPE_GPU)                                                           \
    X(CU_STREAM_MEM_OP_WAIT_VALUE_32)                                                              \
    X(CU_STREAM_MEM_OP_WRITE_VALUE_32)                                                             \
    X(CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES)                                                        \
    X(CU_STREAM_MEM_OP_WAIT_VALUE_64)                                                              \
    X(CU_STREAM_MEM_OP_WRITE_VALUE_64)                                                             \
    X(CU_STREAM_MEM_OP_BARRIER)

struct copy_fact {
    const char *name;
    long long value;
};

#define COPY_FACT(fact) {#fact, (long long)(fact)},

extern const struct copy_fact copy_facts_toolkit[]; // ends with a name that is null

#endif
