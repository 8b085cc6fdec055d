// The driver's calls that the drop-in answers, in one list.
//
//   SP_DROPIN_TABLE(X) expands X(name, symbol, version, flags, kind, parameters) once for each,
//   where
//     name        is what cuGetProcAddress is asked for;
//     symbol      is the name that the driver exports, and so do we;
//     version     is the CUDA version that introduced this ABI (1000 * major + 10 * minor);
//     flags       is SP_PER_THREAD for the form in which stream 0 is the thread's own, else 0;
//     kind        is SP_POOL_CALL (we have it whatever the driver has; one that is newer than
//                 SP_POOLS_SINCE only on drivers of its version) or SP_OTHER_CALL (it is given only
//                 where the driver has it);
//     parameters  is the parenthesised parameter list. Every call returns a CUresult.
//
// Name, version and flags are the key: one name has several forms, with different parameters. The
// exported functions, the pointers to the driver's own ones, the look-ups and the tests are all
// expanded from this list. A name that isn't in it is the driver's alone.
#ifndef STREAMPOOL_DROPIN_TABLE_H
#define STREAMPOOL_DROPIN_TABLE_H

#include "driver/abi.h"

// Flags of cuGetProcAddress: the per-thread form of a call is wanted, where it has one.
enum { SP_PER_THREAD = 2 };

enum sp_call_kind { SP_OTHER_CALL, SP_POOL_CALL };

// The CUDA version that introduced pools.
enum { SP_POOLS_SINCE = 11020 };

// A driver's own words about an address, for another process. We only hand them on.
struct CUmemPoolPtrExportData_st;

// A shape of an array, and a handle for another process. We only hand them on.
struct CUDA_ARRAY_DESCRIPTOR_st;
struct CUDA_ARRAY3D_DESCRIPTOR_st;
struct CUipcMemHandle_st;
// Neither are these of any other interest here.
struct CUgreenCtx_st;
struct CUgraphEdgeData_st;

// clang-format off
#define SP_DROPIN_TABLE(X) \
    X(cuGetProcAddress, cuGetProcAddress, 11030, 0, SP_OTHER_CALL, \
      (const char *name, void **function, int version, uint64_t flags)) \
    X(cuGetProcAddress, cuGetProcAddress_v2, 12000, 0, SP_OTHER_CALL, \
      (const char *name, void **function, int version, uint64_t flags, \
       CUdriverProcAddressQueryResult *status)) \
    X(cuMemAllocAsync, cuMemAllocAsync, 11020, 0, SP_POOL_CALL, \
      (CUdeviceptr *address, size_t size, CUstream stream)) \
    X(cuMemAllocAsync, cuMemAllocAsync_ptsz, 11020, SP_PER_THREAD, SP_POOL_CALL, \
      (CUdeviceptr *address, size_t size, CUstream stream)) \
    X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, 0, SP_POOL_CALL, \
      (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream)) \
    X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz, 11020, SP_PER_THREAD, SP_POOL_CALL, \
      (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream)) \
    X(cuMemFreeAsync, cuMemFreeAsync, 11020, 0, SP_POOL_CALL, \
      (CUdeviceptr address, CUstream stream)) \
    X(cuMemFreeAsync, cuMemFreeAsync_ptsz, 11020, SP_PER_THREAD, SP_POOL_CALL, \
      (CUdeviceptr address, CUstream stream)) \
    X(cuMemFree, cuMemFree_v2, 3020, 0, SP_OTHER_CALL, (CUdeviceptr address)) \
    X(cuMemFreeHost, cuMemFreeHost, 2000, 0, SP_OTHER_CALL, (void *memory)) \
    X(cuMemHostAlloc, cuMemHostAlloc, 2020, 0, SP_OTHER_CALL, \
      (void **memory, size_t size, unsigned int flags)) \
    X(cuMemAllocHost, cuMemAllocHost_v2, 3020, 0, SP_OTHER_CALL, (void **memory, size_t size)) \
    X(cuMemHostRegister, cuMemHostRegister_v2, 6050, 0, SP_OTHER_CALL, \
      (void *memory, size_t size, unsigned int flags)) \
    X(cuMemAlloc, cuMemAlloc_v2, 3020, 0, SP_OTHER_CALL, (CUdeviceptr *address, size_t size)) \
    X(cuMemAllocPitch, cuMemAllocPitch_v2, 3020, 0, SP_OTHER_CALL, \
      (CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned int element)) \
    X(cuMemAllocManaged, cuMemAllocManaged, 6000, 0, SP_OTHER_CALL, \
      (CUdeviceptr *address, size_t size, unsigned int flags)) \
    X(cuMemCreate, cuMemCreate, 10020, 0, SP_OTHER_CALL, \
      (CUmemGenericAllocationHandle *handle, size_t size, const CUmemAllocationProp *prop, \
       unsigned long long flags)) \
    X(cuArrayCreate, cuArrayCreate_v2, 3020, 0, SP_OTHER_CALL, \
      (CUarray *array, const struct CUDA_ARRAY_DESCRIPTOR_st *shape)) \
    X(cuArray3DCreate, cuArray3DCreate_v2, 3020, 0, SP_OTHER_CALL, \
      (CUarray *array, const struct CUDA_ARRAY3D_DESCRIPTOR_st *shape)) \
    X(cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000, 0, SP_OTHER_CALL, \
      (CUmipmappedArray *array, const struct CUDA_ARRAY3D_DESCRIPTOR_st *shape, \
       unsigned int levels)) \
    X(cuPointerGetAttribute, cuPointerGetAttribute, 4000, 0, SP_OTHER_CALL, \
      (void *value, CUpointer_attribute attribute, CUdeviceptr address)) \
    X(cuPointerGetAttributes, cuPointerGetAttributes, 7000, 0, SP_OTHER_CALL, \
      (unsigned int count, CUpointer_attribute *attributes, void **values, CUdeviceptr address)) \
    X(cuPointerSetAttribute, cuPointerSetAttribute, 6000, 0, SP_OTHER_CALL, \
      (const void *value, CUpointer_attribute attribute, CUdeviceptr address)) \
    X(cuMemGetAddressRange, cuMemGetAddressRange_v2, 3020, 0, SP_OTHER_CALL, \
      (CUdeviceptr *base, size_t *size, CUdeviceptr address)) \
    X(cuMemHostGetFlags, cuMemHostGetFlags, 2030, 0, SP_OTHER_CALL, \
      (unsigned int *flags, void *memory)) \
    X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, 3020, 0, SP_OTHER_CALL, \
      (CUdeviceptr *address, void *memory, unsigned int flags)) \
    X(cuMemGetHandleForAddressRange, cuMemGetHandleForAddressRange, 11070, 0, SP_OTHER_CALL, \
      (void *handle, CUdeviceptr address, size_t size, CUmemRangeHandleType type, \
       unsigned long long flags)) \
    X(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000, 0, SP_OTHER_CALL, \
      (CUmemGenericAllocationHandle *handle, void *address)) \
    X(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, 0, SP_OTHER_CALL, \
      (struct CUipcMemHandle_st *handle, CUdeviceptr address)) \
    X(cuDeviceGetAttribute, cuDeviceGetAttribute, 2000, 0, SP_OTHER_CALL, \
      (int *value, CUdevice_attribute attribute, CUdevice device)) \
    X(cuMemPoolCreate, cuMemPoolCreate, 11020, 0, SP_POOL_CALL, \
      (CUmemoryPool *pool, const CUmemPoolProps *props)) \
    X(cuMemPoolDestroy, cuMemPoolDestroy, 11020, 0, SP_POOL_CALL, (CUmemoryPool pool)) \
    X(cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020, 0, SP_POOL_CALL, \
      (CUmemoryPool pool, CUmemPool_attribute attribute, void *value)) \
    X(cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020, 0, SP_POOL_CALL, \
      (CUmemoryPool pool, CUmemPool_attribute attribute, void *value)) \
    X(cuMemPoolSetAccess, cuMemPoolSetAccess, 11020, 0, SP_POOL_CALL, \
      (CUmemoryPool pool, const CUmemAccessDesc *descriptors, size_t count)) \
    X(cuMemPoolGetAccess, cuMemPoolGetAccess, 11020, 0, SP_POOL_CALL, \
      (CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location)) \
    X(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, 0, SP_POOL_CALL, (CUmemoryPool pool, size_t keep)) \
    X(cuMemPoolExportToShareableHandle, cuMemPoolExportToShareableHandle, 11020, 0, SP_POOL_CALL, \
      (void *handle, CUmemoryPool pool, CUmemAllocationHandleType type, \
       unsigned long long flags)) \
    X(cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle, 11020, 0, SP_POOL_CALL, \
      (CUmemoryPool *pool, void *handle, CUmemAllocationHandleType type, \
       unsigned long long flags)) \
    X(cuMemPoolExportPointer, cuMemPoolExportPointer, 11020, 0, SP_POOL_CALL, \
      (struct CUmemPoolPtrExportData_st *data, CUdeviceptr address)) \
    X(cuMemPoolImportPointer, cuMemPoolImportPointer, 11020, 0, SP_POOL_CALL, \
      (CUdeviceptr *address, CUmemoryPool pool, struct CUmemPoolPtrExportData_st *data)) \
    X(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020, 0, SP_POOL_CALL, \
      (CUmemoryPool *pool, CUdevice device)) \
    X(cuDeviceGetMemPool, cuDeviceGetMemPool, 11020, 0, SP_POOL_CALL, \
      (CUmemoryPool *pool, CUdevice device)) \
    X(cuDeviceSetMemPool, cuDeviceSetMemPool, 11020, 0, SP_POOL_CALL, \
      (CUdevice device, CUmemoryPool pool)) \
    X(cuMemGetDefaultMemPool, cuMemGetDefaultMemPool, 13000, 0, SP_POOL_CALL, \
      (CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)) \
    X(cuMemGetMemPool, cuMemGetMemPool, 13000, 0, SP_POOL_CALL, \
      (CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type)) \
    X(cuMemSetMemPool, cuMemSetMemPool, 13000, 0, SP_POOL_CALL, \
      (CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool)) \
    X(cuCtxSynchronize, cuCtxSynchronize, 2000, 0, SP_OTHER_CALL, (void)) \
    X(cuCtxSynchronize, cuCtxSynchronize_v2, 13000, 0, SP_OTHER_CALL, (CUcontext context)) \
    X(cuCtxDestroy, cuCtxDestroy, 2000, 0, SP_OTHER_CALL, (CUcontext context)) \
    X(cuCtxDestroy, cuCtxDestroy_v2, 4000, 0, SP_OTHER_CALL, (CUcontext context)) \
    X(cuCtxDetach, cuCtxDetach, 2000, 0, SP_OTHER_CALL, (CUcontext context)) \
    X(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, 0, SP_OTHER_CALL, \
      (CUcontext *context, CUdevice device)) \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease, 7000, 0, SP_OTHER_CALL, \
      (CUdevice device)) \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, 0, SP_OTHER_CALL, \
      (CUdevice device)) \
    X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset, 7000, 0, SP_OTHER_CALL, (CUdevice device)) \
    X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000, 0, SP_OTHER_CALL, \
      (CUdevice device)) \
    X(cuGreenCtxDestroy, cuGreenCtxDestroy, 12040, 0, SP_OTHER_CALL, \
      (struct CUgreenCtx_st *green)) \
    X(cuStreamSynchronize, cuStreamSynchronize, 2000, 0, SP_OTHER_CALL, (CUstream stream)) \
    X(cuStreamSynchronize, cuStreamSynchronize_ptsz, 7000, SP_PER_THREAD, SP_OTHER_CALL, \
      (CUstream stream)) \
    X(cuStreamQuery, cuStreamQuery, 2000, 0, SP_OTHER_CALL, (CUstream stream)) \
    X(cuStreamQuery, cuStreamQuery_ptsz, 7000, SP_PER_THREAD, SP_OTHER_CALL, (CUstream stream)) \
    X(cuStreamWaitEvent, cuStreamWaitEvent, 3020, 0, SP_OTHER_CALL, \
      (CUstream stream, CUevent event, unsigned int flags)) \
    X(cuStreamWaitEvent, cuStreamWaitEvent_ptsz, 7000, SP_PER_THREAD, SP_OTHER_CALL, \
      (CUstream stream, CUevent event, unsigned int flags)) \
    X(cuStreamCreate, cuStreamCreate, 2000, 0, SP_OTHER_CALL, \
      (CUstream *stream, unsigned int flags)) \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, 0, SP_OTHER_CALL, \
      (CUstream *stream, unsigned int flags, int priority)) \
    X(cuGreenCtxStreamCreate, cuGreenCtxStreamCreate, 12050, 0, SP_OTHER_CALL, \
      (CUstream *stream, struct CUgreenCtx_st *green, unsigned int flags, int priority)) \
    X(cuStreamDestroy, cuStreamDestroy, 2000, 0, SP_OTHER_CALL, (CUstream stream)) \
    X(cuStreamDestroy, cuStreamDestroy_v2, 4000, 0, SP_OTHER_CALL, (CUstream stream)) \
    X(cuStreamBeginCapture, cuStreamBeginCapture, 10000, 0, SP_OTHER_CALL, (CUstream stream)) \
    X(cuStreamBeginCapture, cuStreamBeginCapture_ptsz, 10000, SP_PER_THREAD, SP_OTHER_CALL, \
      (CUstream stream)) \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2, 10010, 0, SP_OTHER_CALL, \
      (CUstream stream, CUstreamCaptureMode mode)) \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2_ptsz, 10010, SP_PER_THREAD, SP_OTHER_CALL, \
      (CUstream stream, CUstreamCaptureMode mode)) \
    X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph, 12030, 0, SP_OTHER_CALL, \
      (CUstream stream, CUgraph graph, const CUgraphNode *nodes, \
       const struct CUgraphEdgeData_st *edges, size_t count, CUstreamCaptureMode mode)) \
    X(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz, 12030, SP_PER_THREAD, SP_OTHER_CALL, \
      (CUstream stream, CUgraph graph, const CUgraphNode *nodes, \
       const struct CUgraphEdgeData_st *edges, size_t count, CUstreamCaptureMode mode)) \
    X(cuStreamBeginRecaptureToGraph, cuStreamBeginRecaptureToGraph, 13030, 0, SP_OTHER_CALL, \
      (CUstream stream, CUstreamCaptureMode mode, CUgraph graph, void *callback, void *data)) \
    X(cuStreamBeginRecaptureToGraph, cuStreamBeginRecaptureToGraph_ptsz, 13030, SP_PER_THREAD, SP_OTHER_CALL, \
      (CUstream stream, CUstreamCaptureMode mode, CUgraph graph, void *callback, void *data)) \
    X(cuStreamEndCapture, cuStreamEndCapture, 10000, 0, SP_OTHER_CALL, \
      (CUstream stream, CUgraph *graph)) \
    X(cuStreamEndCapture, cuStreamEndCapture_ptsz, 10000, SP_PER_THREAD, SP_OTHER_CALL, \
      (CUstream stream, CUgraph *graph)) \
    X(cuEventSynchronize, cuEventSynchronize, 2000, 0, SP_OTHER_CALL, (CUevent event)) \
    X(cuEventQuery, cuEventQuery, 2000, 0, SP_OTHER_CALL, (CUevent event)) \
    X(cuEventRecord, cuEventRecord, 2000, 0, SP_OTHER_CALL, (CUevent event, CUstream stream)) \
    X(cuEventRecord, cuEventRecord_ptsz, 7000, SP_PER_THREAD, SP_OTHER_CALL, \
      (CUevent event, CUstream stream)) \
    X(cuEventRecordWithFlags, cuEventRecordWithFlags, 11010, 0, SP_OTHER_CALL, \
      (CUevent event, CUstream stream, unsigned int flags)) \
    X(cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz, 11010, SP_PER_THREAD, SP_OTHER_CALL, \
      (CUevent event, CUstream stream, unsigned int flags)) \
    X(cuEventDestroy, cuEventDestroy, 2000, 0, SP_OTHER_CALL, (CUevent event)) \
    X(cuEventDestroy, cuEventDestroy_v2, 4000, 0, SP_OTHER_CALL, (CUevent event))

// The driver's calls that we make, and don't answer: X(symbol, parameters).
#define SP_DROPIN_OWN_CALLS(X) \
    X(cuCtxGetCurrent, (CUcontext *context)) \
    X(cuCtxGetDevice, (CUdevice *device)) \
    X(cuCtxGetFlags, (unsigned int *flags)) \
    X(cuCtxSetFlags, (unsigned int flags)) \
    X(cuCtxPushCurrent_v2, (CUcontext context)) \
    X(cuCtxPopCurrent_v2, (CUcontext *context)) \
    X(cuDeviceGetCount, (int *count)) \
    X(cuDriverGetVersion, (int *version)) \
    X(cuCtxFromGreenCtx, (CUcontext *context, struct CUgreenCtx_st *green)) \
    X(cuDevicePrimaryCtxGetState, (CUdevice device, unsigned int *flags, int *active)) \
    X(cuStreamGetCtx, (CUstream stream, CUcontext *context)) \
    X(cuStreamIsCapturing, (CUstream stream, CUstreamCaptureStatus *status))
// clang-format on

// Each symbol of the table is a function of ours, which the library exports.
#define SP_DROPIN_DECLARE(name, symbol, version, flags, kind, parameters)                          \
    __attribute__((visibility("default"))) CUresult symbol parameters;
SP_DROPIN_TABLE(SP_DROPIN_DECLARE)
#undef SP_DROPIN_DECLARE

#endif
