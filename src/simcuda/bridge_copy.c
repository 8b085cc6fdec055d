// Copies and sets, and what streams do to words of memory.
#include "base/number.h"
#include "simcuda/bridge.h"
#include "simcuda/context.h"
#include "simcuda/copy.h"
#include "simcuda/host.h"
#include "simcuda/stream.h"
#include "simcuda/thread.h"
#include "simcuda/word.h"

#define MAX_PITCH ((size_t)INT32_MAX)

// -------------------------------------------------------------------------------------- in one row

static uint64_t address_of(const void *memory) {
    return (uintptr_t)memory;
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
    SIM_BEGIN(cuMemcpy);
    const struct sim_copy copy = sim_copy_row(SIM_OPERAND_ANY, to, SIM_OPERAND_ANY, from, size);
    SIM_END(cuMemcpy, sim_copy_sync("cuMemcpy", &copy));
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    SIM_BEGIN(cuMemcpyAsync);
    const struct sim_copy copy = sim_copy_row(SIM_OPERAND_ANY, to, SIM_OPERAND_ANY, from, size);
    SIM_END(cuMemcpyAsync, sim_copy_async("cuMemcpyAsync", stream, &copy, 1));
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
    SIM_BEGIN(cuMemcpyHtoD);
    const struct sim_copy copy =
        sim_copy_row(SIM_OPERAND_DEVICE, to, SIM_OPERAND_HOST, address_of(from), size);
    SIM_END(cuMemcpyHtoD, sim_copy_sync("cuMemcpyHtoD", &copy));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
    SIM_BEGIN(cuMemcpyHtoDAsync_v2);
    const struct sim_copy copy =
        sim_copy_row(SIM_OPERAND_DEVICE, to, SIM_OPERAND_HOST, address_of(from), size);
    SIM_END(cuMemcpyHtoDAsync_v2, sim_copy_async("cuMemcpyHtoDAsync", stream, &copy, 1));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
    SIM_BEGIN(cuMemcpyDtoH);
    const struct sim_copy copy =
        sim_copy_row(SIM_OPERAND_HOST, address_of(to), SIM_OPERAND_DEVICE, from, size);
    SIM_END(cuMemcpyDtoH, sim_copy_sync("cuMemcpyDtoH", &copy));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream) {
    SIM_BEGIN(cuMemcpyDtoHAsync_v2);
    const struct sim_copy copy =
        sim_copy_row(SIM_OPERAND_HOST, address_of(to), SIM_OPERAND_DEVICE, from, size);
    SIM_END(cuMemcpyDtoHAsync_v2, sim_copy_async("cuMemcpyDtoHAsync", stream, &copy, 1));
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
    SIM_BEGIN(cuMemcpyDtoD_v2);
    const struct sim_copy copy =
        sim_copy_row(SIM_OPERAND_DEVICE, to, SIM_OPERAND_DEVICE, from, size);
    SIM_END(cuMemcpyDtoD_v2, sim_copy_sync("cuMemcpyDtoD", &copy));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    SIM_BEGIN(cuMemcpyDtoDAsync_v2);
    const struct sim_copy copy =
        sim_copy_row(SIM_OPERAND_DEVICE, to, SIM_OPERAND_DEVICE, from, size);
    SIM_END(cuMemcpyDtoDAsync_v2, sim_copy_async("cuMemcpyDtoDAsync", stream, &copy, 1));
}

// -------------------------------------------------------------------------------- between contexts

// Null stands for the current context: seen on an H200.
static CUresult find_context(CUcontext handle, struct sim_context **context) {
    if (!handle)
        return sim_context_current(sim_thread_self(), context);
    CUresult result = sim_context_named(handle, context);
    return result == CUDA_SUCCESS ? sim_context_error(*context) : result;
}

static CUresult find_contexts(CUcontext one, CUcontext other, struct sim_context *contexts[2]) {
    CUresult result = find_context(one, &contexts[0]);
    return result == CUDA_SUCCESS ? find_context(other, &contexts[1]) : result;
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext,
                      size_t size) {
    struct sim_context *contexts[2];
    SIM_BEGIN(cuMemcpyPeer);
    const struct sim_copy copy =
        sim_copy_row(SIM_OPERAND_DEVICE, to, SIM_OPERAND_DEVICE, from, size);
    CUresult result = find_contexts(toContext, fromContext, contexts);
    if (result == CUDA_SUCCESS)
        result = sim_copy_peer("cuMemcpyPeer", &copy, contexts[0], contexts[1]);
    SIM_END(cuMemcpyPeer, result);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext, CUdeviceptr from,
                           CUcontext fromContext, size_t size, CUstream stream) {
    struct sim_context *contexts[2];
    SIM_BEGIN(cuMemcpyPeerAsync);
    const struct sim_copy copy =
        sim_copy_row(SIM_OPERAND_DEVICE, to, SIM_OPERAND_DEVICE, from, size);
    CUresult result = find_contexts(toContext, fromContext, contexts);
    if (result == CUDA_SUCCESS)
        result = sim_copy_async("cuMemcpyPeerAsync", stream, &copy, 1);
    SIM_END(cuMemcpyPeerAsync, result);
}

// ------------------------------------------------------------------------------------ in many rows

// A side of a copy, as the driver's structs describe it.
struct side {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    size_t x, y, z;
    size_t pitch;
    size_t height; // rows from one layer to the next
};

static CUresult operand_of(const struct side *side, struct sim_place *place) {
    place->operand = side->type == CU_MEMORYTYPE_HOST      ? SIM_OPERAND_HOST
                     : side->type == CU_MEMORYTYPE_UNIFIED ? SIM_OPERAND_ANY
                                                           : SIM_OPERAND_DEVICE;
    place->address = side->type == CU_MEMORYTYPE_HOST ? address_of(side->host) : side->device;
    if (side->type == CU_MEMORYTYPE_ARRAY)
        return CUDA_ERROR_NOT_SUPPORTED;
    return (int)side->type >= 1 && (int)side->type <= 4 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// A pitch and a height may be 0 where there is no second row, and no second layer. Rows lie in
// their pitch, and layers in their height.
static bool is_roomy(const struct side *side, const struct sim_copy *copy) {
    size_t columns, rows;
    bool has_rows = copy->height > 1 || copy->depth > 1 || side->y > 0 || side->z > 0;
    bool has_layers = copy->depth > 1 || side->z > 0;
    if (!sp_checked_add(side->x, copy->width, &columns) ||
        !sp_checked_add(side->y, copy->height, &rows) || side->pitch > MAX_PITCH)
        return false;
    if ((has_rows || side->pitch > 0) && side->pitch < columns)
        return false;
    return !has_layers || side->height >= rows;
}

static CUresult place_of(const struct side *side, const struct sim_copy *copy,
                         struct sim_place *place) {
    size_t slice = 0, layers, rows, offset, address;
    CUresult result = operand_of(side, place);
    if (result != CUDA_SUCCESS)
        return result;
    bool has_layers = copy->depth > 1 || side->z > 0;
    if (!is_roomy(side, copy) ||
        (has_layers && !sp_checked_mul(side->pitch, side->height, &slice)) ||
        !sp_checked_mul(side->z, slice, &layers) || !sp_checked_mul(side->y, side->pitch, &rows) ||
        !sp_checked_add(layers, rows, &offset) || !sp_checked_add(offset, side->x, &offset) ||
        !sp_checked_add(place->address, offset, &address))
        return CUDA_ERROR_INVALID_VALUE;
    // A null host pointer with an offset is none, either.
    if (place->address != 0)
        place->address = address;
    place->pitch = side->pitch;
    place->slice = slice;
    return CUDA_SUCCESS;
}

static CUresult describe(const struct side *to, const struct side *from, struct sim_copy *copy) {
    CUresult result = place_of(to, copy, &copy->to);
    return result == CUDA_SUCCESS ? place_of(from, copy, &copy->from) : result;
}

#define SIDE_2D(copy, side)                                                                        \
    {                                                                                              \
        .type = (copy)->side##MemoryType, .host = (copy)->side##Host,                              \
        .device = (copy)->side##Device, .x = (copy)->side##XInBytes, .y = (copy)->side##Y,         \
        .pitch = (copy)->side##Pitch                                                               \
    }

#define SIDE_3D(copy, side)                                                                        \
    {                                                                                              \
        .type = (copy)->side##MemoryType, .host = (copy)->side##Host,                              \
        .device = (copy)->side##Device, .x = (copy)->side##XInBytes, .y = (copy)->side##Y,         \
        .z = (copy)->side##Z, .pitch = (copy)->side##Pitch, .height = (copy)->side##Height         \
    }

static CUresult describe_2d(const CUDA_MEMCPY2D *given, struct sim_copy *copy) {
    if (!given)
        return CUDA_ERROR_INVALID_VALUE;
    const struct side to = SIDE_2D(given, dst), from = SIDE_2D(given, src);
    *copy = (struct sim_copy){.width = given->WidthInBytes, .height = given->Height, .depth = 1};
    return describe(&to, &from, copy);
}

static CUresult describe_3d(const CUDA_MEMCPY3D *given, struct sim_copy *copy) {
    if (!given || given->reserved0 || given->reserved1 || given->srcLOD || given->dstLOD)
        return CUDA_ERROR_INVALID_VALUE;
    const struct side to = SIDE_3D(given, dst), from = SIDE_3D(given, src);
    *copy = (struct sim_copy){
        .width = given->WidthInBytes, .height = given->Height, .depth = given->Depth};
    return describe(&to, &from, copy);
}

// A context counts only where memory is a device's.
static CUresult find_peers(const CUDA_MEMCPY3D_PEER *given, struct sim_context *contexts[2]) {
    CUcontext current = sim_context_current_handle(sim_thread_self());
    bool to_device = given->dstMemoryType == CU_MEMORYTYPE_DEVICE;
    bool from_device = given->srcMemoryType == CU_MEMORYTYPE_DEVICE;
    return find_contexts(to_device ? given->dstContext : current,
                         from_device ? given->srcContext : current, contexts);
}

static CUresult describe_peer(const CUDA_MEMCPY3D_PEER *given, struct sim_copy *copy,
                              struct sim_context *contexts[2]) {
    if (!given || given->srcLOD || given->dstLOD)
        return CUDA_ERROR_INVALID_VALUE;
    const struct side to = SIDE_3D(given, dst), from = SIDE_3D(given, src);
    *copy = (struct sim_copy){
        .width = given->WidthInBytes, .height = given->Height, .depth = given->Depth};
    CUresult result = describe(&to, &from, copy);
    return result == CUDA_SUCCESS ? find_peers(given, contexts) : result;
}

static CUresult copy_2d(const char *call, const CUDA_MEMCPY2D *given) {
    struct sim_copy copy;
    CUresult result = describe_2d(given, &copy);
    return result == CUDA_SUCCESS ? sim_copy_sync(call, &copy) : result;
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *copy) {
    SIM_BEGIN(cuMemcpy2D_v2);
    SIM_END(cuMemcpy2D_v2, copy_2d("cuMemcpy2D", copy));
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *copy) {
    SIM_BEGIN(cuMemcpy2DUnaligned_v2);
    SIM_END(cuMemcpy2DUnaligned_v2, copy_2d("cuMemcpy2DUnaligned", copy));
}

static CUresult copy_2d_async(const CUDA_MEMCPY2D *given, CUstream stream) {
    struct sim_copy copy;
    CUresult result = describe_2d(given, &copy);
    return result == CUDA_SUCCESS ? sim_copy_async("cuMemcpy2DAsync", stream, &copy, 1) : result;
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy, CUstream stream) {
    SIM_BEGIN(cuMemcpy2DAsync_v2);
    SIM_END(cuMemcpy2DAsync_v2, copy_2d_async(copy, stream));
}

static CUresult copy_3d(const CUDA_MEMCPY3D *given) {
    struct sim_copy copy;
    CUresult result = describe_3d(given, &copy);
    return result == CUDA_SUCCESS ? sim_copy_sync("cuMemcpy3D", &copy) : result;
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *copy) {
    SIM_BEGIN(cuMemcpy3D_v2);
    SIM_END(cuMemcpy3D_v2, copy_3d(copy));
}

static CUresult copy_3d_async(const CUDA_MEMCPY3D *given, CUstream stream) {
    struct sim_copy copy;
    CUresult result = describe_3d(given, &copy);
    return result == CUDA_SUCCESS ? sim_copy_async("cuMemcpy3DAsync", stream, &copy, 1) : result;
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *copy, CUstream stream) {
    SIM_BEGIN(cuMemcpy3DAsync_v2);
    SIM_END(cuMemcpy3DAsync_v2, copy_3d_async(copy, stream));
}

static CUresult copy_peer(const CUDA_MEMCPY3D_PEER *given) {
    struct sim_context *contexts[2];
    struct sim_copy copy;
    CUresult result = describe_peer(given, &copy, contexts);
    return result == CUDA_SUCCESS ? sim_copy_peer("cuMemcpy3DPeer", &copy, contexts[0], contexts[1])
                                  : result;
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *copy) {
    SIM_BEGIN(cuMemcpy3DPeer);
    SIM_END(cuMemcpy3DPeer, copy_peer(copy));
}

static CUresult copy_peer_async(const CUDA_MEMCPY3D_PEER *given, CUstream stream) {
    struct sim_context *contexts[2];
    struct sim_copy copy;
    CUresult result = describe_peer(given, &copy, contexts);
    return result == CUDA_SUCCESS ? sim_copy_async("cuMemcpy3DPeerAsync", stream, &copy, 1)
                                  : result;
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *copy, CUstream stream) {
    SIM_BEGIN(cuMemcpy3DPeerAsync);
    SIM_END(cuMemcpy3DPeerAsync, copy_peer_async(copy, stream));
}

// ------------------------------------------------------------------------------------------
// batches

struct batch {
    const CUdeviceptr *to;
    const CUdeviceptr *from;
    const size_t *sizes;
    size_t count;
    const CUmemcpyAttributes *attributes;
    const size_t *firsts; // of the copies that each of them is for
    size_t attribute_count;
};

static bool are_attributes(const struct batch *batch) {
    for (size_t i = 0; i < batch->attribute_count; i++) {
        const CUmemcpyAttributes *attributes = &batch->attributes[i];
        size_t first = batch->firsts[i];
        if (first >= batch->count || (i == 0 ? first != 0 : first <= batch->firsts[i - 1]) ||
            attributes->srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
            attributes->srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY ||
            attributes->flags & ~(unsigned)CU_MEMCPY_FLAG_PREFER_OVERLAP_WITH_COMPUTE)
            return false;
    }
    return true;
}

static bool is_batch(const struct batch *batch, CUstream stream) {
    return (stream || sim_null_stream_is_own) && stream != CU_STREAM_LEGACY && batch->to &&
           batch->from && batch->sizes && batch->count > 0 && batch->attributes && batch->firsts &&
           batch->attribute_count > 0 && batch->attribute_count <= batch->count &&
           are_attributes(batch);
}

static struct sim_copy copy_of(const struct batch *batch, size_t index, size_t attributes) {
    struct sim_copy copy = sim_copy_row(SIM_OPERAND_ANY, batch->to[index], SIM_OPERAND_ANY,
                                        batch->from[index], batch->sizes[index]);
    copy.source =
        batch->attributes[attributes].srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL
            ? SIM_SOURCE_AT_CALL
            : SIM_SOURCE_IN_ORDER;
    return copy;
}

static CUresult copy_batch(const struct batch *batch, CUstream stream) {
    if (!is_batch(batch, stream))
        return CUDA_ERROR_INVALID_VALUE;
    struct sim_copy *copies = sim_reallocate(NULL, batch->count, sizeof(*copies));
    size_t attributes = 0;
    for (size_t i = 0; i < batch->count; i++) {
        if (attributes + 1 < batch->attribute_count && batch->firsts[attributes + 1] == i)
            attributes++;
        copies[i] = copy_of(batch, i, attributes);
    }
    CUresult result = sim_copy_async("cuMemcpyBatchAsync", stream, copies, batch->count);
    sim_free(copies);
    return result;
}

// The index of the copy that is wrong is that of none, as when the driver can't say.
CUresult cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                            CUmemcpyAttributes *attributes, size_t *firsts, size_t attributeCount,
                            size_t *failed, CUstream stream) {
    SIM_BEGIN(cuMemcpyBatchAsync);
    const struct batch batch = {to, from, sizes, count, attributes, firsts, attributeCount};
    CUresult result = copy_batch(&batch, stream);
    if (failed && result != CUDA_SUCCESS)
        *failed = SIZE_MAX;
    SIM_END(cuMemcpyBatchAsync, result);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                               CUmemcpyAttributes *attributes, size_t *firsts,
                               size_t attributeCount, CUstream stream) {
    SIM_BEGIN(cuMemcpyBatchAsync_v2);
    const struct batch batch = {to, from, sizes, count, attributes, firsts, attributeCount};
    SIM_END(cuMemcpyBatchAsync_v2, copy_batch(&batch, stream));
}

// ---------------------------------------------------------------------------------------------
// sets

static CUresult describe_set(CUdeviceptr address, size_t pitch, uint32_t value, unsigned size,
                             size_t width, size_t height, struct sim_copy *copy) {
    *copy = sim_copy_set(address, pitch, value, size, width, height);
    bool is_aligned = address % size == 0 && (height <= 1 || pitch % size == 0);
    return is_aligned && (height <= 1 || pitch >= copy->width) && pitch <= MAX_PITCH
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

static CUresult set(const char *call, CUdeviceptr address, size_t pitch, uint32_t value,
                    unsigned size, size_t width, size_t height) {
    struct sim_copy copy;
    CUresult result = describe_set(address, pitch, value, size, width, height, &copy);
    return result == CUDA_SUCCESS ? sim_copy_sync(call, &copy) : result;
}

static CUresult set_async(const char *call, CUstream stream, CUdeviceptr address, size_t pitch,
                          uint32_t value, unsigned size, size_t width, size_t height) {
    struct sim_copy copy;
    CUresult result = describe_set(address, pitch, value, size, width, height, &copy);
    return result == CUDA_SUCCESS ? sim_copy_async(call, stream, &copy, 1) : result;
}

CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, size_t count) {
    SIM_BEGIN(cuMemsetD8_v2);
    SIM_END(cuMemsetD8_v2, set("cuMemsetD8", address, 0, value, 1, count, 1));
}

CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, size_t count, CUstream stream) {
    SIM_BEGIN(cuMemsetD8Async);
    SIM_END(cuMemsetD8Async, set_async("cuMemsetD8Async", stream, address, 0, value, 1, count, 1));
}

CUresult cuMemsetD2D8_v2(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                         size_t height) {
    SIM_BEGIN(cuMemsetD2D8_v2);
    SIM_END(cuMemsetD2D8_v2, set("cuMemsetD2D8", address, pitch, value, 1, width, height));
}

CUresult cuMemsetD2D8Async(CUdeviceptr address, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream) {
    SIM_BEGIN(cuMemsetD2D8Async);
    SIM_END(cuMemsetD2D8Async,
            set_async("cuMemsetD2D8Async", stream, address, pitch, value, 1, width, height));
}

CUresult cuMemsetD16_v2(CUdeviceptr address, unsigned short value, size_t count) {
    SIM_BEGIN(cuMemsetD16_v2);
    SIM_END(cuMemsetD16_v2, set("cuMemsetD16", address, 0, value, 2, count, 1));
}

CUresult cuMemsetD16Async(CUdeviceptr address, unsigned short value, size_t count,
                          CUstream stream) {
    SIM_BEGIN(cuMemsetD16Async);
    SIM_END(cuMemsetD16Async,
            set_async("cuMemsetD16Async", stream, address, 0, value, 2, count, 1));
}

CUresult cuMemsetD2D16_v2(CUdeviceptr address, size_t pitch, unsigned short value, size_t width,
                          size_t height) {
    SIM_BEGIN(cuMemsetD2D16_v2);
    SIM_END(cuMemsetD2D16_v2, set("cuMemsetD2D16", address, pitch, value, 2, width, height));
}

CUresult cuMemsetD2D16Async(CUdeviceptr address, size_t pitch, unsigned short value, size_t width,
                            size_t height, CUstream stream) {
    SIM_BEGIN(cuMemsetD2D16Async);
    SIM_END(cuMemsetD2D16Async,
            set_async("cuMemsetD2D16Async", stream, address, pitch, value, 2, width, height));
}

CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned int value, size_t count) {
    SIM_BEGIN(cuMemsetD32_v2);
    SIM_END(cuMemsetD32_v2, set("cuMemsetD32", address, 0, value, 4, count, 1));
}

CUresult cuMemsetD32Async(CUdeviceptr address, unsigned int value, size_t count, CUstream stream) {
    SIM_BEGIN(cuMemsetD32Async);
    SIM_END(cuMemsetD32Async,
            set_async("cuMemsetD32Async", stream, address, 0, value, 4, count, 1));
}

CUresult cuMemsetD2D32_v2(CUdeviceptr address, size_t pitch, unsigned int value, size_t width,
                          size_t height) {
    SIM_BEGIN(cuMemsetD2D32_v2);
    SIM_END(cuMemsetD2D32_v2, set("cuMemsetD2D32", address, pitch, value, 4, width, height));
}

CUresult cuMemsetD2D32Async(CUdeviceptr address, size_t pitch, unsigned int value, size_t width,
                            size_t height, CUstream stream) {
    SIM_BEGIN(cuMemsetD2D32Async);
    SIM_END(cuMemsetD2D32Async,
            set_async("cuMemsetD2D32Async", stream, address, pitch, value, 4, width, height));
}

// --------------------------------------------------------------------------------- words of memory

CUresult cuStreamWaitValue32(CUstream stream, CUdeviceptr address, uint32_t value,
                             unsigned int flags) {
    SIM_BEGIN(cuStreamWaitValue32);
    SIM_END(cuStreamWaitValue32,
            sim_word_wait("cuStreamWaitValue32", stream, address, value, 4, flags));
}

CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr address, uint32_t value,
                              unsigned int flags) {
    SIM_BEGIN(cuStreamWriteValue32);
    SIM_END(cuStreamWriteValue32,
            sim_word_write("cuStreamWriteValue32", stream, address, value, 4, flags));
}

CUresult cuStreamWaitValue64(CUstream stream, CUdeviceptr address, uint64_t value,
                             unsigned int flags) {
    SIM_BEGIN(cuStreamWaitValue64);
    SIM_END(cuStreamWaitValue64,
            sim_word_wait("cuStreamWaitValue64", stream, address, value, 8, flags));
}

CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr address, uint64_t value,
                              unsigned int flags) {
    SIM_BEGIN(cuStreamWriteValue64);
    SIM_END(cuStreamWriteValue64,
            sim_word_write("cuStreamWriteValue64", stream, address, value, 8, flags));
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count,
                            CUstreamBatchMemOpParams *operations, unsigned int flags) {
    SIM_BEGIN(cuStreamBatchMemOp);
    SIM_END(cuStreamBatchMemOp,
            flags == 0 ? sim_word_batch(stream, operations, count, 1) : CUDA_ERROR_INVALID_VALUE);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                unsigned int flags) {
    SIM_BEGIN(cuStreamWaitValue32_v2);
    SIM_END(cuStreamWaitValue32_v2,
            sim_word_wait("cuStreamWaitValue32", stream, address, value, 4, flags));
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
                                 unsigned int flags) {
    SIM_BEGIN(cuStreamWriteValue32_v2);
    SIM_END(cuStreamWriteValue32_v2,
            sim_word_write("cuStreamWriteValue32", stream, address, value, 4, flags));
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
                                unsigned int flags) {
    SIM_BEGIN(cuStreamWaitValue64_v2);
    SIM_END(cuStreamWaitValue64_v2,
            sim_word_wait("cuStreamWaitValue64", stream, address, value, 8, flags));
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
                                 unsigned int flags) {
    SIM_BEGIN(cuStreamWriteValue64_v2);
    SIM_END(cuStreamWriteValue64_v2,
            sim_word_write("cuStreamWriteValue64", stream, address, value, 8, flags));
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                               CUstreamBatchMemOpParams *operations, unsigned int flags) {
    SIM_BEGIN(cuStreamBatchMemOp_v2);
    SIM_END(cuStreamBatchMemOp_v2,
            flags == 0 ? sim_word_batch(stream, operations, count, 2) : CUDA_ERROR_INVALID_VALUE);
}
