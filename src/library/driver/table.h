// Two lists: every entry point of the driver that this project calls, and every code that a call
// may return.
//
//   SP_DRIVER_TABLE(X) expands X(name, symbol, version, need, parameters) once for each, where
//     name        is the entry point as the documentation names it, and cuGetProcAddress too;
//     symbol      is its name for dlsym, which has the suffix of the ABI that `parameters`
//                 declares;
//     version     is the CUDA version that introduced that ABI (1000 * major + 10 * minor).
//                 cuGetProcAddress is asked for exactly this one, as a newer one can bind a
//                 function that behaves differently;
//     need        is SP_NEED_REQUIRED (the library can't work without it; all of these are in CUDA
//                 10.2), SP_NEED_OPTIONAL (the library works better with it), or SP_NEED_CLIENT
//                 (the library never calls it: the program, tests and benches do);
//     parameters  is the parenthesised parameter list. Every entry point returns a CUresult.
//
// The struct of the driver and its loading, `streampool info`, the simulated driver's exports and
// its fault counters, and the check against the toolkit's header are all expanded from this list.
#ifndef STREAMPOOL_DRIVER_TABLE_H
#define STREAMPOOL_DRIVER_TABLE_H

// clang-format off
#define SP_DRIVER_TABLE(X) \
    X(cuInit, cuInit, 2000, SP_NEED_REQUIRED, (unsigned int flags)) \
    X(cuDriverGetVersion, cuDriverGetVersion, 2020, SP_NEED_REQUIRED, (int *version)) \
    X(cuGetErrorName, cuGetErrorName, 6000, SP_NEED_REQUIRED, (CUresult error, const char **name)) \
    X(cuDeviceGetCount, cuDeviceGetCount, 2000, SP_NEED_REQUIRED, (int *count)) \
    X(cuDeviceGet, cuDeviceGet, 2000, SP_NEED_REQUIRED, (CUdevice *device, int ordinal)) \
    X(cuDeviceGetName, cuDeviceGetName, 2000, SP_NEED_REQUIRED, (char *name, int length, CUdevice device)) \
    X(cuDeviceTotalMem, cuDeviceTotalMem_v2, 3020, SP_NEED_REQUIRED, (size_t *bytes, CUdevice device)) \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, 2000, SP_NEED_REQUIRED, (int *value, CUdevice_attribute attribute, CUdevice device)) \
    X(cuDeviceCanAccessPeer, cuDeviceCanAccessPeer, 4000, SP_NEED_REQUIRED, (int *can, CUdevice device, CUdevice peer)) \
    X(cuCtxGetCurrent, cuCtxGetCurrent, 4000, SP_NEED_REQUIRED, (CUcontext *context)) \
    X(cuCtxGetDevice, cuCtxGetDevice, 2000, SP_NEED_REQUIRED, (CUdevice *device)) \
    X(cuCtxPushCurrent, cuCtxPushCurrent_v2, 4000, SP_NEED_REQUIRED, (CUcontext context)) \
    X(cuCtxPopCurrent, cuCtxPopCurrent_v2, 4000, SP_NEED_REQUIRED, (CUcontext *context)) \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, SP_NEED_REQUIRED, (CUcontext *context, CUdevice device)) \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, SP_NEED_REQUIRED, (CUdevice device)) \
    X(cuCtxSetCurrent, cuCtxSetCurrent, 4000, SP_NEED_REQUIRED, (CUcontext context)) \
    X(cuCtxSynchronize, cuCtxSynchronize, 2000, SP_NEED_REQUIRED, (void)) \
    X(cuStreamGetCtx, cuStreamGetCtx, 9020, SP_NEED_REQUIRED, (CUstream stream, CUcontext *context)) \
    X(cuStreamGetFlags, cuStreamGetFlags, 5050, SP_NEED_REQUIRED, (CUstream stream, unsigned int *flags)) \
    X(cuStreamIsCapturing, cuStreamIsCapturing, 10000, SP_NEED_REQUIRED, (CUstream stream, CUstreamCaptureStatus *status)) \
    X(cuThreadExchangeStreamCaptureMode, cuThreadExchangeStreamCaptureMode, 10010, SP_NEED_REQUIRED, (CUstreamCaptureMode *mode)) \
    X(cuStreamQuery, cuStreamQuery, 2000, SP_NEED_REQUIRED, (CUstream stream)) \
    X(cuStreamSynchronize, cuStreamSynchronize, 2000, SP_NEED_REQUIRED, (CUstream stream)) \
    X(cuStreamWaitEvent, cuStreamWaitEvent, 3020, SP_NEED_REQUIRED, (CUstream stream, CUevent event, unsigned int flags)) \
    X(cuStreamDestroy, cuStreamDestroy_v2, 4000, SP_NEED_REQUIRED, (CUstream stream)) \
    X(cuEventCreate, cuEventCreate, 2000, SP_NEED_REQUIRED, (CUevent *event, unsigned int flags)) \
    X(cuEventRecord, cuEventRecord, 2000, SP_NEED_REQUIRED, (CUevent event, CUstream stream)) \
    X(cuEventQuery, cuEventQuery, 2000, SP_NEED_REQUIRED, (CUevent event)) \
    X(cuEventSynchronize, cuEventSynchronize, 2000, SP_NEED_REQUIRED, (CUevent event)) \
    X(cuEventDestroy, cuEventDestroy_v2, 4000, SP_NEED_REQUIRED, (CUevent event)) \
    X(cuMemGetInfo, cuMemGetInfo_v2, 3020, SP_NEED_REQUIRED, (size_t *free, size_t *total)) \
    X(cuMemAlloc, cuMemAlloc_v2, 3020, SP_NEED_REQUIRED, (CUdeviceptr *address, size_t size)) \
    X(cuMemFree, cuMemFree_v2, 3020, SP_NEED_REQUIRED, (CUdeviceptr address)) \
    X(cuMemHostAlloc, cuMemHostAlloc, 2020, SP_NEED_REQUIRED, (void **memory, size_t size, unsigned int flags)) \
    X(cuMemFreeHost, cuMemFreeHost, 2000, SP_NEED_REQUIRED, (void *memory)) \
    X(cuPointerGetAttribute, cuPointerGetAttribute, 4000, SP_NEED_REQUIRED, (void *value, CUpointer_attribute attribute, CUdeviceptr address)) \
    X(cuMemGetAllocationGranularity, cuMemGetAllocationGranularity, 10020, SP_NEED_REQUIRED, (size_t *granularity, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option)) \
    X(cuMemAddressReserve, cuMemAddressReserve, 10020, SP_NEED_REQUIRED, (CUdeviceptr *address, size_t size, size_t alignment, CUdeviceptr hint, unsigned long long flags)) \
    X(cuMemAddressFree, cuMemAddressFree, 10020, SP_NEED_REQUIRED, (CUdeviceptr address, size_t size)) \
    X(cuMemCreate, cuMemCreate, 10020, SP_NEED_REQUIRED, (CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, unsigned long long flags)) \
    X(cuMemRelease, cuMemRelease, 10020, SP_NEED_REQUIRED, (CUmemGenericAllocationHandle handle)) \
    X(cuMemMap, cuMemMap, 10020, SP_NEED_REQUIRED, (CUdeviceptr address, size_t size, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags)) \
    X(cuMemUnmap, cuMemUnmap, 10020, SP_NEED_REQUIRED, (CUdeviceptr address, size_t size)) \
    X(cuMemSetAccess, cuMemSetAccess, 10020, SP_NEED_REQUIRED, (CUdeviceptr address, size_t size, const CUmemAccessDesc *descriptors, size_t count)) \
    X(cuStreamGetId, cuStreamGetId, 12000, SP_NEED_OPTIONAL, (CUstream stream, unsigned long long *id)) \
    X(cuCtxGetId, cuCtxGetId, 12000, SP_NEED_OPTIONAL, (CUcontext context, unsigned long long *id)) \
    X(cuCtxRecordEvent, cuCtxRecordEvent, 12050, SP_NEED_OPTIONAL, (CUcontext context, CUevent event)) \
    X(cuMemHostRegister, cuMemHostRegister_v2, 6050, SP_NEED_OPTIONAL, (void *memory, size_t size, unsigned int flags)) \
    X(cuMemHostUnregister, cuMemHostUnregister, 4000, SP_NEED_OPTIONAL, (void *memory)) \
    X(cuMemAllocManaged, cuMemAllocManaged, 6000, SP_NEED_OPTIONAL, (CUdeviceptr *address, size_t size, unsigned int flags)) \
    X(cuMemAdvise, cuMemAdvise_v2, 12020, SP_NEED_OPTIONAL, (CUdeviceptr address, size_t size, CUmem_advise advice, CUmemLocation location)) \
    X(cuMemFreeAsync, cuMemFreeAsync, 11020, SP_NEED_OPTIONAL, (CUdeviceptr address, CUstream stream)) \
    X(cuMemGetAccess, cuMemGetAccess, 10020, SP_NEED_CLIENT, (unsigned long long *flags, const CUmemLocation *location, CUdeviceptr address)) \
    X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, SP_NEED_CLIENT, (CUdevice device)) \
    X(cuDevicePrimaryCtxGetState, cuDevicePrimaryCtxGetState, 7000, SP_NEED_CLIENT, (CUdevice device, unsigned int *flags, int *active)) \
    X(cuCtxCreate, cuCtxCreate_v2, 3020, SP_NEED_CLIENT, (CUcontext *context, unsigned int flags, CUdevice device)) \
    X(cuCtxDestroy, cuCtxDestroy_v2, 4000, SP_NEED_CLIENT, (CUcontext context)) \
    X(cuStreamCreate, cuStreamCreate, 2000, SP_NEED_CLIENT, (CUstream *stream, unsigned int flags)) \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2, 10010, SP_NEED_CLIENT, (CUstream stream, CUstreamCaptureMode mode)) \
    X(cuStreamEndCapture, cuStreamEndCapture, 10000, SP_NEED_CLIENT, (CUstream stream, CUgraph *graph)) \
    X(cuGraphDestroy, cuGraphDestroy, 10000, SP_NEED_CLIENT, (CUgraph graph)) \
    X(cuLaunchKernel, cuLaunchKernel, 4000, SP_NEED_CLIENT, (CUfunction function, unsigned int gridX, unsigned int gridY, unsigned int gridZ, unsigned int blockX, unsigned int blockY, unsigned int blockZ, unsigned int sharedBytes, CUstream stream, void **parameters, void **extra)) \
    X(cuLaunchHostFunc, cuLaunchHostFunc, 10000, SP_NEED_CLIENT, (CUstream stream, CUhostFn function, void *userData)) \
    X(cuModuleLoadData, cuModuleLoadData, 2000, SP_NEED_CLIENT, (CUmodule *module, const void *image)) \
    X(cuModuleUnload, cuModuleUnload, 2000, SP_NEED_CLIENT, (CUmodule module)) \
    X(cuModuleGetFunction, cuModuleGetFunction, 2000, SP_NEED_CLIENT, (CUfunction *function, CUmodule module, const char *name)) \
    X(cuPointerGetAttributes, cuPointerGetAttributes, 7000, SP_NEED_CLIENT, (unsigned int count, CUpointer_attribute *attributes, void **values, CUdeviceptr address)) \
    X(cuEventElapsedTime, cuEventElapsedTime, 2000, SP_NEED_CLIENT, (float *milliseconds, CUevent start, CUevent end)) \
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2, 3020, SP_NEED_CLIENT, (CUdeviceptr to, const void *from, size_t size)) \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2, 3020, SP_NEED_CLIENT, (void *to, CUdeviceptr from, size_t size)) \
    X(cuMemcpyAsync, cuMemcpyAsync, 4000, SP_NEED_CLIENT, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)) \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, 3020, SP_NEED_CLIENT, (CUdeviceptr to, const void *from, size_t size, CUstream stream)) \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, 3020, SP_NEED_CLIENT, (void *to, CUdeviceptr from, size_t size, CUstream stream)) \
    X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, 3020, SP_NEED_CLIENT, (const CUDA_MEMCPY2D *copy, CUstream stream)) \
    X(cuMemcpyBatchAsync, cuMemcpyBatchAsync, 12080, SP_NEED_CLIENT, (CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *attributes, size_t *firsts, size_t attributeCount, size_t *failed, CUstream stream)) \
    X(cuStreamWaitValue32, cuStreamWaitValue32_v2, 11070, SP_NEED_CLIENT, (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags)) \
    X(cuStreamWriteValue32, cuStreamWriteValue32_v2, 11070, SP_NEED_CLIENT, (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags)) \
    X(cuMemsetD8Async, cuMemsetD8Async, 3020, SP_NEED_CLIENT, (CUdeviceptr address, unsigned char value, size_t count, CUstream stream)) \
    X(cuMemAllocAsync, cuMemAllocAsync, 11020, SP_NEED_CLIENT, (CUdeviceptr *address, size_t size, CUstream stream)) \
    X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, SP_NEED_CLIENT, (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream)) \
    X(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020, SP_NEED_CLIENT, (CUmemoryPool *pool, CUdevice device)) \
    X(cuMemPoolCreate, cuMemPoolCreate, 11020, SP_NEED_CLIENT, (CUmemoryPool *pool, const CUmemPoolProps *props)) \
    X(cuMemPoolDestroy, cuMemPoolDestroy, 11020, SP_NEED_CLIENT, (CUmemoryPool pool)) \
    X(cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020, SP_NEED_CLIENT, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value)) \
    X(cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020, SP_NEED_CLIENT, (CUmemoryPool pool, CUmemPool_attribute attribute, void *value)) \
    X(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, SP_NEED_CLIENT, (CUmemoryPool pool, size_t keep))
// clang-format on

// SP_DRIVER_ERRORS(X) expands X(name, number). Names and numbers are those of CUresult in the
// driver's header, as of CUDA 13.0; the runtime's codes have the same numbers. abi.h makes the
// enumeration of the list, and driver.c the names.
// clang-format off
#define SP_DRIVER_ERRORS(X) \
    X(CUDA_SUCCESS, 0) \
    X(CUDA_ERROR_INVALID_VALUE, 1) \
    X(CUDA_ERROR_OUT_OF_MEMORY, 2) \
    X(CUDA_ERROR_NOT_INITIALIZED, 3) \
    X(CUDA_ERROR_DEINITIALIZED, 4) \
    X(CUDA_ERROR_PROFILER_DISABLED, 5) \
    X(CUDA_ERROR_PROFILER_NOT_INITIALIZED, 6) \
    X(CUDA_ERROR_PROFILER_ALREADY_STARTED, 7) \
    X(CUDA_ERROR_PROFILER_ALREADY_STOPPED, 8) \
    X(CUDA_ERROR_STUB_LIBRARY, 34) \
    X(CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER, 36) \
    X(CUDA_ERROR_DEVICE_UNAVAILABLE, 46) \
    X(CUDA_ERROR_NO_DEVICE, 100) \
    X(CUDA_ERROR_INVALID_DEVICE, 101) \
    X(CUDA_ERROR_DEVICE_NOT_LICENSED, 102) \
    X(CUDA_ERROR_INVALID_IMAGE, 200) \
    X(CUDA_ERROR_INVALID_CONTEXT, 201) \
    X(CUDA_ERROR_CONTEXT_ALREADY_CURRENT, 202) \
    X(CUDA_ERROR_MAP_FAILED, 205) \
    X(CUDA_ERROR_UNMAP_FAILED, 206) \
    X(CUDA_ERROR_ARRAY_IS_MAPPED, 207) \
    X(CUDA_ERROR_ALREADY_MAPPED, 208) \
    X(CUDA_ERROR_NO_BINARY_FOR_GPU, 209) \
    X(CUDA_ERROR_ALREADY_ACQUIRED, 210) \
    X(CUDA_ERROR_NOT_MAPPED, 211) \
    X(CUDA_ERROR_NOT_MAPPED_AS_ARRAY, 212) \
    X(CUDA_ERROR_NOT_MAPPED_AS_POINTER, 213) \
    X(CUDA_ERROR_ECC_UNCORRECTABLE, 214) \
    X(CUDA_ERROR_UNSUPPORTED_LIMIT, 215) \
    X(CUDA_ERROR_CONTEXT_ALREADY_IN_USE, 216) \
    X(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, 217) \
    X(CUDA_ERROR_INVALID_PTX, 218) \
    X(CUDA_ERROR_INVALID_GRAPHICS_CONTEXT, 219) \
    X(CUDA_ERROR_NVLINK_UNCORRECTABLE, 220) \
    X(CUDA_ERROR_JIT_COMPILER_NOT_FOUND, 221) \
    X(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222) \
    X(CUDA_ERROR_JIT_COMPILATION_DISABLED, 223) \
    X(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, 224) \
    X(CUDA_ERROR_UNSUPPORTED_DEVSIDE_SYNC, 225) \
    X(CUDA_ERROR_CONTAINED, 226) \
    X(CUDA_ERROR_INVALID_SOURCE, 300) \
    X(CUDA_ERROR_FILE_NOT_FOUND, 301) \
    X(CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND, 302) \
    X(CUDA_ERROR_SHARED_OBJECT_INIT_FAILED, 303) \
    X(CUDA_ERROR_OPERATING_SYSTEM, 304) \
    X(CUDA_ERROR_INVALID_HANDLE, 400) \
    X(CUDA_ERROR_ILLEGAL_STATE, 401) \
    X(CUDA_ERROR_LOSSY_QUERY, 402) \
    X(CUDA_ERROR_NOT_FOUND, 500) \
    X(CUDA_ERROR_NOT_READY, 600) \
    X(CUDA_ERROR_ILLEGAL_ADDRESS, 700) \
    X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, 701) \
    X(CUDA_ERROR_LAUNCH_TIMEOUT, 702) \
    X(CUDA_ERROR_LAUNCH_INCOMPATIBLE_TEXTURING, 703) \
    X(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, 704) \
    X(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, 705) \
    X(CUDA_ERROR_PRIMARY_CONTEXT_ACTIVE, 708) \
    X(CUDA_ERROR_CONTEXT_IS_DESTROYED, 709) \
    X(CUDA_ERROR_ASSERT, 710) \
    X(CUDA_ERROR_TOO_MANY_PEERS, 711) \
    X(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, 712) \
    X(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, 713) \
    X(CUDA_ERROR_HARDWARE_STACK_ERROR, 714) \
    X(CUDA_ERROR_ILLEGAL_INSTRUCTION, 715) \
    X(CUDA_ERROR_MISALIGNED_ADDRESS, 716) \
    X(CUDA_ERROR_INVALID_ADDRESS_SPACE, 717) \
    X(CUDA_ERROR_INVALID_PC, 718) \
    X(CUDA_ERROR_LAUNCH_FAILED, 719) \
    X(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, 720) \
    X(CUDA_ERROR_TENSOR_MEMORY_LEAK, 721) \
    X(CUDA_ERROR_NOT_PERMITTED, 800) \
    X(CUDA_ERROR_NOT_SUPPORTED, 801) \
    X(CUDA_ERROR_SYSTEM_NOT_READY, 802) \
    X(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, 803) \
    X(CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, 804) \
    X(CUDA_ERROR_MPS_CONNECTION_FAILED, 805) \
    X(CUDA_ERROR_MPS_RPC_FAILURE, 806) \
    X(CUDA_ERROR_MPS_SERVER_NOT_READY, 807) \
    X(CUDA_ERROR_MPS_MAX_CLIENTS_REACHED, 808) \
    X(CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED, 809) \
    X(CUDA_ERROR_MPS_CLIENT_TERMINATED, 810) \
    X(CUDA_ERROR_CDP_NOT_SUPPORTED, 811) \
    X(CUDA_ERROR_CDP_VERSION_MISMATCH, 812) \
    X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, 900) \
    X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, 901) \
    X(CUDA_ERROR_STREAM_CAPTURE_MERGE, 902) \
    X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, 903) \
    X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, 904) \
    X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, 905) \
    X(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, 906) \
    X(CUDA_ERROR_CAPTURED_EVENT, 907) \
    X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, 908) \
    X(CUDA_ERROR_TIMEOUT, 909) \
    X(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, 910) \
    X(CUDA_ERROR_EXTERNAL_DEVICE, 911) \
    X(CUDA_ERROR_INVALID_CLUSTER_SIZE, 912) \
    X(CUDA_ERROR_FUNCTION_NOT_LOADED, 913) \
    X(CUDA_ERROR_INVALID_RESOURCE_TYPE, 914) \
    X(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, 915) \
    X(CUDA_ERROR_KEY_ROTATION, 916) \
    X(CUDA_ERROR_UNKNOWN, 999)
// clang-format on

enum sp_need { SP_NEED_REQUIRED, SP_NEED_OPTIONAL, SP_NEED_CLIENT };

// A library may stand in front of the driver under the driver's soname, and forward calls to it. By
// a function that it exports under this name, it tells which library the driver is, to code that
// must not call the front: a handle of that library, which stays open, or null where there is none.
#define SP_FORWARDED_FUNCTION "sp_forward_library"
typedef void *(*sp_forwarded_library)(void);

#endif
