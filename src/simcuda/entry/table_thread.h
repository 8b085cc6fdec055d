// The entry points that have a form for programs whose null stream is the thread's own.
//
//   SIM_THREAD_TABLE(X) expands X(name, symbol, suffix, version, parameters, arguments) once for
//   each: `symbol` is the form for other programs, of one of the tables, and symbol_suffix the one
//   meant here; ptds of a call that has no stream, ptsz of one that has. The version is the one
//   that introduced the latter.
#ifndef STREAMPOOL_SIMCUDA_ENTRY_TABLE_THREAD_H
#define STREAMPOOL_SIMCUDA_ENTRY_TABLE_THREAD_H

// clang-format off
#define SIM_THREAD_TABLE(X) \
    X(cuStreamQuery, cuStreamQuery, ptsz, 7000, (CUstream stream), (stream)) \
    X(cuStreamSynchronize, cuStreamSynchronize, ptsz, 7000, (CUstream stream), (stream)) \
    X(cuStreamWaitEvent, cuStreamWaitEvent, ptsz, 7000, (CUstream stream, CUevent event, unsigned int flags), (stream, event, flags)) \
    X(cuStreamGetFlags, cuStreamGetFlags, ptsz, 7000, (CUstream stream, unsigned int *flags), (stream, flags)) \
    X(cuStreamGetPriority, cuStreamGetPriority, ptsz, 7000, (CUstream stream, int *priority), (stream, priority)) \
    X(cuStreamGetCtx, cuStreamGetCtx, ptsz, 9020, (CUstream stream, CUcontext *context), (stream, context)) \
    X(cuStreamGetCtx, cuStreamGetCtx_v2, ptsz, 12050, (CUstream stream, CUcontext *context, CUgreenCtx *green), (stream, context, green)) \
    X(cuStreamGetId, cuStreamGetId, ptsz, 12000, (CUstream stream, unsigned long long *id), (stream, id)) \
    X(cuStreamGetDevice, cuStreamGetDevice, ptsz, 12080, (CUstream stream, CUdevice *device), (stream, device)) \
    X(cuStreamGetAttribute, cuStreamGetAttribute, ptsz, 11000, (CUstream stream, CUstreamAttrID attribute, CUstreamAttrValue *value), (stream, attribute, value)) \
    X(cuStreamSetAttribute, cuStreamSetAttribute, ptsz, 11000, (CUstream stream, CUstreamAttrID attribute, const CUstreamAttrValue *value), (stream, attribute, value)) \
    X(cuStreamCopyAttributes, cuStreamCopyAttributes, ptsz, 11000, (CUstream to, CUstream from), (to, from)) \
    X(cuStreamAddCallback, cuStreamAddCallback, ptsz, 7000, (CUstream stream, CUstreamCallback callback, void *userData, unsigned int flags), (stream, callback, userData, flags)) \
    X(cuStreamIsCapturing, cuStreamIsCapturing, ptsz, 10000, (CUstream stream, CUstreamCaptureStatus *status), (stream, status)) \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo, ptsz, 10010, (CUstream stream, CUstreamCaptureStatus *status, uint64_t *id), (stream, status, id)) \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v2, ptsz, 11030, (CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies, size_t *count), (stream, status, id, graph, dependencies, count)) \
    X(cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_v3, ptsz, 12030, (CUstream stream, CUstreamCaptureStatus *status, uint64_t *id, CUgraph *graph, const CUgraphNode **dependencies, const CUgraphEdgeData **edges, size_t *count), (stream, status, id, graph, dependencies, edges, count)) \
    X(cuStreamBeginCapture, cuStreamBeginCapture_v2, ptsz, 10010, (CUstream stream, CUstreamCaptureMode mode), (stream, mode)) \
    X(cuStreamEndCapture, cuStreamEndCapture, ptsz, 10000, (CUstream stream, CUgraph *graph), (stream, graph)) \
    X(cuEventRecord, cuEventRecord, ptsz, 7000, (CUevent event, CUstream stream), (event, stream)) \
    X(cuEventRecordWithFlags, cuEventRecordWithFlags, ptsz, 11010, (CUevent event, CUstream stream, unsigned int flags), (event, stream, flags)) \
    X(cuMemFreeAsync, cuMemFreeAsync, ptsz, 11020, (CUdeviceptr address, CUstream stream), (address, stream)) \
    X(cuMemAllocAsync, cuMemAllocAsync, ptsz, 11020, (CUdeviceptr *address, size_t size, CUstream stream), (address, size, stream)) \
    X(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, ptsz, 11020, (CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream), (address, size, pool, stream)) \
    X(cuLaunchKernel, cuLaunchKernel, ptsz, 7000, (CUfunction function, unsigned int gridX, unsigned int gridY, unsigned int gridZ, unsigned int blockX, unsigned int blockY, unsigned int blockZ, unsigned int sharedBytes, CUstream stream, void **parameters, void **extra), (function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, parameters, extra)) \
    X(cuLaunchHostFunc, cuLaunchHostFunc, ptsz, 10000, (CUstream stream, CUhostFn function, void *userData), (stream, function, userData)) \
    X(cuMemPrefetchAsync, cuMemPrefetchAsync, ptsz, 8000, (CUdeviceptr address, size_t size, CUdevice device, CUstream stream), (address, size, device, stream)) \
    X(cuMemPrefetchAsync, cuMemPrefetchAsync_v2, ptsz, 12020, (CUdeviceptr address, size_t size, CUmemLocation location, unsigned int flags, CUstream stream), (address, size, location, flags, stream)) \
    X(cuMemcpyHtoD, cuMemcpyHtoD_v2, ptds, 7000, (CUdeviceptr to, const void *from, size_t size), (to, from, size)) \
    X(cuMemcpyDtoH, cuMemcpyDtoH_v2, ptds, 7000, (void *to, CUdeviceptr from, size_t size), (to, from, size)) \
    X(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, ptsz, 7000, (CUdeviceptr to, const void *from, size_t size, CUstream stream), (to, from, size, stream)) \
    X(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, ptsz, 7000, (void *to, CUdeviceptr from, size_t size, CUstream stream), (to, from, size, stream)) \
    X(cuMemsetD8Async, cuMemsetD8Async, ptsz, 7000, (CUdeviceptr address, unsigned char value, size_t count, CUstream stream), (address, value, count, stream)) \
    X(cuMemcpy, cuMemcpy, ptds, 7000, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size)) \
    X(cuMemcpyAsync, cuMemcpyAsync, ptsz, 7000, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream), (to, from, size, stream)) \
    X(cuMemcpyDtoD, cuMemcpyDtoD_v2, ptds, 7000, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size)) \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, ptsz, 7000, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream), (to, from, size, stream)) \
    X(cuMemcpyPeer, cuMemcpyPeer, ptds, 7000, (CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, size_t size), (to, toContext, from, fromContext, size)) \
    X(cuMemcpyPeerAsync, cuMemcpyPeerAsync, ptsz, 7000, (CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, size_t size, CUstream stream), (to, toContext, from, fromContext, size, stream)) \
    X(cuMemcpy2D, cuMemcpy2D_v2, ptds, 7000, (const CUDA_MEMCPY2D *copy), (copy)) \
    X(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2, ptds, 7000, (const CUDA_MEMCPY2D *copy), (copy)) \
    X(cuMemcpy2DAsync, cuMemcpy2DAsync_v2, ptsz, 7000, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream)) \
    X(cuMemcpy3D, cuMemcpy3D_v2, ptds, 7000, (const CUDA_MEMCPY3D *copy), (copy)) \
    X(cuMemcpy3DAsync, cuMemcpy3DAsync_v2, ptsz, 7000, (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream)) \
    X(cuMemcpy3DPeer, cuMemcpy3DPeer, ptds, 7000, (const CUDA_MEMCPY3D_PEER *copy), (copy)) \
    X(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync, ptsz, 7000, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream), (copy, stream)) \
    X(cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2, ptsz, 13000, (CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *attributes, size_t *firsts, size_t attributeCount, CUstream stream), (to, from, sizes, count, attributes, firsts, attributeCount, stream)) \
    X(cuMemsetD8, cuMemsetD8_v2, ptds, 7000, (CUdeviceptr address, unsigned char value, size_t count), (address, value, count)) \
    X(cuMemsetD16, cuMemsetD16_v2, ptds, 7000, (CUdeviceptr address, unsigned short value, size_t count), (address, value, count)) \
    X(cuMemsetD32, cuMemsetD32_v2, ptds, 7000, (CUdeviceptr address, unsigned int value, size_t count), (address, value, count)) \
    X(cuMemsetD16Async, cuMemsetD16Async, ptsz, 7000, (CUdeviceptr address, unsigned short value, size_t count, CUstream stream), (address, value, count, stream)) \
    X(cuMemsetD32Async, cuMemsetD32Async, ptsz, 7000, (CUdeviceptr address, unsigned int value, size_t count, CUstream stream), (address, value, count, stream)) \
    X(cuMemsetD2D8, cuMemsetD2D8_v2, ptds, 7000, (CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height), (address, pitch, value, width, height)) \
    X(cuMemsetD2D16, cuMemsetD2D16_v2, ptds, 7000, (CUdeviceptr address, size_t pitch, unsigned short value, size_t width, size_t height), (address, pitch, value, width, height)) \
    X(cuMemsetD2D32, cuMemsetD2D32_v2, ptds, 7000, (CUdeviceptr address, size_t pitch, unsigned int value, size_t width, size_t height), (address, pitch, value, width, height)) \
    X(cuMemsetD2D8Async, cuMemsetD2D8Async, ptsz, 7000, (CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream), (address, pitch, value, width, height, stream)) \
    X(cuMemsetD2D16Async, cuMemsetD2D16Async, ptsz, 7000, (CUdeviceptr address, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream), (address, pitch, value, width, height, stream)) \
    X(cuMemsetD2D32Async, cuMemsetD2D32Async, ptsz, 7000, (CUdeviceptr address, size_t pitch, unsigned int value, size_t width, size_t height, CUstream stream), (address, pitch, value, width, height, stream)) \
    X(cuStreamWaitValue32, cuStreamWaitValue32_v2, ptsz, 11070, (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWaitValue64, cuStreamWaitValue64_v2, ptsz, 11070, (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWriteValue32, cuStreamWriteValue32_v2, ptsz, 11070, (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWriteValue64, cuStreamWriteValue64_v2, ptsz, 11070, (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuMemcpyBatchAsync, cuMemcpyBatchAsync, ptsz, 12080, (CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *attributes, size_t *firsts, size_t attributeCount, size_t *failed, CUstream stream), (to, from, sizes, count, attributes, firsts, attributeCount, failed, stream)) \
    X(cuStreamWaitValue32, cuStreamWaitValue32, ptsz, 8000, (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWaitValue64, cuStreamWaitValue64, ptsz, 9000, (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWriteValue32, cuStreamWriteValue32, ptsz, 8000, (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamWriteValue64, cuStreamWriteValue64, ptsz, 9000, (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags), (stream, address, value, flags)) \
    X(cuStreamBatchMemOp, cuStreamBatchMemOp, ptsz, 8000, (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations, unsigned int flags), (stream, count, operations, flags)) \
    X(cuLaunchKernelEx, cuLaunchKernelEx, ptsz, 11060, (const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra), (config, function, parameters, extra)) \
    X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, ptsz, 9000, (CUfunction function, unsigned int gridX, unsigned int gridY, unsigned int gridZ, unsigned int blockX, unsigned int blockY, unsigned int blockZ, unsigned int sharedBytes, CUstream stream, void **parameters), (function, gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes, stream, parameters)) \
    X(cuStreamBatchMemOp, cuStreamBatchMemOp_v2, ptsz, 11070, (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations, unsigned int flags), (stream, count, operations, flags))
// clang-format on

#endif
