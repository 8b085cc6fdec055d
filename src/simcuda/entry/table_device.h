// Devices, contexts, streams, events and what a program asks of them: entry points of a part of
// table.h.
#ifndef STREAMPOOL_SIMCUDA_ENTRY_TABLE_DEVICE_H
#define STREAMPOOL_SIMCUDA_ENTRY_TABLE_DEVICE_H

// clang-format off
#define SIM_TABLE_DEVICE(X) \
    X(cuGetErrorString, cuGetErrorString, 6000, (CUresult error, const char **text)) \
    X(cuGetExportTable, cuGetExportTable, 3000, (const void **table, const CUuuid *identity)) \
    X(cuDeviceComputeCapability, cuDeviceComputeCapability, 2000, (int *major, int *minor, CUdevice device)) \
    X(cuDeviceGetProperties, cuDeviceGetProperties, 2000, (CUdevprop *properties, CUdevice device)) \
    X(cuDeviceGetUuid, cuDeviceGetUuid, 9020, (CUuuid *uuid, CUdevice device)) \
    X(cuDeviceGetUuid, cuDeviceGetUuid_v2, 11040, (CUuuid *uuid, CUdevice device)) \
    X(cuDeviceGetLuid, cuDeviceGetLuid, 10000, (char *luid, unsigned int *nodes, CUdevice device)) \
    X(cuDeviceGetPCIBusId, cuDeviceGetPCIBusId, 4010, (char *text, int length, CUdevice device)) \
    X(cuDeviceGetByPCIBusId, cuDeviceGetByPCIBusId, 4010, (CUdevice *device, const char *text)) \
    X(cuDeviceGetP2PAttribute, cuDeviceGetP2PAttribute, 8000, (int *value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to)) \
    X(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, 11000, (CUdevice device)) \
    X(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2, 11000, (CUdevice device)) \
    X(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags, 7000, (CUdevice device, unsigned int flags)) \
    X(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2, 11000, (CUdevice device, unsigned int flags)) \
    X(cuCtxCreate, cuCtxCreate_v3, 11040, (CUcontext *context, CUexecAffinityParam *limits, int count, unsigned int flags, CUdevice device)) \
    X(cuCtxCreate, cuCtxCreate_v4, 12050, (CUcontext *context, CUctxCreateParams *limits, unsigned int flags, CUdevice device)) \
    X(cuCtxGetDevice, cuCtxGetDevice_v2, 13000, (CUdevice *device, CUcontext context)) \
    X(cuCtxSynchronize, cuCtxSynchronize_v2, 13000, (CUcontext context)) \
    X(cuCtxGetApiVersion, cuCtxGetApiVersion, 3020, (CUcontext context, unsigned int *version)) \
    X(cuCtxGetFlags, cuCtxGetFlags, 7000, (unsigned int *flags)) \
    X(cuCtxSetFlags, cuCtxSetFlags, 12010, (unsigned int flags)) \
    X(cuCtxGetLimit, cuCtxGetLimit, 3010, (size_t *value, CUlimit limit)) \
    X(cuCtxSetLimit, cuCtxSetLimit, 3010, (CUlimit limit, size_t value)) \
    X(cuCtxGetCacheConfig, cuCtxGetCacheConfig, 3020, (CUfunc_cache *config)) \
    X(cuCtxSetCacheConfig, cuCtxSetCacheConfig, 3020, (CUfunc_cache config)) \
    X(cuCtxGetSharedMemConfig, cuCtxGetSharedMemConfig, 4020, (CUsharedconfig *config)) \
    X(cuCtxSetSharedMemConfig, cuCtxSetSharedMemConfig, 4020, (CUsharedconfig config)) \
    X(cuCtxGetStreamPriorityRange, cuCtxGetStreamPriorityRange, 5050, (int *least, int *greatest)) \
    X(cuCtxResetPersistingL2Cache, cuCtxResetPersistingL2Cache, 11000, (void)) \
    X(cuCtxEnablePeerAccess, cuCtxEnablePeerAccess, 4000, (CUcontext peer, unsigned int flags)) \
    X(cuCtxDisablePeerAccess, cuCtxDisablePeerAccess, 4000, (CUcontext peer)) \
    X(cuStreamCreateWithPriority, cuStreamCreateWithPriority, 5050, (CUstream *stream, unsigned int flags, int priority)) \
    X(cuStreamGetPriority, cuStreamGetPriority, 5050, (CUstream stream, int *priority)) \
    X(cuStreamGetCtx, cuStreamGetCtx_v2, 12050, (CUstream stream, CUcontext *context, CUgreenCtx *green)) \
    X(cuStreamGetDevice, cuStreamGetDevice, 12080, (CUstream stream, CUdevice *device)) \
    X(cuStreamGetAttribute, cuStreamGetAttribute, 11000, (CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue *value)) \
    X(cuStreamSetAttribute, cuStreamSetAttribute, 11000, (CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue *value)) \
    X(cuStreamCopyAttributes, cuStreamCopyAttributes, 11000, (CUstream to, CUstream from)) \
    X(cuStreamAddCallback, cuStreamAddCallback, 5000, (CUstream stream, CUstreamCallback callback, void *userData, unsigned int flags)) \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo, 10010, (CUstream stream, CUstreamCaptureStatus *status, uint64_t *id)) \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2, 11030, (CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies, size_t *count)) \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3, 12030, (CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *count)) \
    X(cuEventRecordWithFlags, cuEventRecordWithFlags, 11010, (CUevent event, CUstream stream, unsigned int flags)) \
    X(cuEventElapsedTime, cuEventElapsedTime_v2, 12080, (float *milliseconds, CUevent start, CUevent end)) \
    X(cuProfilerStart, cuProfilerStart, 4000, (void)) \
    X(cuProfilerStop, cuProfilerStop, 4000, (void))
// clang-format on

#endif
