// program WAY [LIST]: a program that knows CUDA's pools and nothing of streampool. It prints what
// each call answers and what it finds, so that runs on two allocators can be compared line for
// line. A call that came with a later CUDA than the driver's isn't made, but for those of
// CUDA 11.2.
#include "dropin/ways.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { KIB = 1024, MIB = 1024 * KIB };

static CUcontext context;
static CUstream first, second;
static CUmemoryPool standard;
static int version; // of the driver

static void tell(const char *what, CUresult result) {
    printf("%s: %d\n", what, (int)result);
}

static void must(CUresult result, const char *call) {
    if (result == CUDA_SUCCESS)
        return;
    printf("%s: %d\n", call, (int)result);
    exit(1);
}

#define MUST(call) must((call), #call)

static void tell_used(const char *what, CUmemoryPool pool) {
    uint64_t used = 0;
    MUST(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &used));
    printf("used %s: %llu\n", what, (unsigned long long)used);
}

static void begin(void) {
    CUdeviceptr address = 0;
    tell("allocate before the driver is initialised", cu.cuMemAllocAsync(&address, KIB, NULL));
    MUST(cu.cuInit(0));
    MUST(cu.cuDriverGetVersion(&version));
    tell("allocate with no context", cu.cuMemAllocAsync(&address, KIB, NULL));
    MUST(cu.cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cu.cuCtxSetCurrent(context));
    MUST(cu.cuStreamCreate(&first, CU_STREAM_NON_BLOCKING));
    MUST(cu.cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
}

static void write_and_read(CUdeviceptr address, unsigned char value, CUstream stream) {
    unsigned char seen[3] = {0};
    MUST(cu.cuMemsetD8Async(address, value, MIB, stream));
    MUST(cu.cuStreamSynchronize(stream));
    MUST(cu.cuMemcpyDtoH_v2(&seen[0], address, 1));
    MUST(cu.cuMemcpyDtoH_v2(&seen[1], address + MIB - 1, 1));
    printf("bytes: %d %d\n", seen[0], seen[1]);
}

static void use_default_pool(void) {
    CUdeviceptr address = 0;
    CUmemoryPool found = NULL;
    uint64_t threshold = 64 * MIB;
    MUST(cu.cuDeviceGetDefaultMemPool(&standard, 0));
    MUST(cu.cuDeviceGetMemPool(&found, 0));
    printf("the default pool is current: %d\n", found == standard);
    MUST(cu.cuMemPoolSetAttribute(standard, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
    MUST(cu.cuMemAllocAsync(&address, MIB, first));
    printf("aligned: %d\n", address % 512 == 0);
    tell_used("after an allocation", standard);
    write_and_read(address, 7, first);
    MUST(cu.cuMemFreeAsync(address, first));
    tell_used("after its free", standard);
    tell("free it again", cu.cuMemFreeAsync(address, first));
    tell("allocate to nowhere", cu.cuMemAllocAsync(NULL, KIB, first));
    tell("trim", cu.cuMemPoolTrimTo(standard, 0));
    tell("destroy the default pool", cu.cuMemPoolDestroy(standard));
    tell("default pool of no device", cu.cuDeviceGetDefaultMemPool(&found, 17));
}

// Memory goes from one stream to the other through an event.
static void use_two_streams(void) {
    CUdeviceptr address = 0;
    CUevent event;
    MUST(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    MUST(cu.cuMemAllocAsync(&address, MIB, first));
    MUST(cu.cuMemsetD8Async(address, 1, MIB, first));
    MUST(cu.cuEventRecord(event, first));
    MUST(cu.cuStreamWaitEvent(second, event, 0));
    write_and_read(address, 2, second);
    MUST(cu.cuMemFreeAsync(address, second));
    MUST(version < 11010 ? cu.cuEventRecord(event, second)
                         : cu.cuEventRecordWithFlags(event, second, 0));
    MUST(cu.cuEventSynchronize(event));
    tell("query the event", cu.cuEventQuery(event));
    tell("query the stream", cu.cuStreamQuery(second));
    MUST(cu.cuEventDestroy_v2(event));
}

// Stream 0 of these forms is the thread's own.
static void use_per_thread_forms(void) {
    CUdeviceptr address = 0;
    CUevent event;
    MUST(cu.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    MUST(cu.cuMemAllocAsync_ptsz(&address, MIB, NULL));
    MUST(cu.cuMemFreeAsync_ptsz(address, NULL));
    MUST(cu.cuMemAllocFromPoolAsync_ptsz(&address, MIB, standard, NULL));
    MUST(cu.cuEventRecord_ptsz(event, NULL));
    MUST(version < 11010 ? cu.cuEventRecord_ptsz(event, NULL)
                         : cu.cuEventRecordWithFlags_ptsz(event, NULL, 0));
    MUST(cu.cuStreamWaitEvent_ptsz(NULL, event, 0));
    MUST(cu.cuMemFreeAsync_ptsz(address, NULL));
    MUST(cu.cuStreamSynchronize_ptsz(NULL));
    tell("query the thread's stream", cu.cuStreamQuery_ptsz(NULL));
    MUST(cu.cuEventDestroy_v2(event));
}

static uint64_t tell_attribute(const char *name, CUpointer_attribute attribute,
                               CUdeviceptr address) {
    uint64_t value = 0;
    CUresult result = cu.cuPointerGetAttribute(&value, attribute, address);
    printf("%s: %d %llu\n", name, (int)result, (unsigned long long)value);
    return value;
}

#define TELL_ATTRIBUTE(name, address) tell_attribute(#name, CU_POINTER_ATTRIBUTE_##name, address)

static uint64_t attribute_of(CUdeviceptr address, CUpointer_attribute attribute) {
    uint64_t value = 0;
    MUST(cu.cuPointerGetAttribute(&value, attribute, address));
    return value;
}

// Asks for several at once, as the runtime's cudaPointerGetAttributes does.
static void tell_several(const char *what, CUdeviceptr address) {
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT};
    unsigned int type = 77, managed = 77;
    int device = 77;
    CUcontext its = context;
    void *values[] = {&type, &managed, &device, &its};
    CUresult result = cu.cuPointerGetAttributes(4, attributes, values, address);
    printf("%s: %d, type %u, managed %u, device %d, of a context %d\n", what, (int)result, type,
           managed, device, its != NULL);
}

static void tell_range(const char *what, CUdeviceptr address, CUdeviceptr expected) {
    CUdeviceptr base = 0;
    size_t size = 0;
    CUresult result = cu.cuMemGetAddressRange_v2(&base, &size, address);
    printf("%s: %d, begins there %d, %zu bytes\n", what, (int)result, base == expected, size);
}

static void use_pointer_attributes(void) {
    char handle[64];
    CUdeviceptr address = 0, other = 0;
    MUST(cu.cuMemAllocAsync(&address, 1000, first));
    MUST(cu.cuMemAllocAsync(&other, 1000, first));
    TELL_ATTRIBUTE(CONTEXT, address);
    TELL_ATTRIBUTE(MEMORY_TYPE, address);
    TELL_ATTRIBUTE(SYNC_MEMOPS, address);
    TELL_ATTRIBUTE(IS_MANAGED, address);
    TELL_ATTRIBUTE(DEVICE_ORDINAL, address);
    TELL_ATTRIBUTE(IS_LEGACY_CUDA_IPC_CAPABLE, address);
    TELL_ATTRIBUTE(RANGE_SIZE, address + 999);
    TELL_ATTRIBUTE(MAPPED, address);
    TELL_ATTRIBUTE(ALLOWED_HANDLE_TYPES, address);
    TELL_ATTRIBUTE(ACCESS_FLAGS, address);
    TELL_ATTRIBUTE(HOST_POINTER, address);
    printf("it is of the default pool: %d\n",
           attribute_of(address, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE) == (uintptr_t)standard);
    printf("its range begins at its base: %d\n",
           attribute_of(address + 999, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) == address);
    printf("its address is that of the device: %d\n",
           attribute_of(address + 7, CU_POINTER_ATTRIBUTE_DEVICE_POINTER) == address + 7);
    uint64_t number = attribute_of(address, CU_POINTER_ATTRIBUTE_BUFFER_ID);
    printf("its number stays: %d\n",
           attribute_of(address + 1, CU_POINTER_ATTRIBUTE_BUFFER_ID) == number);
    printf("another one's number is another one: %d\n",
           attribute_of(other, CU_POINTER_ATTRIBUTE_BUFFER_ID) != number);
    tell_several("several attributes", address + 1);
    tell_range("its range", address + 999, address);
    tell("a handle of it for another process",
         cu.cuIpcGetMemHandle((struct CUipcMemHandle_st *)(void *)handle, address));
    MUST(cu.cuMemFreeAsync(address, first));
    MUST(cu.cuMemFreeAsync(other, first));
    MUST(cu.cuStreamSynchronize(first));
    MUST(cu.cuMemPoolTrimTo(standard, 0));
    TELL_ATTRIBUTE(MEMORY_TYPE, address);
    tell_several("several of what was freed", address);
    tell_range("the range of what was freed", address, 0);
    MUST(cu.cuMemAllocAsync(&address, 1000, first));
    printf("what comes after it has another number: %d\n",
           attribute_of(address, CU_POINTER_ATTRIBUTE_BUFFER_ID) != number);
    MUST(cu.cuMemFreeAsync(address, first));
    MUST(cu.cuStreamSynchronize(first));
}

static void tell_device(void) {
    int value = 0;
    tell("pools are supported",
         cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0));
    printf("pools: %d\n", value);
    tell("handles are supported",
         cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, 0));
    printf("types of handles: %d\n", value > 0);
}

static CUmemPoolProps props_of(CUmemLocationType place, CUmemAllocationHandleType handles) {
    return (CUmemPoolProps){
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .handleTypes = handles, .location = {place, 0}};
}

// A driver answers for the attributes of its time.
static void tell_newer_attributes(CUmemoryPool pool) {
    for (int attribute = 9; attribute <= 16; attribute++) {
        uint64_t value = 0;
        int since = attribute < 15 ? 13020 : attribute == 15 ? 13040 : INT_MAX;
        CUresult expected = version < since ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
        if (cu.cuMemPoolGetAttribute(pool, (CUmemPool_attribute)attribute, &value) != expected)
            printf("attribute %d is not as the driver's age says\n", attribute);
        MUST(cu.cuMemPoolSetAttribute(pool, (CUmemPool_attribute)attribute, &value) ==
                     CUDA_ERROR_INVALID_VALUE
                 ? CUDA_SUCCESS
                 : CUDA_ERROR_UNKNOWN);
    }
}

static void use_own_pool(void) {
    CUmemPoolProps props = props_of(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_NONE);
    CUmemLocation here = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemAccessDesc access = {here, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUmemoryPool pool = NULL, found = NULL;
    CUdeviceptr address = 0;
    int reuses = 0;
    MUST(cu.cuMemPoolCreate(&pool, &props));
    MUST(cu.cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuses));
    reuses = 5;
    MUST(cu.cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuses));
    printf("opportunistic: %d\n", reuses);
    tell_newer_attributes(pool);
    tell("give the own device access", cu.cuMemPoolSetAccess(pool, &access, 1));
    MUST(cu.cuMemPoolGetAccess(&flags, pool, &here));
    printf("access: %d\n", (int)flags);
    MUST(cu.cuMemAllocFromPoolAsync(&address, MIB, pool, first));
    tell_used("in the own pool", pool);
    MUST(cu.cuMemFree_v2(address));
    tell_used("after cuMemFree", pool);
    MUST(cu.cuDeviceSetMemPool(0, pool));
    MUST(cu.cuDeviceGetMemPool(&found, 0));
    printf("the own pool is current: %d\n", found == pool);
    MUST(cu.cuMemPoolDestroy(pool));
    MUST(version < 13000 ? cu.cuDeviceGetMemPool(&found, 0)
                         : cu.cuMemGetMemPool(&found, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    printf("the default pool is current again: %d\n", found == standard);
}

// What a driver without pools has none of: the drop-in leaves it to the driver, but for pools of
// host memory.
static void use_what_the_driver_lacks(void) {
    CUmemPoolProps host = props_of(CU_MEM_LOCATION_TYPE_HOST, CU_MEM_HANDLE_TYPE_NONE);
    CUmemPoolProps shared =
        props_of(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemoryPool pool = NULL;
    CUdeviceptr before = 0, inside = 0;
    CUgraph graph = NULL;
    tell("make a pool of host memory", cu.cuMemPoolCreate(&pool, &host));
    tell("make a pool to be exported", cu.cuMemPoolCreate(&pool, &shared));
    printf("a pool: %d\n", pool != NULL);
    MUST(cu.cuMemAllocAsync(&before, MIB, first));
    MUST(cu.cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    tell("allocate in a capture", cu.cuMemAllocAsync(&inside, MIB, first));
    tell("free in a capture", cu.cuMemFreeAsync(before, first));
    MUST(cu.cuStreamEndCapture(first, &graph));
    MUST(cu.cuGraphDestroy(graph));
    tell("free behind it", cu.cuMemFreeAsync(before, first));
    MUST(cu.cuMemAlloc_v2(&before, MIB));
    tell("free in order what cuMemAlloc gave", cu.cuMemFreeAsync(before, first));
    tell("free it at once", cu.cuMemFree_v2(before));
}

// Pools that the drop-in leaves to the driver, beside one of host memory that it serves.
static void use_pools_of_the_driver(void) {
    CUmemPoolProps host = props_of(CU_MEM_LOCATION_TYPE_HOST, CU_MEM_HANDLE_TYPE_NONE);
    CUmemPoolProps shared =
        props_of(CU_MEM_LOCATION_TYPE_DEVICE, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemoryPool pool = NULL, exported = NULL, imported = NULL, found = NULL;
    CUdeviceptr of_host = 0, of_shared = 0, of_current = 0;
    int descriptor = -1;
    MUST(cu.cuMemPoolCreate(&pool, &host));
    MUST(cu.cuMemPoolCreate(&exported, &shared));
    MUST(cu.cuMemAllocFromPoolAsync(&of_host, MIB, pool, first));
    MUST(cu.cuMemAllocFromPoolAsync(&of_shared, MIB, exported, first));
    tell_used("in the pool of host memory", pool);
    MUST(cu.cuMemPoolExportToShareableHandle(&descriptor, exported,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    MUST(cu.cuMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)descriptor,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    tell_used("in the imported pool", imported);
    tell("export the default pool",
         cu.cuMemPoolExportToShareableHandle(&descriptor, standard,
                                             CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    MUST(cu.cuDeviceSetMemPool(0, exported));
    MUST(cu.cuMemAllocAsync(&of_current, MIB, first));
    tell_used("in the current exportable pool", exported);
    MUST(cu.cuMemFreeAsync(of_current, first));
    MUST(cu.cuMemFreeAsync(of_shared, first));
    MUST(cu.cuMemFreeAsync(of_host, first));
    MUST(cu.cuMemPoolDestroy(exported));
    MUST(cu.cuDeviceGetMemPool(&found, 0));
    printf("the default pool is current after that: %d\n", found == standard);
    MUST(cu.cuMemPoolDestroy(pool));
}

static void use_capture(void) {
    CUdeviceptr before = 0, inside = 0;
    CUgraph graph = NULL;
    MUST(cu.cuMemAllocAsync(&before, MIB, first));
    MUST(cu.cuStreamBeginCapture_v2(first, CU_STREAM_CAPTURE_MODE_RELAXED));
    tell("allocate in a capture", cu.cuMemAllocAsync(&inside, MIB, first));
    tell("free in it what is not the graph's", cu.cuMemFreeAsync(before, first));
    tell("free in it what is the graph's", cu.cuMemFreeAsync(inside, first));
    tell("allocate in it from a pool", cu.cuMemAllocFromPoolAsync(&inside, MIB, standard, first));
    tell("free that", cu.cuMemFreeAsync(inside, first));
    MUST(cu.cuStreamEndCapture(first, &graph));
    MUST(cu.cuGraphDestroy(graph));
    tell("free behind it", cu.cuMemFreeAsync(before, first));
}

// cuMemAlloc's memory may be freed in a stream's order.
static void use_other_memory(void) {
    CUdeviceptr address = 0;
    MUST(cu.cuMemAlloc_v2(&address, MIB));
    tell("free it in order", cu.cuMemFreeAsync(address, first));
    MUST(cu.cuMemAlloc_v2(&address, MIB));
    tell("free it at once", cu.cuMemFree_v2(address));
}

static void *allocate_without_context(void *unused) {
    CUdeviceptr address = 0;
    CUcontext found = NULL;
    (void)unused;
    MUST(cu.cuMemAllocAsync(&address, KIB, first));
    MUST(cu.cuMemFreeAsync(address, first));
    MUST(cu.cuCtxGetCurrent(&found));
    printf("a created stream gives none: %d\n", found == NULL);
    tell("allocate in a fresh thread", cu.cuMemAllocAsync(&address, KIB, NULL));
    MUST(cu.cuCtxGetCurrent(&found));
    printf("it has a context then: %d\n", found != NULL);
    return NULL;
}

static void use_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, allocate_without_context, NULL) != 0)
        exit(1);
    pthread_join(thread, NULL);
}

static void end(void) {
    tell("synchronise", cu.cuCtxSynchronize());
    tell("synchronise the context by its handle",
         version < 13000 ? cu.cuCtxSynchronize() : cu.cuCtxSynchronize_v2(context));
    tell("synchronise a bad stream's wait", cu.cuStreamWaitEvent(first, NULL, 0));
    tell("destroy a stream", cu.cuStreamDestroy_v2(first));
    tell("destroy another", cu.cuStreamDestroy_v2(second));
    tell_used("at the end", standard);
}

int main(int count, char **arguments) {
    find_calls(count > 1 ? arguments[1] : "", count > 2 ? arguments[2] : NULL);
    begin();
    use_default_pool();
    use_two_streams();
    use_per_thread_forms();
    use_pointer_attributes();
    tell_device();
    use_own_pool();
    if (version < 11020) {
        use_what_the_driver_lacks();
    } else {
        use_pools_of_the_driver();
        use_capture();
        use_other_memory();
    }
    use_thread();
    end();
    return 0;
}
