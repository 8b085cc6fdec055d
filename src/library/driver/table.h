// Every entry point of the driver that this project calls, in one list.
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
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2, 3020, SP_NEED_CLIENT, (CUdeviceptr to, const void *from, size_t size)) \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2, 3020, SP_NEED_CLIENT, (void *to, CUdeviceptr from, size_t size)) \
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

enum sp_need { SP_NEED_REQUIRED, SP_NEED_OPTIONAL, SP_NEED_CLIENT };

#endif
