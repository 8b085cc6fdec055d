// Copies, sets, pinned memory and what a stream does to a word of memory: entry points of a part of
// table.h.
#ifndef STREAMPOOL_SIMCUDA_ENTRY_TABLE_COPY_H
#define STREAMPOOL_SIMCUDA_ENTRY_TABLE_COPY_H

// clang-format off
#define SIM_TABLE_COPY(X) \
    X(cuMemcpy, cuMemcpy, 4000, (CUdeviceptr to, CUdeviceptr from, size_t size)) \
    X(cuMemcpyDtoD, cuMemcpyDtoD_v2, 3020, (CUdeviceptr to, CUdeviceptr from, size_t size)) \
    X(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, 3020, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream)) \
    X(cuMemcpyPeer, cuMemcpyPeer, 4000, (CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, size_t size)) \
    X(cuMemcpyPeerAsync, cuMemcpyPeerAsync, 4000, (CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, size_t size, CUstream stream)) \
    X(cuMemcpy2D, cuMemcpy2D_v2, 3020, (const CUDA_MEMCPY2D *copy)) \
    X(cuMemcpy2DUnaligned, cuMemcpy2DUnaligned_v2, 3020, (const CUDA_MEMCPY2D *copy)) \
    X(cuMemcpy3D, cuMemcpy3D_v2, 3020, (const CUDA_MEMCPY3D *copy)) \
    X(cuMemcpy3DAsync, cuMemcpy3DAsync_v2, 3020, (const CUDA_MEMCPY3D *copy, CUstream stream)) \
    X(cuMemcpy3DPeer, cuMemcpy3DPeer, 4000, (const CUDA_MEMCPY3D_PEER *copy)) \
    X(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync, 4000, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream)) \
    X(cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2, 13000, (CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *attributes, size_t *firsts, size_t attributeCount, CUstream stream)) \
    X(cuMemsetD8, cuMemsetD8_v2, 3020, (CUdeviceptr address, unsigned char value, size_t count)) \
    X(cuMemsetD16, cuMemsetD16_v2, 3020, (CUdeviceptr address, unsigned short value, size_t count)) \
    X(cuMemsetD32, cuMemsetD32_v2, 3020, (CUdeviceptr address, unsigned int value, size_t count)) \
    X(cuMemsetD16Async, cuMemsetD16Async, 3020, (CUdeviceptr address, unsigned short value, size_t count, CUstream stream)) \
    X(cuMemsetD32Async, cuMemsetD32Async, 3020, (CUdeviceptr address, unsigned int value, size_t count, CUstream stream)) \
    X(cuMemsetD2D8, cuMemsetD2D8_v2, 3020, (CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height)) \
    X(cuMemsetD2D16, cuMemsetD2D16_v2, 3020, (CUdeviceptr address, size_t pitch, unsigned short value, size_t width, size_t height)) \
    X(cuMemsetD2D32, cuMemsetD2D32_v2, 3020, (CUdeviceptr address, size_t pitch, unsigned int value, size_t width, size_t height)) \
    X(cuMemsetD2D8Async, cuMemsetD2D8Async, 3020, (CUdeviceptr address, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream)) \
    X(cuMemsetD2D16Async, cuMemsetD2D16Async, 3020, (CUdeviceptr address, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream)) \
    X(cuMemsetD2D32Async, cuMemsetD2D32Async, 3020, (CUdeviceptr address, size_t pitch, unsigned int value, size_t width, size_t height, CUstream stream)) \
    X(cuMemGetAllocationPropertiesFromHandle, cuMemGetAllocationPropertiesFromHandle, 10020, (CUmemAllocationProp *prop, CUmemGenericAllocationHandle handle)) \
    X(cuMemPrefetchAsync, cuMemPrefetchAsync, 8000, (CUdeviceptr address, size_t size, CUdevice device, CUstream stream)) \
    X(cuMemPrefetchAsync, cuMemPrefetchAsync_v2, 12020, (CUdeviceptr address, size_t size, CUmemLocation location, unsigned int flags, CUstream stream)) \
    X(cuMemAdvise, cuMemAdvise, 8000, (CUdeviceptr address, size_t size, CUmem_advise advice, CUdevice device)) \
    X(cuMemRangeGetAttribute, cuMemRangeGetAttribute, 8000, (void *value, size_t valueSize, CUmem_range_attribute attribute, CUdeviceptr address, size_t size)) \
    X(cuMemRangeGetAttributes, cuMemRangeGetAttributes, 8000, (void **values, size_t *sizes, CUmem_range_attribute *attributes, size_t count, CUdeviceptr address, size_t size)) \
    X(cuMemAllocPitch, cuMemAllocPitch_v2, 3020, (CUdeviceptr *address, size_t *pitch, size_t width, size_t height, unsigned int elementSize)) \
    X(cuMemGetAddressRange, cuMemGetAddressRange_v2, 3020, (CUdeviceptr *base, size_t *size, CUdeviceptr address)) \
    X(cuMemAllocHost, cuMemAllocHost_v2, 3020, (void **memory, size_t size)) \
    X(cuMemHostRegister, cuMemHostRegister, 4000, (void *memory, size_t size, unsigned int flags)) \
    X(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2, 3020, (CUdeviceptr *address, void *memory, unsigned int flags)) \
    X(cuMemHostGetFlags, cuMemHostGetFlags, 2030, (unsigned int *flags, void *memory)) \
    X(cuStreamWaitValue32, cuStreamWaitValue32, 8000, (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags)) \
    X(cuStreamWaitValue64, cuStreamWaitValue64, 9000, (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags)) \
    X(cuStreamWriteValue32, cuStreamWriteValue32, 8000, (CUstream stream, CUdeviceptr address, uint32_t value, unsigned int flags)) \
    X(cuStreamWriteValue64, cuStreamWriteValue64, 9000, (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags)) \
    X(cuStreamBatchMemOp, cuStreamBatchMemOp, 8000, (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations, unsigned int flags)) \
    X(cuStreamWaitValue64, cuStreamWaitValue64_v2, 11070, (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags)) \
    X(cuStreamWriteValue64, cuStreamWriteValue64_v2, 11070, (CUstream stream, CUdeviceptr address, uint64_t value, unsigned int flags)) \
    X(cuStreamBatchMemOp, cuStreamBatchMemOp_v2, 11070, (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations, unsigned int flags))
// clang-format on

#endif
