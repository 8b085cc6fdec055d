// Copies, pinned memory and words of memory: declarations of a part of abi.h.
#ifndef STREAMPOOL_SIMCUDA_ENTRY_ABI_COPY_H
#define STREAMPOOL_SIMCUDA_ENTRY_ABI_COPY_H

#include "driver/abi.h"

// ---------------------------------------------------------------------------------------- copies

// CUmemorytype has more values there than driver/abi.h needs.
#define CU_MEMORYTYPE_ARRAY ((CUmemorytype)3)

#define CU_DEVICE_INVALID ((CUdevice)-2)
#define CU_DEVICE_CPU     ((CUdevice)-1)

// Places and kinds of memory that it doesn't need either.
#define CU_MEM_LOCATION_TYPE_HOST_NUMA         ((CUmemLocationType)3)
#define CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT ((CUmemLocationType)4)
#define CU_MEM_ALLOCATION_TYPE_MANAGED         ((CUmemAllocationType)2)

#define CU_MEM_ATTACH_HOST 0x2

// Attributes of pointers that it doesn't need either.
#define CU_POINTER_ATTRIBUTE_P2P_TOKENS               ((CUpointer_attribute)5)
#define CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID          ((CUpointer_attribute)20)
#define CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE ((CUpointer_attribute)21)

#define CU_MEMHOSTALLOC_WRITECOMBINED 0x04

#define CU_MEMHOSTREGISTER_IOMEMORY  0x04
#define CU_MEMHOSTREGISTER_READ_ONLY 0x08

typedef enum CUmem_range_attribute_enum {
    CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY = 1,
    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION = 2,
    CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY = 3,
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION = 4,
    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE = 5,
    CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID = 6,
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE = 7,
    CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID = 8
} CUmem_range_attribute;

typedef struct CUDA_MEMCPY3D_st {
    size_t srcXInBytes;
    size_t srcY;
    size_t srcZ;
    size_t srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    void *reserved0;
    size_t srcPitch;
    size_t srcHeight;
    size_t dstXInBytes;
    size_t dstY;
    size_t dstZ;
    size_t dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    void *reserved1;
    size_t dstPitch;
    size_t dstHeight;
    size_t WidthInBytes;
    size_t Height;
    size_t Depth;
} CUDA_MEMCPY3D;

typedef struct CUDA_MEMCPY3D_PEER_st {
    size_t srcXInBytes;
    size_t srcY;
    size_t srcZ;
    size_t srcLOD;
    CUmemorytype srcMemoryType;
    const void *srcHost;
    CUdeviceptr srcDevice;
    CUarray srcArray;
    CUcontext srcContext;
    size_t srcPitch;
    size_t srcHeight;
    size_t dstXInBytes;
    size_t dstY;
    size_t dstZ;
    size_t dstLOD;
    CUmemorytype dstMemoryType;
    void *dstHost;
    CUdeviceptr dstDevice;
    CUarray dstArray;
    CUcontext dstContext;
    size_t dstPitch;
    size_t dstHeight;
    size_t WidthInBytes;
    size_t Height;
    size_t Depth;
} CUDA_MEMCPY3D_PEER;

typedef enum CUmemcpyFlags_enum { CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE = 1 } CUmemcpyFlags;

// ---------------------------------------------------------------------- words that streams look at

typedef enum CUstreamWriteValue_flags_enum {
    CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER = 1
} CUstreamWriteValue_flags;

typedef enum CUstreamMemoryBarrier_flags_enum {
    CU_STREAM_MEMORY_BARRIER_TYPE_GPU = 1
} CUstreamMemoryBarrier_flags;

typedef enum CUstreamBatchMemOpType_enum {
    CU_STREAM_MEM_OP_WAIT_VALUE_32 = 1,
    CU_STREAM_MEM_OP_WRITE_VALUE_32 = 2,
    CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES = 3,
    CU_STREAM_MEM_OP_WAIT_VALUE_64 = 4,
    CU_STREAM_MEM_OP_WRITE_VALUE_64 = 5,
    CU_STREAM_MEM_OP_BARRIER = 6
} CUstreamBatchMemOpType;

typedef union CUstreamBatchMemOpParams_union {
    CUstreamBatchMemOpType operation;
    struct CUstreamMemOpWaitValueParams_st {
        CUstreamBatchMemOpType operation;
        CUdeviceptr address;
        union {
            uint32_t value;
            uint64_t value64;
        };
        unsigned int flags;
        CUdeviceptr alias;
    } waitValue;
    struct CUstreamMemOpWriteValueParams_st {
        CUstreamBatchMemOpType operation;
        CUdeviceptr address;
        union {
            uint32_t value;
            uint64_t value64;
        };
        unsigned int flags;
        CUdeviceptr alias;
    } writeValue;
    struct CUstreamMemOpFlushRemoteWritesParams_st {
        CUstreamBatchMemOpType operation;
        unsigned int flags;
    } flushRemoteWrites;
    struct CUstreamMemOpMemoryBarrierParams_st {
        CUstreamBatchMemOpType operation;
        unsigned int flags;
    } memoryBarrier;
    uint64_t pad[6];
} CUstreamBatchMemOpParams;

#endif
