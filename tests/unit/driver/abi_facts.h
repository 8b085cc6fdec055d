// The facts about the driver's ABI that driver/abi.h and simcuda/entry/abi.h state: one list, which
// abi_facts_ours.c evaluates with our declarations and abi_facts_toolkit.c with the toolkit's.
// Include it after the one or the other.
//
//   ABI_TYPES(X)   X(type): its size counts
//   ABI_FIELDS(X)  X(type, field): offset and size count
//
// The enumerators and other constants come from abi_constants.inc and the types of
// simcuda/entry/abi.h from abi_types.inc, which the build extracts from the headers; the error
// codes from SP_DRIVER_ERRORS, and the attributes of devices from SIM_DEVICE_ATTRIBUTES.
#ifndef STREAMPOOL_TESTS_ABI_FACTS_H
#define STREAMPOOL_TESTS_ABI_FACTS_H

#include <stddef.h>
#include <stdint.h>

#define ABI_TYPES(X)                                                                               \
    X(CUdevice)                                                                                    \
    X(CUdeviceptr)                                                                                 \
    X(CUmemGenericAllocationHandle)                                                                \
    X(CUcontext)                                                                                   \
    X(CUmodule)                                                                                    \
    X(CUfunction)                                                                                  \
    X(CUstream)                                                                                    \
    X(CUevent)                                                                                     \
    X(CUgraph)                                                                                     \
    X(CUgraphNode)                                                                                 \
    X(CUmemoryPool)                                                                                \
    X(CUhostFn)                                                                                    \
    X(CUresult)                                                                                    \
    X(CUdevice_attribute)                                                                          \
    X(CUpointer_attribute)                                                                         \
    X(CUmemLocationType)                                                                           \
    X(CUmemAllocationType)                                                                         \
    X(CUmemAllocationHandleType)                                                                   \
    X(CUmemAccess_flags)                                                                           \
    X(CUmemAllocationGranularity_flags)                                                            \
    X(CUmemLocation)                                                                               \
    X(CUmemcpySrcAccessOrder)                                                                      \
    X(CUmemcpyAttributes)                                                                          \
    X(CUmemAllocationProp)                                                                         \
    X(CUmemAccessDesc)                                                                             \
    X(CUmemPoolProps)                                                                              \
    X(CUmemPool_attribute)                                                                         \
    X(CUstream_flags)                                                                              \
    X(CUevent_flags)                                                                               \
    X(CUstreamCaptureStatus)                                                                       \
    X(CUstreamCaptureMode)                                                                         \
    X(CUdriverProcAddressQueryResult)

#define ABI_SIDE(X, type, side)                                                                    \
    X(type, side##XInBytes)                                                                        \
    X(type, side##Y)                                                                               \
    X(type, side##MemoryType)                                                                      \
    X(type, side##Host)                                                                            \
    X(type, side##Device)                                                                          \
    X(type, side##Array)                                                                           \
    X(type, side##Pitch)

#define ABI_SIDE_OF_LAYERS(X, type, side)                                                          \
    ABI_SIDE(X, type, side)                                                                        \
    X(type, side##Z)                                                                               \
    X(type, side##LOD)                                                                             \
    X(type, side##Height)

#define ABI_COPY(X, type, SIDE)                                                                    \
    SIDE(X, type, src)                                                                             \
    SIDE(X, type, dst)                                                                             \
    X(type, WidthInBytes)                                                                          \
    X(type, Height)

#define ABI_FIELDS(X)                                                                              \
    X(CUmemLocation, type)                                                                         \
    X(CUmemLocation, id)                                                                           \
    X(CUmemAllocationProp, type)                                                                   \
    X(CUmemAllocationProp, requestedHandleTypes)                                                   \
    X(CUmemAllocationProp, location)                                                               \
    X(CUmemAllocationProp, win32HandleMetaData)                                                    \
    X(CUmemAllocationProp, allocFlags)                                                             \
    X(CUmemAllocationProp, allocFlags.compressionType)                                             \
    X(CUmemAllocationProp, allocFlags.gpuDirectRDMACapable)                                        \
    X(CUmemAllocationProp, allocFlags.usage)                                                       \
    X(CUmemAllocationProp, allocFlags.reserved)                                                    \
    X(CUmemAccessDesc, location)                                                                   \
    X(CUmemAccessDesc, flags)                                                                      \
    X(CUmemPoolProps, allocType)                                                                   \
    X(CUmemPoolProps, handleTypes)                                                                 \
    X(CUmemPoolProps, location)                                                                    \
    X(CUmemPoolProps, win32SecurityAttributes)                                                     \
    X(CUmemPoolProps, maxSize)                                                                     \
    X(CUmemPoolProps, usage)                                                                       \
    X(CUmemPoolProps, reserved)                                                                    \
    X(CUdevprop, maxThreadsPerBlock)                                                               \
    X(CUdevprop, maxThreadsDim)                                                                    \
    X(CUdevprop, maxGridSize)                                                                      \
    X(CUdevprop, sharedMemPerBlock)                                                                \
    X(CUdevprop, totalConstantMemory)                                                              \
    X(CUdevprop, SIMDWidth)                                                                        \
    X(CUdevprop, memPitch)                                                                         \
    X(CUdevprop, regsPerBlock)                                                                     \
    X(CUdevprop, clockRate)                                                                        \
    X(CUdevprop, textureAlign)                                                                     \
    X(CUctxCreateParams, execAffinityParams)                                                       \
    X(CUctxCreateParams, numExecAffinityParams)                                                    \
    X(CUctxCreateParams, cigParams)                                                                \
    X(CUgraphEdgeData, from_port)                                                                  \
    X(CUgraphEdgeData, to_port)                                                                    \
    X(CUgraphEdgeData, type)                                                                       \
    X(CUaccessPolicyWindow, base_ptr)                                                              \
    X(CUaccessPolicyWindow, num_bytes)                                                             \
    X(CUaccessPolicyWindow, hitRatio)                                                              \
    X(CUaccessPolicyWindow, hitProp)                                                               \
    X(CUaccessPolicyWindow, missProp)                                                              \
    X(CUlaunchMemSyncDomainMap, default_)                                                          \
    X(CUlaunchMemSyncDomainMap, remote)                                                            \
    X(CUlaunchAttributeValue, accessPolicyWindow)                                                  \
    X(CUlaunchAttributeValue, syncPolicy)                                                          \
    X(CUlaunchAttributeValue, priority)                                                            \
    X(CUlaunchAttributeValue, memSyncDomainMap)                                                    \
    X(CUlaunchAttributeValue, memSyncDomain)                                                       \
    ABI_COPY(X, CUDA_MEMCPY2D, ABI_SIDE)                                                           \
    ABI_COPY(X, CUDA_MEMCPY3D, ABI_SIDE_OF_LAYERS)                                                 \
    X(CUDA_MEMCPY3D, reserved0)                                                                    \
    X(CUDA_MEMCPY3D, reserved1)                                                                    \
    X(CUDA_MEMCPY3D, Depth)                                                                        \
    ABI_COPY(X, CUDA_MEMCPY3D_PEER, ABI_SIDE_OF_LAYERS)                                            \
    X(CUDA_MEMCPY3D_PEER, srcContext)                                                              \
    X(CUDA_MEMCPY3D_PEER, dstContext)                                                              \
    X(CUDA_MEMCPY3D_PEER, Depth)                                                                   \
    X(CUmemcpyAttributes, srcAccessOrder)                                                          \
    X(CUmemcpyAttributes, srcLocHint)                                                              \
    X(CUmemcpyAttributes, dstLocHint)                                                              \
    X(CUmemcpyAttributes, flags)                                                                   \
    X(CUstreamBatchMemOpParams, waitValue.address)                                                 \
    X(CUstreamBatchMemOpParams, waitValue.value)                                                   \
    X(CUstreamBatchMemOpParams, waitValue.value64)                                                 \
    X(CUstreamBatchMemOpParams, waitValue.flags)                                                   \
    X(CUstreamBatchMemOpParams, writeValue.address)                                                \
    X(CUstreamBatchMemOpParams, writeValue.value)                                                  \
    X(CUstreamBatchMemOpParams, writeValue.value64)                                                \
    X(CUstreamBatchMemOpParams, writeValue.flags)                                                  \
    X(CUstreamBatchMemOpParams, flushRemoteWrites.flags)                                           \
    X(CUstreamBatchMemOpParams, memoryBarrier.flags)

struct abi_fact {
    const char *name;
    long long value;
};

#define ABI_FACT_VALUE(name)         {#name, (long long)(intptr_t)(name)},
#define ABI_FACT_ERROR(name, number) {#name, (long long)(name)},
#define ABI_FACT_SIZE(type)          {"sizeof(" #type ")", (long long)sizeof(type)},
#define ABI_FACT_FIELD(type, field)                                                                \
    {"offsetof(" #type ", " #field ")", (long long)offsetof(type, field)},                         \
        {"sizeof(" #type "." #field ")", (long long)sizeof(((type *)0)->field)},

// Both end with a null name.
extern const struct abi_fact abi_facts_ours[];
extern const struct abi_fact abi_facts_toolkit[];

#define FACT ABI_FACT_VALUE
#define TYPE ABI_FACT_SIZE

#endif
