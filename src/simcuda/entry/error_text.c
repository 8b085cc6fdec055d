#include "simcuda/entry/error_text.h"

#include <stddef.h>

// clang-format off
#define TEXTS(X) \
    X(CUDA_SUCCESS, "no error") \
    X(CUDA_ERROR_INVALID_VALUE, "an argument has a value that the call doesn't accept") \
    X(CUDA_ERROR_OUT_OF_MEMORY, "there is not enough memory") \
    X(CUDA_ERROR_NOT_INITIALIZED, "cuInit was not called, or failed") \
    X(CUDA_ERROR_DEINITIALIZED, "the driver has shut down, as the process ends") \
    X(CUDA_ERROR_PROFILER_DISABLED, "the profiler can't be used in this run") \
    X(CUDA_ERROR_PROFILER_NOT_INITIALIZED, "the profiler was not initialized") \
    X(CUDA_ERROR_PROFILER_ALREADY_STARTED, "the profiler runs already") \
    X(CUDA_ERROR_PROFILER_ALREADY_STOPPED, "the profiler is stopped already") \
    X(CUDA_ERROR_STUB_LIBRARY, "the library is a stub to link with, not a driver") \
    X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, "the call needs a newer driver") \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE, "the device is busy or unavailable") \
    X(CUDA_ERROR_NO_DEVICE, "there is no CUDA device") \
    X(CUDA_ERROR_INVALID_DEVICE, "there is no device of that number") \
    X(CUDA_ERROR_DEVICE_NOT_LICENSED, "the device has no license for this use") \
    X(CUDA_ERROR_INVALID_IMAGE, "the module's image is not valid") \
    X(CUDA_ERROR_INVALID_CONTEXT, "no context is current, or it is not valid") \
    X(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, "the context is current already") \
    X(CUDA_ERROR_MAP_FAILED, "a resource could not be mapped") \
    X(CUDA_ERROR_UNMAP_FAILED, "a resource could not be unmapped") \
    X(CUDA_ERROR_ARRAY_IS_MAPPED, "the array is mapped, so it can't be destroyed") \
    X(CUDA_ERROR_ALREADY_MAPPED, "the resource is mapped already") \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, "the image has no code that this device runs") \
    X(CUDA_ERROR_ALREADY_ACQUIRED, "the resource is acquired already") \
    X(CUDA_ERROR_NOT_MAPPED, "the resource is not mapped") \
    X(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, "the resource is not mapped as an array") \
    X(CUDA_ERROR_NOT_MAPPED_AS_POINTER, "the resource is not mapped as a pointer") \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, "memory has an error that could not be corrected") \
    X(CUDA_ERROR_UNSUPPORTED_LIMIT, "the device doesn't have this limit") \
    X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, "another thread uses the context, which is for one at a time") \
    X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "these devices can't access each other's memory") \
    X(CUDA_ERROR_INVALID_PTX, "the PTX could not be compiled") \
    X(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, "the graphics context is not valid") \
    X(CUDA_ERROR_NVLINK_UNCORRECTABLE, "NVLink had an error that could not be corrected") \
    X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, "the library that compiles PTX was not found") \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the PTX is of a version newer than the compiler knows") \
    X(CUDA_ERROR_JIT_COMPILATION_DISABLED, "compiling PTX was switched off") \
    X(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "the device can't limit a context in that way") \
    X(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, "the code synchronizes on the device in a way that has gone") \
    X(CUDA_ERROR_CONTAINED, "the device had an error, which was contained to some memory") \
    X(CUDA_ERROR_INVALID_SOURCE, "the kernel's source or image is not valid") \
    X(CUDA_ERROR_FILE_NOT_FOUND, "the file was not found") \
    X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, "a shared library lacks a symbol") \
    X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, "a shared library could not be initialized") \
    X(CUDA_ERROR_OPERATING_SYSTEM, "a call of the operating system failed") \
    X(CUDA_ERROR_INVALID_HANDLE, "the handle is of nothing that exists, or of the wrong kind") \
    X(CUDA_ERROR_ILLEGAL_STATE, "something that the call needs is not in a state for it") \
    X(CUDA_ERROR_LOSSY_QUERY, "the answer would have to leave out what the call can't tell") \
    X(CUDA_ERROR_NOT_FOUND, "nothing of that name was found") \
    X(CUDA_ERROR_NOT_READY, "the work is not complete yet") \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, "work on the device accessed an address that it may not") \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "the launch asks for more than the device has") \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, "the kernel ran longer than it may") \
    X(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, "the launch mixes kinds of textures") \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, "access to the peer is enabled already") \
    X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, "access to the peer is not enabled") \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, "the primary context is active, so this can't be set any more") \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context is destroyed") \
    X(CUDA_ERROR_ASSERT, "an assertion in a kernel failed") \
    X(CUDA_ERROR_TOO_MANY_PEERS, "the device can have no more peers") \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "the host memory is registered already") \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "the host memory is not registered") \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, "the stack of a kernel is corrupt or overflowed") \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, "a kernel ran an illegal instruction") \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, "a kernel accessed an address that is not aligned") \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, "a kernel accessed memory of the wrong address space") \
    X(CUDA_ERROR_INVALID_PC, "a kernel ran at an address without code") \
    X(CUDA_ERROR_LAUNCH_FAILED, "a kernel failed") \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, "the cooperative launch has more blocks than fit at a time") \
    X(CUDA_ERROR_TENSOR_MEMORY_LEAK, "a kernel left tensor memory behind") \
    X(CUDA_ERROR_NOT_PERMITTED, "the call is not permitted here") \
    X(CUDA_ERROR_NOT_SUPPORTED, "the call is not supported here") \
    X(CUDA_ERROR_SYSTEM_NOT_READY, "the system is not ready for CUDA yet") \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "the driver's parts are of different versions") \
    X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, "forward compatibility is not for this device") \
    X(CUDA_ERROR_MPS_CONNECTION_FAILED, "the MPS control daemon could not be reached") \
    X(CUDA_ERROR_MPS_RPC_FAILURE, "a call to the MPS server failed") \
    X(CUDA_ERROR_MPS_SERVER_NOT_READY, "the MPS server is not ready for a client") \
    X(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, "the MPS server can have no more clients") \
    X(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, "the MPS server can have no more connections") \
    X(CUDA_ERROR_MPS_CLIENT_TERMINATED, "the MPS server has ended this client") \
    X(CUDA_ERROR_CDP_NOT_SUPPORTED, "launching from a kernel is not supported here") \
    X(CUDA_ERROR_CDP_VERSION_MISMATCH, "the code launches from kernels in a way of another version") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the call is not allowed while a stream captures") \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "an error before has invalidated the capture") \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, "the call would join two captures") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "the capture began in another stream") \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "the capture has work that its first stream doesn't wait for") \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "the capture would depend on work outside of it") \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream would have to wait for a stream that captures") \
    X(CUDA_ERROR_CAPTURED_EVENT, "the event was last recorded in a capture") \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture is to be ended by the thread that began it") \
    X(CUDA_ERROR_TIMEOUT, "a wait took longer than it may") \
    X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "the executable graph can't be updated to that graph") \
    X(CUDA_ERROR_EXTERNAL_DEVICE, "another device that takes part had an error") \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE, "the size of the cluster is wrong") \
    X(CUDA_ERROR_FUNCTION_NOT_LOADED, "the function is not loaded") \
    X(CUDA_ERROR_INVALID_RESOURCE_TYPE, "a resource is of a type that the call doesn't take") \
    X(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "the resources don't suffice, or don't fit together") \
    X(CUDA_ERROR_KEY_ROTATION, "the device's keys are being changed") \
    X(CUDA_ERROR_UNKNOWN, "an error that has no other code")
// clang-format on

const char *sim_error_text(CUresult error) {
    switch (error) {
#define TEXT(code, text)                                                                           \
    case code:                                                                                     \
        return text;
        TEXTS(TEXT)
    }
    return NULL;
}
