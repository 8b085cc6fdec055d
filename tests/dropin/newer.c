// What a newer driver has and the simulated one lacks: pools of its own, per-thread forms, a second
// cuCtxSynchronize, and a cuGetProcAddress that knows which form has which version. Linked with the
// simulated driver it is a libcuda.so.1 that programs find by every way.
//
// Its pools trust a handle, as a real driver's do: one that they haven't given out ends the
// process. Each pool call says on standard error that it was made.
#include "dropin/newer.h"
#include "dropin/ways.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

// The simulated driver's own, renamed as this file is linked with it.
EXPORT CUresult simcudaOldGetProcAddress_v2(const char *name, void **function, int version,
                                            uint64_t flags, CUdriverProcAddressQueryResult *status);
EXPORT CUresult simcudaOldGetProcAddress(const char *name, void **function, int version,
                                         uint64_t flags);
EXPORT CUresult simcudaOldMemFreeAsync(CUdeviceptr address, CUstream stream);
EXPORT CUresult simcudaOldMemFree_v2(CUdeviceptr address);

#define DECLARE(name, symbol, version, flags, kind, parameters) CUresult symbol parameters;
OTHER_CALLS(DECLARE)
#define DECLARE_OWN(symbol, parameters) CUresult symbol parameters;
SP_DROPIN_OWN_CALLS(DECLARE_OWN)

struct CUmemPoolPtrExportData_st {
    CUdeviceptr address;
};

static void say(const char *name) {
    fprintf(stderr, "driver: %s\n", name);
}

// ------------------------------------------------------------------------------------------- pools

enum { POOLS = 64, BLOCKS = 1024, ATTRIBUTES = 9 };

struct CUmemPoolHandle_st {
    bool alive;
    bool exportable;
    uint64_t attributes[ATTRIBUTES];
};

static struct CUmemPoolHandle_st pools[POOLS] = {{.alive = true, .attributes = {0, 1, 1, 1}}};
static CUmemoryPool current = &pools[0];
static struct block {
    CUdeviceptr address;
    size_t size;
    unsigned long long number;
    CUmemoryPool pool; // null: of a graph
} blocks[BLOCKS];
static unsigned long long last_number;
static CUdeviceptr next_of_graph = (CUdeviceptr)1 << 45;

// Guards all of these. Nothing is called while it is held: the simulated driver asks for blocks
// while it holds locks of its own.
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static CUmemoryPool trust(CUmemoryPool pool) {
    if (pool < pools || pool >= pools + POOLS || !pool->alive) {
        fprintf(stderr, "driver: crashed by the handle %p\n", (void *)pool);
        abort();
    }
    return pool;
}

static void take(CUmemoryPool pool, size_t size) {
    uint64_t *used = &pool->attributes[CU_MEMPOOL_ATTR_USED_MEM_CURRENT];
    uint64_t *high = &pool->attributes[CU_MEMPOOL_ATTR_USED_MEM_HIGH];
    *used += size;
    if (*high < *used)
        *high = pool->attributes[CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH] = *used;
}

static struct block *find_block_locked(CUdeviceptr address) {
    for (size_t i = 0; i < BLOCKS; i++) {
        if (blocks[i].address == address)
            return &blocks[i];
    }
    return NULL;
}

bool newer_find_block(CUdeviceptr address, struct newer_block *found) {
    size_t i = 0;
    pthread_mutex_lock(&guard);
    while (i < BLOCKS && (!blocks[i].address || address - blocks[i].address >= blocks[i].size))
        i++;
    if (i < BLOCKS)
        *found = (struct newer_block){blocks[i].address, blocks[i].size, blocks[i].number,
                                      blocks[i].pool};
    pthread_mutex_unlock(&guard);
    return i < BLOCKS;
}

static CUdeviceptr address_of_graph(size_t size) {
    pthread_mutex_lock(&guard);
    CUdeviceptr address = next_of_graph += size;
    pthread_mutex_unlock(&guard);
    return address;
}

// The pool is null for memory of a graph.
static void note(CUdeviceptr address, size_t size, CUmemoryPool pool) {
    pthread_mutex_lock(&guard);
    struct block *block = find_block_locked(0);
    if (!block) {
        fprintf(stderr, "driver: more than %d blocks\n", BLOCKS);
        abort();
    }
    *block = (struct block){address, size, ++last_number, pool};
    if (pool)
        take(pool, size);
    pthread_mutex_unlock(&guard);
}

// Forgets a block of a pool, or of a graph. False where there is none.
static bool forget(CUdeviceptr address, bool of_graph) {
    pthread_mutex_lock(&guard);
    struct block *block = address ? find_block_locked(address) : NULL;
    bool is_one = block && !block->pool == of_graph;
    if (is_one && block->pool)
        block->pool->attributes[CU_MEMPOOL_ATTR_USED_MEM_CURRENT] -= block->size;
    if (is_one)
        block->address = 0;
    pthread_mutex_unlock(&guard);
    return is_one;
}

// As seen on an H200: a created stream needs no current context, and a default stream is looked at
// before all else.
static CUresult check_stream(CUstream stream) {
    CUdevice device;
    return stream > CU_STREAM_PER_THREAD ? CUDA_SUCCESS : cuCtxGetDevice(&device);
}

static bool captures(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

// Memory of a pool is memory of the stream's context here.
static CUresult allocate_in(CUdeviceptr *address, size_t size, CUstream stream) {
    CUcontext context;
    CUresult result = cuStreamGetCtx(stream, &context);
    if (result != CUDA_SUCCESS)
        return result;
    result = cuCtxPushCurrent_v2(context);
    if (result == CUDA_SUCCESS) {
        result = cuMemAlloc_v2(address, size);
        cuCtxPopCurrent_v2(&context);
    }
    return result;
}

static CUresult allocate(CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream) {
    CUresult result = check_stream(stream);
    bool of_graph = captures(stream);
    CUdeviceptr made;
    if (result != CUDA_SUCCESS)
        return result;
    if (!address)
        return CUDA_ERROR_INVALID_VALUE;
    if (size == 0) {
        *address = 0;
        return CUDA_SUCCESS;
    }
    if (of_graph)
        made = address_of_graph(size);
    else
        result = allocate_in(&made, size, stream);
    if (result != CUDA_SUCCESS)
        return result;
    note(made, size, of_graph ? NULL : trust(pool));
    *address = made;
    return CUDA_SUCCESS;
}

CUresult cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
    say("cuMemAllocAsync");
    return allocate(address, size, current, stream);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                 CUstream stream) {
    say("cuMemAllocFromPoolAsync");
    return pool ? allocate(address, size, trust(pool), stream) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
    say("cuMemFreeAsync");
    if (captures(stream))
        return forget(address, true) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    forget(address, false); // before another thread can get it
    return simcudaOldMemFreeAsync(address, stream);
}

// Memory of a pool may be freed in no stream's order, too.
CUresult cuMemFree_v2(CUdeviceptr address) {
    forget(address, false);
    return simcudaOldMemFree_v2(address);
}

// Memory of a node is there where the simulated driver maps it.
static CUresult check_location(const CUmemLocation *location) {
    int maps_nodes = 0;
    if (!location)
        return CUDA_ERROR_INVALID_VALUE;
    cuDeviceGetAttribute(&maps_nodes,
                         CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 0);
    bool has_none = location->type == CU_MEM_LOCATION_TYPE_HOST_NUMA && !maps_nodes;
    return has_none ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult cuMemPoolCreate(CUmemoryPool *pool, const CUmemPoolProps *props) {
    say("cuMemPoolCreate");
    if (props && check_location(&props->location) != CUDA_SUCCESS)
        return check_location(&props->location);
    bool is_known = props && ((int)props->allocType == 1 || (int)props->allocType == 2);
    for (size_t i = 1; pool && is_known && i < POOLS; i++) {
        if (pools[i].alive)
            continue;
        pools[i] = pools[0];
        memset(&pools[i].attributes[4], 0, sizeof pools[i].attributes[4] * (ATTRIBUTES - 4));
        pools[i].exportable = props->handleTypes != CU_MEM_HANDLE_TYPE_NONE;
        *pool = &pools[i];
        return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
    say("cuMemPoolDestroy");
    if (trust(pool) == pools)
        return CUDA_ERROR_INVALID_VALUE;
    if (current == pool)
        current = pools;
    pool->alive = false;
    return CUDA_SUCCESS;
}

static bool is_int(CUmemPool_attribute attribute) {
    return attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
}

static bool is_figure(CUmemPool_attribute attribute) {
    return attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ||
           attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT;
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    say("cuMemPoolSetAttribute");
    if ((int)attribute < 1 || (int)attribute >= ATTRIBUTES || is_figure(attribute))
        return CUDA_ERROR_INVALID_VALUE;
    trust(pool)->attributes[attribute] =
        is_int(attribute) ? *(int *)value != 0 : *(uint64_t *)value;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void *value) {
    say("cuMemPoolGetAttribute");
    if ((int)attribute < 1 || (int)attribute >= ATTRIBUTES)
        return CUDA_ERROR_INVALID_VALUE;
    if (is_int(attribute))
        *(int *)value = (int)trust(pool)->attributes[attribute];
    else
        *(uint64_t *)value = trust(pool)->attributes[attribute];
    return CUDA_SUCCESS;
}

CUresult cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc *descriptors, size_t count) {
    say("cuMemPoolSetAccess");
    return trust(pool) && (descriptors || !count) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool pool, CUmemLocation *location) {
    say("cuMemPoolGetAccess");
    *flags = trust(pool) && location->id == 0 ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
                                              : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
    (void)keep;
    say("cuMemPoolTrimTo");
    return pool && trust(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolExportToShareableHandle(void *handle, CUmemoryPool pool,
                                          CUmemAllocationHandleType type,
                                          unsigned long long flags) {
    say("cuMemPoolExportToShareableHandle");
    if (!trust(pool)->exportable || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags)
        return CUDA_ERROR_INVALID_VALUE;
    *(int *)handle = (int)(pool - pools);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportFromShareableHandle(CUmemoryPool *pool, void *handle,
                                            CUmemAllocationHandleType type,
                                            unsigned long long flags) {
    int descriptor = (int)(intptr_t)handle;
    say("cuMemPoolImportFromShareableHandle");
    if (type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR || flags || descriptor < 1)
        return CUDA_ERROR_INVALID_VALUE;
    *pool = trust(&pools[descriptor]);
    return CUDA_SUCCESS;
}

CUresult cuMemPoolExportPointer(struct CUmemPoolPtrExportData_st *data, CUdeviceptr address) {
    struct newer_block block;
    say("cuMemPoolExportPointer");
    if (!newer_find_block(address, &block) || block.base != address || !block.pool ||
        !block.pool->exportable)
        return CUDA_ERROR_INVALID_VALUE;
    data->address = address;
    return CUDA_SUCCESS;
}

CUresult cuMemPoolImportPointer(CUdeviceptr *address, CUmemoryPool pool,
                                struct CUmemPoolPtrExportData_st *data) {
    say("cuMemPoolImportPointer");
    *address = data->address;
    return trust(pool) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult give(CUmemoryPool *pool, CUmemoryPool given, CUdevice device) {
    if (!pool || device != 0)
        return device == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE;
    *pool = given;
    return CUDA_SUCCESS;
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *pool, CUdevice device) {
    say("cuDeviceGetDefaultMemPool");
    return give(pool, pools, device);
}

CUresult cuDeviceGetMemPool(CUmemoryPool *pool, CUdevice device) {
    say("cuDeviceGetMemPool");
    return give(pool, current, device);
}

CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool) {
    say("cuDeviceSetMemPool");
    if (device != 0)
        return CUDA_ERROR_INVALID_VALUE;
    current = trust(pool);
    return CUDA_SUCCESS;
}

// All places but devices with pinned memory have one pool together, which stays.
enum { CURRENT_KINDS = 4 }; // of locations

static bool is_of_device(const CUmemLocation *location, CUmemAllocationType type) {
    return location->type == CU_MEM_LOCATION_TYPE_DEVICE && type == CU_MEM_ALLOCATION_TYPE_PINNED;
}

static CUresult check_current(const CUmemLocation *location) {
    CUresult result = check_location(location);
    if (result != CUDA_SUCCESS)
        return result;
    return (int)location->type < CURRENT_KINDS ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemGetDefaultMemPool(CUmemoryPool *pool, CUmemLocation *location,
                                CUmemAllocationType type) {
    CUresult result = check_current(location);
    say("cuMemGetDefaultMemPool");
    if (result != CUDA_SUCCESS)
        return result;
    return give(pool, is_of_device(location, type) ? pools : &pools[POOLS - 1], 0);
}

CUresult cuMemGetMemPool(CUmemoryPool *pool, CUmemLocation *location, CUmemAllocationType type) {
    CUresult result = check_current(location);
    say("cuMemGetMemPool");
    if (result != CUDA_SUCCESS)
        return result;
    return give(pool, is_of_device(location, type) ? current : &pools[POOLS - 1], 0);
}

CUresult cuMemSetMemPool(CUmemLocation *location, CUmemAllocationType type, CUmemoryPool pool) {
    CUresult result = check_current(location);
    say("cuMemSetMemPool");
    if (result == CUDA_SUCCESS && is_of_device(location, type))
        current = trust(pool);
    else if (result == CUDA_SUCCESS)
        trust(pool);
    return result;
}

__attribute__((constructor)) static void make_host_pool(void) {
    pools[POOLS - 1] = pools[0];
}

// --------------------------------------------------------------------------------- forms of others

CUresult cuCtxSynchronize_v2(CUcontext context) {
    CUcontext popped;
    CUresult result = context ? cuCtxPushCurrent_v2(context) : CUDA_SUCCESS;
    if (result != CUDA_SUCCESS)
        return result;
    result = cuCtxSynchronize();
    if (context)
        cuCtxPopCurrent_v2(&popped);
    return result;
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
    return flags > 1 ? CUDA_ERROR_INVALID_VALUE : cuEventRecord(event, stream);
}

CUresult cuStreamDestroy(CUstream stream) {
    return cuStreamDestroy_v2(stream);
}

CUresult cuEventDestroy(CUevent event) {
    return cuEventDestroy_v2(event);
}

static CUstream per_thread(CUstream stream) {
    return stream ? stream : CU_STREAM_PER_THREAD;
}

// --------------------------------------------------------------------------- streams and contexts

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned int flags, int priority) {
    (void)priority;
    return cuStreamCreate(stream, flags);
}

// Any address stands for a green context. It is a part of the current one, and has retained the
// primary one of device 0: whoever makes up a green context does so.
CUresult cuCtxFromGreenCtx(CUcontext *context, struct CUgreenCtx_st *green) {
    return green ? cuCtxGetCurrent(context) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGreenCtxStreamCreate(CUstream *stream, struct CUgreenCtx_st *green, unsigned int flags,
                                int priority) {
    return green ? cuStreamCreateWithPriority(stream, flags, priority) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGreenCtxDestroy(struct CUgreenCtx_st *green) {
    return green ? cuDevicePrimaryCtxRelease(0) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuCtxDestroy(CUcontext context) {
    return cuCtxDestroy_v2(context);
}

CUresult cuCtxDetach(CUcontext context) {
    return cuCtxDestroy_v2(context);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    return cuDevicePrimaryCtxRelease(device);
}

CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    return cuDevicePrimaryCtxReset(device);
}

// Captures end in a graph of their own here, whatever they began in.
CUresult cuStreamBeginCapture(CUstream stream) {
    return cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *nodes,
                                     const struct CUgraphEdgeData_st *edges, size_t count,
                                     CUstreamCaptureMode mode) {
    (void)graph, (void)nodes, (void)edges, (void)count;
    return cuStreamBeginCapture_v2(stream, mode);
}

CUresult cuStreamBeginRecaptureToGraph(CUstream stream, CUstreamCaptureMode mode, CUgraph graph,
                                       void *callback, void *data) {
    (void)graph, (void)callback, (void)data;
    return cuStreamBeginCapture_v2(stream, mode);
}

CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
    return cuStreamBeginCapture(per_thread(stream));
}

CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
    return cuStreamBeginCapture_v2(per_thread(stream), mode);
}

CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph, const CUgraphNode *nodes,
                                          const struct CUgraphEdgeData_st *edges, size_t count,
                                          CUstreamCaptureMode mode) {
    return cuStreamBeginCaptureToGraph(per_thread(stream), graph, nodes, edges, count, mode);
}

CUresult cuStreamBeginRecaptureToGraph_ptsz(CUstream stream, CUstreamCaptureMode mode,
                                            CUgraph graph, void *callback, void *data) {
    return cuStreamBeginRecaptureToGraph(per_thread(stream), mode, graph, callback, data);
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph) {
    return cuStreamEndCapture(per_thread(stream), graph);
}

// ------------------------------------------------------------------------------- per-thread stream

CUresult cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t size, CUstream stream) {
    return cuMemAllocAsync(address, size, per_thread(stream));
}

CUresult cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                      CUstream stream) {
    return cuMemAllocFromPoolAsync(address, size, pool, per_thread(stream));
}

CUresult cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
    return cuMemFreeAsync(address, per_thread(stream));
}

CUresult cuStreamSynchronize_ptsz(CUstream stream) {
    return cuStreamSynchronize(per_thread(stream));
}

CUresult cuStreamQuery_ptsz(CUstream stream) {
    return cuStreamQuery(per_thread(stream));
}

CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags) {
    return cuStreamWaitEvent(per_thread(stream), event, flags);
}

CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) {
    return cuEventRecord(event, per_thread(stream));
}

CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned int flags) {
    return cuEventRecordWithFlags(event, per_thread(stream), flags);
}

// A form of a later driver, which nobody here knows: it takes a third parameter.
EXPORT CUresult cuMemFreeAsync_v2(CUdeviceptr address, CUstream stream, int unknown);
EXPORT CUresult cuMemFreeAsync_v2(CUdeviceptr address, CUstream stream, int unknown) {
    (void)unknown;
    return cuMemFreeAsync(address, stream);
}

// ---------------------------------------------------------------------------------------- look-ups

// A driver may look for its own functions.
EXPORT void *simcudaFindOwn(const char *name);

void *simcudaFindOwn(const char *name) {
    void *self = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *found = self ? dlsym(self, name) : NULL;
    if (self)
        dlclose(self);
    return found;
}

#define FORM(name, symbol, version, flags)                                                         \
    { name, version, flags, (void *)(uintptr_t)symbol }
#define POOL_FORM(name) FORM(#name, name, 11020, 0)
static const struct form {
    const char *name;
    int version;
    unsigned int flags;
    void *function;
} forms[] = {
    FORM("cuMemFree", cuMemFree_v2, 3020, 0),
    FORM("cuMemAllocPitch", cuMemAllocPitch_v2, 3020, 0),
    FORM("cuMemAllocManaged", cuMemAllocManaged, 6000, 0),
    FORM("cuArrayCreate", cuArrayCreate_v2, 3020, 0),
    FORM("cuArray3DCreate", cuArray3DCreate_v2, 3020, 0),
    FORM("cuMipmappedArrayCreate", cuMipmappedArrayCreate, 5000, 0),
    FORM("cuPointerGetAttribute", cuPointerGetAttribute, 4000, 0),
    FORM("cuPointerGetAttributes", cuPointerGetAttributes, 7000, 0),
    FORM("cuPointerSetAttribute", cuPointerSetAttribute, 6000, 0),
    FORM("cuMemGetAddressRange", cuMemGetAddressRange_v2, 3020, 0),
    FORM("cuMemGetHandleForAddressRange", cuMemGetHandleForAddressRange, 11070, 0),
    FORM("cuMemRetainAllocationHandle", cuMemRetainAllocationHandle, 11000, 0),
    FORM("cuIpcGetMemHandle", cuIpcGetMemHandle, 4010, 0),
    FORM("cuDeviceGetAttribute", cuDeviceGetAttribute, 2000, 0),
    FORM("cuCtxGetFlags", cuCtxGetFlags, 7000, 0),
    FORM("cuCtxSetFlags", cuCtxSetFlags, 12010, 0),
    FORM("cuGetProcAddress", cuGetProcAddress, 11030, 0),
    FORM("cuGetProcAddress", cuGetProcAddress_v2, 12000, 0),
    FORM("cuCtxSynchronize", cuCtxSynchronize_v2, 13000, 0),
    FORM("cuEventRecordWithFlags", cuEventRecordWithFlags, 11010, 0),
    FORM("cuEventRecordWithFlags", cuEventRecordWithFlags_ptsz, 11010, SP_PER_THREAD),
    FORM("cuMemAllocAsync", cuMemAllocAsync_ptsz, 11020, SP_PER_THREAD),
    FORM("cuMemAllocFromPoolAsync", cuMemAllocFromPoolAsync_ptsz, 11020, SP_PER_THREAD),
    FORM("cuMemFreeAsync", cuMemFreeAsync_ptsz, 11020, SP_PER_THREAD),
    FORM("cuMemFreeAsync", cuMemFreeAsync_v2, 15000, 0),
    FORM("cuCtxDestroy", cuCtxDestroy, 2000, 0),
    FORM("cuCtxDestroy", cuCtxDestroy_v2, 4000, 0),
    FORM("cuCtxDetach", cuCtxDetach, 2000, 0),
    FORM("cuDevicePrimaryCtxRelease", cuDevicePrimaryCtxRelease_v2, 11000, 0),
    FORM("cuDevicePrimaryCtxReset", cuDevicePrimaryCtxReset_v2, 11000, 0),
    FORM("cuGreenCtxDestroy", cuGreenCtxDestroy, 12040, 0),
    FORM("cuGreenCtxStreamCreate", cuGreenCtxStreamCreate, 12050, 0),
    FORM("cuStreamCreateWithPriority", cuStreamCreateWithPriority, 5050, 0),
    FORM("cuStreamBeginCapture", cuStreamBeginCapture, 10000, 0),
    FORM("cuStreamBeginCapture", cuStreamBeginCapture_ptsz, 10000, SP_PER_THREAD),
    FORM("cuStreamBeginCapture", cuStreamBeginCapture_v2, 10010, 0),
    FORM("cuStreamBeginCapture", cuStreamBeginCapture_v2_ptsz, 10010, SP_PER_THREAD),
    FORM("cuStreamBeginCaptureToGraph", cuStreamBeginCaptureToGraph, 12030, 0),
    FORM("cuStreamBeginCaptureToGraph", cuStreamBeginCaptureToGraph_ptsz, 12030, SP_PER_THREAD),
    FORM("cuStreamBeginRecaptureToGraph", cuStreamBeginRecaptureToGraph, 13030, 0),
    FORM("cuStreamBeginRecaptureToGraph", cuStreamBeginRecaptureToGraph_ptsz, 13030, SP_PER_THREAD),
    FORM("cuStreamEndCapture", cuStreamEndCapture_ptsz, 10000, SP_PER_THREAD),
    FORM("cuStreamSynchronize", cuStreamSynchronize_ptsz, 7000, SP_PER_THREAD),
    FORM("cuStreamQuery", cuStreamQuery_ptsz, 7000, SP_PER_THREAD),
    FORM("cuStreamWaitEvent", cuStreamWaitEvent_ptsz, 7000, SP_PER_THREAD),
    FORM("cuEventRecord", cuEventRecord_ptsz, 7000, SP_PER_THREAD),
    FORM("cuMemGetDefaultMemPool", cuMemGetDefaultMemPool, 13000, 0),
    FORM("cuMemGetMemPool", cuMemGetMemPool, 13000, 0),
    FORM("cuMemSetMemPool", cuMemSetMemPool, 13000, 0),
    POOL_FORM(cuMemAllocAsync),
    POOL_FORM(cuMemAllocFromPoolAsync),
    POOL_FORM(cuMemFreeAsync),
    POOL_FORM(cuMemPoolCreate),
    POOL_FORM(cuMemPoolDestroy),
    POOL_FORM(cuMemPoolSetAttribute),
    POOL_FORM(cuMemPoolGetAttribute),
    POOL_FORM(cuMemPoolSetAccess),
    POOL_FORM(cuMemPoolGetAccess),
    POOL_FORM(cuMemPoolTrimTo),
    POOL_FORM(cuMemPoolExportToShareableHandle),
    POOL_FORM(cuMemPoolImportFromShareableHandle),
    POOL_FORM(cuMemPoolExportPointer),
    POOL_FORM(cuDeviceGetDefaultMemPool),
    POOL_FORM(cuDeviceGetMemPool),
    POOL_FORM(cuDeviceSetMemPool),
};

// The setting `api` of the simulated driver. One of an older level lacks what is newer, but for a
// form that no driver has yet.
enum { NEWEST = 13000 };
static int level(void) {
    int version = 0;
    cuDriverGetVersion(&version);
    return version;
}

static const struct form *find_form(const char *name, int version, uint64_t flags) {
    const struct form *best = NULL;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        const struct form *form = &forms[i];
        if (form->version > level() && form->version <= NEWEST)
            continue;
        if (strcmp(form->name, name) == 0 && form->version <= version && !(form->flags & ~flags) &&
            (!best || form->flags > best->flags ||
             (form->flags == best->flags && form->version > best->version)))
            best = form;
    }
    return best;
}

// The simulated driver answers for each name that it knows, whatever its level.
static bool is_too_new(const char *name) {
    bool knows = false;
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        knows = knows || strcmp(forms[i].name, name) == 0;
    return knows && level() < NEWEST && strstr(name, "MemPool") && !find_form(name, NEWEST, 0);
}

// It has all pool calls but cuMemPoolImportPointer. As the manual says, what isn't there is no
// error, but a null pointer and a status.
CUresult cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags,
                             CUdriverProcAddressQueryResult *status) {
    CUdriverProcAddressQueryResult unwanted;
    const struct form *form = name && function ? find_form(name, version, flags) : NULL;
    status = status ? status : &unwanted;
    if (!form && name && function && is_too_new(name)) {
        *function = NULL;
        *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
        return level() < 12000 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
    }
    if (!form && level() < 12000)
        return simcudaOldGetProcAddress(name, function, version, flags);
    if (!form) {
        CUresult result = simcudaOldGetProcAddress_v2(name, function, version, flags, status);
        return result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result;
    }
    *function = form->function;
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
    return CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    CUresult result = cuGetProcAddress_v2(name, function, version, flags, NULL);
    return result == CUDA_SUCCESS && !*function ? CUDA_ERROR_NOT_FOUND : result;
}
