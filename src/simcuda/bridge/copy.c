// Copies and sets, and what streams do to words of memory.
#include "simcuda/work/copy.h"
#include "base/number.h"
#include "simcuda/bridge/bridge.h"
#include "simcuda/common/host.h"
#include "simcuda/common/thread.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/stream.h"
#include "simcuda/work/word.h"

#define MAX_PITCH ((size_t)INT32_MAX)

// -------------------------------------------------------------------------------------- in one row

static uint64_t address_of(const void *memory) {
    return (uintptr_t)memory;
}

static CUresult copy_row(enum sim_operand to_operand, uint64_t to, enum sim_operand from_operand,
                         uint64_t from, size_t size) {
    const struct sim_copy copy = sim_copy_row(to_operand, to, from_operand, from, size);
    return sim_copy_sync(&copy);
}

static CUresult copy_row_async(CUstream stream, enum sim_operand to_operand, uint64_t to,
                               enum sim_operand from_operand, uint64_t from, size_t size) {
    const struct sim_copy copy = sim_copy_row(to_operand, to, from_operand, from, size);
    return sim_copy_async(stream, &copy, 1);
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t size) {
    SIM_CALL(cuMemcpy, copy_row(SIM_OPERAND_ANY, to, SIM_OPERAND_ANY, from, size));
}

CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    SIM_CALL(cuMemcpyAsync,
             copy_row_async(stream, SIM_OPERAND_ANY, to, SIM_OPERAND_ANY, from, size));
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t size) {
    SIM_CALL(cuMemcpyHtoD_v2,
             copy_row(SIM_OPERAND_DEVICE, to, SIM_OPERAND_HOST, address_of(from), size));
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t size, CUstream stream) {
    SIM_CALL(cuMemcpyHtoDAsync_v2, copy_row_async(stream, SIM_OPERAND_DEVICE, to, SIM_OPERAND_HOST,
                                                  address_of(from), size));
}

CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t size) {
    SIM_CALL(cuMemcpyDtoH_v2,
             copy_row(SIM_OPERAND_HOST, address_of(to), SIM_OPERAND_DEVICE, from, size));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t size, CUstream stream) {
    SIM_CALL(cuMemcpyDtoHAsync_v2, copy_row_async(stream, SIM_OPERAND_HOST, address_of(to),
                                                  SIM_OPERAND_DEVICE, from, size));
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t size) {
    SIM_CALL(cuMemcpyDtoD_v2, copy_row(SIM_OPERAND_DEVICE, to, SIM_OPERAND_DEVICE, from, size));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream) {
    SIM_CALL(cuMemcpyDtoDAsync_v2,
             copy_row_async(stream, SIM_OPERAND_DEVICE, to, SIM_OPERAND_DEVICE, from, size));
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
        result = sim_copy_peer(&copy, contexts[0], contexts[1]);
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
        result = sim_copy_async(stream, &copy, 1);
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

// These make a copy that was described, or return why it can't be.
static CUresult make(CUresult described, const struct sim_copy *copy) {
    return described == CUDA_SUCCESS ? sim_copy_sync(copy) : described;
}

static CUresult make_async(CUresult described, const struct sim_copy *copy, CUstream stream) {
    return described == CUDA_SUCCESS ? sim_copy_async(stream, copy, 1) : described;
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D *given) {
    struct sim_copy copy;
    SIM_CALL(cuMemcpy2D_v2, make(describe_2d(given, &copy), &copy));
}

CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *given) {
    struct sim_copy copy;
    SIM_CALL(cuMemcpy2DUnaligned_v2, make(describe_2d(given, &copy), &copy));
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *given, CUstream stream) {
    struct sim_copy copy;
    SIM_CALL(cuMemcpy2DAsync_v2, make_async(describe_2d(given, &copy), &copy, stream));
}

CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D *given) {
    struct sim_copy copy;
    SIM_CALL(cuMemcpy3D_v2, make(describe_3d(given, &copy), &copy));
}

CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *given, CUstream stream) {
    struct sim_copy copy;
    SIM_CALL(cuMemcpy3DAsync_v2, make_async(describe_3d(given, &copy), &copy, stream));
}

CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *given) {
    struct sim_context *contexts[2];
    struct sim_copy copy;
    SIM_BEGIN(cuMemcpy3DPeer);
    CUresult result = describe_peer(given, &copy, contexts);
    if (result == CUDA_SUCCESS)
        result = sim_copy_peer(&copy, contexts[0], contexts[1]);
    SIM_END(cuMemcpy3DPeer, result);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *given, CUstream stream) {
    struct sim_context *contexts[2];
    struct sim_copy copy;
    SIM_CALL(cuMemcpy3DPeerAsync, make_async(describe_peer(given, &copy, contexts), &copy, stream));
}

// ----------------------------------------------------------------------------------------- batches

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
    CUresult result = sim_copy_async(stream, copies, batch->count);
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

// -------------------------------------------------------------------------------------------- sets

static CUresult describe_set(CUdeviceptr address, size_t pitch, uint32_t value, unsigned size,
                             size_t width, size_t height, struct sim_copy *copy) {
    *copy = sim_copy_set(address, pitch, value, size, width, height);
    bool is_aligned = address % size == 0 && (height <= 1 || pitch % size == 0);
    return is_aligned && (height <= 1 || pitch >= copy->width) && pitch <= MAX_PITCH
               ? CUDA_SUCCESS
               : CUDA_ERROR_INVALID_VALUE;
}

// For each size of an element: in one row and in several, synchronous and not.
#define SETS(bits, type)                                                                           \
    CUresult cuMemsetD##bits##_v2(CUdeviceptr address, type value, size_t count) {                 \
        struct sim_copy copy;                                                                      \
        SIM_CALL(cuMemsetD##bits##_v2,                                                             \
                 make(describe_set(address, 0, value, sizeof value, count, 1, &copy), &copy));     \
    }                                                                                              \
    CUresult cuMemsetD##bits##Async(CUdeviceptr address, type value, size_t count,                 \
                                    CUstream stream) {                                             \
        struct sim_copy copy;                                                                      \
        SIM_CALL(cuMemsetD##bits##Async,                                                           \
                 make_async(describe_set(address, 0, value, sizeof value, count, 1, &copy), &copy, \
                            stream));                                                              \
    }                                                                                              \
    CUresult cuMemsetD2D##bits##_v2(CUdeviceptr address, size_t pitch, type value, size_t width,   \
                                    size_t height) {                                               \
        struct sim_copy copy;                                                                      \
        SIM_CALL(                                                                                  \
            cuMemsetD2D##bits##_v2,                                                                \
            make(describe_set(address, pitch, value, sizeof value, width, height, &copy), &copy)); \
    }                                                                                              \
    CUresult cuMemsetD2D##bits##Async(CUdeviceptr address, size_t pitch, type value, size_t width, \
                                      size_t height, CUstream stream) {                            \
        struct sim_copy copy;                                                                      \
        SIM_CALL(                                                                                  \
            cuMemsetD2D##bits##Async,                                                              \
            make_async(describe_set(address, pitch, value, sizeof value, width, height, &copy),    \
                       &copy, stream));                                                            \
    }
SETS(8, unsigned char)
SETS(16, unsigned short)
SETS(32, unsigned int)

// --------------------------------------------------------------------------------- words of memory

// Both forms of these calls do the same.
#define WORDS(bits, form)                                                                          \
    CUresult cuStreamWaitValue##bits##form(CUstream stream, CUdeviceptr address,                   \
                                           uint##bits##_t value, unsigned int flags) {             \
        SIM_CALL(cuStreamWaitValue##bits##form,                                                    \
                 sim_word_wait("cuStreamWaitValue" #bits, stream, address, value, sizeof value,    \
                               flags));                                                            \
    }                                                                                              \
    CUresult cuStreamWriteValue##bits##form(CUstream stream, CUdeviceptr address,                  \
                                            uint##bits##_t value, unsigned int flags) {            \
        SIM_CALL(cuStreamWriteValue##bits##form,                                                   \
                 sim_word_write("cuStreamWriteValue" #bits, stream, address, value, sizeof value,  \
                                flags));                                                           \
    }
WORDS(32, )
WORDS(64, )
WORDS(32, _v2)
WORDS(64, _v2)

static CUresult do_batch(CUstream stream, const CUstreamBatchMemOpParams *operations,
                         unsigned count, unsigned flags, int version) {
    return flags == 0 ? sim_word_batch(stream, operations, count, version)
                      : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamBatchMemOp(CUstream stream, unsigned int count,
                            CUstreamBatchMemOpParams *operations, unsigned int flags) {
    SIM_CALL(cuStreamBatchMemOp, do_batch(stream, operations, count, flags, 1));
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                               CUstreamBatchMemOpParams *operations, unsigned int flags) {
    SIM_CALL(cuStreamBatchMemOp_v2, do_batch(stream, operations, count, flags, 2));
}
