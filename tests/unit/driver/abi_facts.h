// The facts about the driver's ABI that driver/abi.h and simcuda/abi.h state: one list, which
// abi_facts_ours.c evaluates with our declarations and abi_facts_toolkit.c with the toolkit's.
// Include it after the one or the other.
//
//   ABI_TYPES(X)   X(type): its size counts
//   ABI_FIELDS(X)  X(type, field): offset and size count
//
// The enumerators come from abi_enumerators.inc and the types of simcuda/abi.h from abi_types.inc,
// which the build extracts from the headers; the error codes from SP_DRIVER_ERRORS, and the
// attributes of devices from SIM_DEVICE_ATTRIBUTES.
#ifndef STREAMPOOL_TESTS_ABI_FACTS_H
#define STREAMPOOL_TESTS_ABI_FACTS_H

#include <stddef.h>

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
    X(CUmemAllocationProp)                                                                         \
    X(CUmemAccessDesc)                                                                             \
    X(CUmemPoolProps)                                                                              \
    X(CUmemPool_attribute)                                                                         \
    X(CUstream_flags)                                                                              \
    X(CUevent_flags)                                                                               \
    X(CUstreamCaptureStatus)                                                                       \
    X(CUstreamCaptureMode)                                                                         \
    X(CUdriverProcAddressQueryResult)

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
    X(CUlaunchAttributeValue, memSyncDomain)

struct abi_fact {
    const char *name;
    long long value;
};

#define ABI_FACT_VALUE(name)         {#name, (long long)(name)},
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
