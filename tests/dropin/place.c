// place NAME: pools of memory of the host, and of managed memory, under the drop-in.
#include "dropin/require.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#define PINNED  CU_MEM_ALLOCATION_TYPE_PINNED
#define MANAGED ((CUmemAllocationType)2)

static const CUmemLocation device = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
static const CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};
static const CUmemLocation node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};

static CUmemoryPool pool_with(CUmemAllocationType type, CUmemLocation location,
                              CUmemAllocationHandleType handles) {
    const CUmemPoolProps props = {.allocType = type, .handleTypes = handles, .location = location};
    CUmemoryPool pool = NULL;
    REQUIRE_DONE(cu.cuMemPoolCreate(&pool, &props));
    return pool;
}

static CUmemoryPool pool_of(CUmemAllocationType type, CUmemLocation location) {
    return pool_with(type, location, CU_MEM_HANDLE_TYPE_NONE);
}

// One that can be exported is the driver's.
static CUmemoryPool drivers_pool_of(CUmemLocation location) {
    return pool_with(PINNED, location, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
}

static CUdeviceptr allocate_from(CUmemoryPool pool, size_t size, CUstream stream) {
    CUdeviceptr address = 0;
    REQUIRE_DONE(cu.cuMemAllocFromPoolAsync(&address, size, pool, stream));
    return address;
}

static char *bytes_at(CUdeviceptr address) {
    return (char *)(uintptr_t)address; // NOLINT(performance-no-int-to-ptr)
}

static CUmemoryPool pool_at(CUdeviceptr address) {
    CUmemoryPool pool = NULL;
    REQUIRE_DONE(cu.cuPointerGetAttribute(&pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, address));
    return pool;
}

static uint64_t used(CUmemoryPool pool) {
    return pool_figure(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
}

static void let_in(CUmemoryPool pool, int ordinal) {
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, ordinal},
                                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    REQUIRE_DONE(cu.cuMemPoolSetAccess(pool, &access, 1));
}

// ------------------------------------------------------------------------------- the current pools

static CUmemoryPool current_at(CUmemLocation location, CUmemAllocationType type) {
    CUmemoryPool pool = NULL;
    REQUIRE_DONE(cu.cuMemGetMemPool(&pool, &location, type));
    return pool;
}

static void make_current(CUmemLocation location, CUmemAllocationType type, CUmemoryPool pool) {
    REQUIRE_DONE(cu.cuMemSetMemPool(&location, type, pool));
    REQUIRE(current_at(location, type) == pool);
}

// The driver's calls in an allocation that finds its memory at hand.
static uint64_t calls_of_allocation(void) {
    uint64_t (*count_calls)(const char *) = NULL;
    CUstream stream = new_stream();
    find_control(&count_calls, "simcudaCallCount");
    keep_all(default_pool(0));
    REQUIRE_DONE(cu.cuMemFreeAsync(allocate(KIB, stream), stream));
    uint64_t before = count_calls(NULL);
    CUdeviceptr address = allocate(KIB, stream);
    uint64_t calls = count_calls(NULL) - before;
    REQUIRE(pool_at(address) == default_pool(0));
    REQUIRE_DONE(cu.cuMemFreeAsync(address, stream));
    return calls;
}

// The device goes on to allocate from ours, with no question of whose its pool is.
static void a_pool_of_the_driver_can_be_a_nodes_current_one(void) {
    start();
    CUmemoryPool drivers = drivers_pool_of(node), ours = pool_of(PINNED, node);
    CUmemoryPool standard = current_at(node, PINNED);
    make_current(node, PINNED, drivers);
    make_current(node, PINNED, ours);
    make_current(node, PINNED, drivers);
    REQUIRE(current_at(host, PINNED) != drivers && current_at(device, PINNED) != drivers);
    REQUIRE(calls_of_allocation() == 0);
    REQUIRE_DONE(cu.cuMemPoolDestroy(drivers));
    REQUIRE(current_at(node, PINNED) == standard);
    make_current(node, PINNED, ours);
    REQUIRE_DONE(cu.cuMemPoolDestroy(ours));
    REQUIRE(current_at(node, PINNED) == standard);
}

// A device has a current pool of managed memory beside that from which streams allocate.
static void a_managed_pool_leaves_the_devices_current_one(void) {
    CUmemoryPool found = NULL;
    start();
    CUmemoryPool drivers = drivers_pool_of(device), managed = pool_of(MANAGED, device);
    REQUIRE_DONE(cu.cuDeviceSetMemPool(0, drivers));
    REQUIRE_DONE(cu.cuDeviceSetMemPool(0, managed));
    REQUIRE_DONE(cu.cuDeviceGetMemPool(&found, 0));
    REQUIRE(found == drivers && current_at(device, MANAGED) == managed);
    CUdeviceptr address = allocate(MIB, NULL);
    REQUIRE(used(drivers) == MIB && used(managed) == 0);
    REQUIRE_DONE(cu.cuMemFreeAsync(address, NULL));
    make_current(device, PINNED, default_pool(0));
    REQUIRE(pool_at(allocate(KIB, NULL)) == default_pool(0));
    REQUIRE(current_at(device, MANAGED) == managed);
}

static void destroy_current_of(CUmemAllocationType type, CUmemLocation location) {
    CUmemoryPool standard = current_at(location, type), pool = pool_of(type, location);
    make_current(location, type, pool);
    REQUIRE_DONE(cu.cuMemPoolDestroy(pool));
    REQUIRE(current_at(location, type) == standard);
}

// CUDA makes a device's default pool that of managed memory without a place, and another than the
// default one that of the host, where other places have had other pools.
static void behind_a_destroyed_pool_the_default_one_of_its_place_is_current(void) {
    start();
    make_current(node, PINNED, pool_of(PINNED, node));
    make_current(device, PINNED, pool_of(PINNED, device));
    destroy_current_of(PINNED, host);
    destroy_current_of(MANAGED, (CUmemLocation){0, 0});
    destroy_current_of(MANAGED, device);
    destroy_current_of(MANAGED, host);
}

// ------------------------------------------------------------------------------------------
// streams

// What is printed to standard error from now on.
static int catch_errors(void) {
    int file = memfd_create("errors", 0);
    REQUIRE(file >= 0 && dup2(file, STDERR_FILENO) >= 0);
    return file;
}

static bool was_told(int file, const char *what) {
    char text[4096] = "";
    REQUIRE(pread(file, text, sizeof text - 1, 0) >= 0);
    return strstr(text, what) != NULL;
}

// Memory of a graph is the driver's. It is not taken of the device where a pool is of the host.
static void a_capture_takes_memory_of_the_place(void) {
    CUgraph graph = NULL;
    start();
    CUstream stream = new_stream();
    CUmemoryPool pool = pool_of(PINNED, host);
    CUdeviceptr before = allocate_from(pool, MIB, stream);
    int errors = catch_errors();
    REQUIRE_DONE(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    CUdeviceptr inside = allocate_from(pool, MIB, stream);
    REQUIRE(was_told(errors, "driver: cuMemAllocFromPoolAsync"));
    REQUIRE(!was_told(errors, "driver: cuMemAllocAsync"));
    REQUIRE_CODE(cu.cuMemFreeAsync(before, stream), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_DONE(cu.cuMemFreeAsync(inside, stream));
    REQUIRE_DONE(cu.cuStreamEndCapture(stream, &graph));
    REQUIRE(used(pool) == MIB);
    REQUIRE_DONE(cu.cuMemFreeAsync(before, stream));
}

static void the_driver_has_none_for_a_graph_of_the_host(void) {
    CUgraph graph = NULL;
    CUdeviceptr address = 0;
    start();
    CUstream stream = new_stream();
    CUmemoryPool pool = pool_of(PINNED, host);
    REQUIRE_DONE(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    REQUIRE_CODE(cu.cuMemAllocFromPoolAsync(&address, MIB, pool, stream), CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE_DONE(cu.cuStreamEndCapture(stream, &graph));
    allocate_from(pool, MIB, stream);
}

static CUmemoryPool shared;
static CUstream streams[2];

static void *use_without_context(void *unused) {
    CUdeviceptr address = 0;
    CUcontext context = NULL;
    (void)unused;
    REQUIRE_CODE(cu.cuMemAllocFromPoolAsync(&address, KIB, shared, NULL),
                 CUDA_ERROR_INVALID_CONTEXT);
    address = allocate_from(shared, 64 * MIB, streams[0]);
    *bytes_at(address) = 1;
    REQUIRE_DONE(cu.cuMemFreeAsync(address, streams[0]));
    REQUIRE_DONE(cu.cuCtxGetCurrent(&context));
    REQUIRE(!context);
    return NULL;
}

// As with CUDA's pools, a created stream needs no current context.
static void use_in_a_fresh_thread(const char *settings) {
    pthread_t thread;
    simulate(settings);
    start();
    streams[0] = new_stream();
    shared = pool_of(PINNED, host);
    REQUIRE(pthread_create(&thread, NULL, use_without_context, NULL) == 0);
    pthread_join(thread, NULL);
}

static void a_fresh_thread_needs_no_context(void) {
    use_in_a_fresh_thread("");
}

static void a_fresh_thread_needs_no_context_for_unmapped_memory(void) {
    use_in_a_fresh_thread("host_vmm=missing");
}

static CUresult device_pointer_of(CUdeviceptr address) {
    CUdeviceptr of_device = 0;
    return cu.cuPointerGetAttribute(&of_device, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address);
}

// No device is the pool's own. What a device is told depends on its access.
static void streams_of_all_devices_share_a_pool(void) {
    CUcontext contexts[2];
    simulate("devices=2");
    contexts[0] = start();
    REQUIRE_DONE(cu.cuDevicePrimaryCtxRetain(&contexts[1], 1));
    for (int i = 0; i < 2; i++) {
        REQUIRE_DONE(cu.cuCtxSetCurrent(contexts[i]));
        streams[i] = new_stream();
    }
    shared = pool_of(PINNED, host);
    keep_all(shared);
    CUdeviceptr address = allocate_from(shared, MIB, streams[0]);
    let_in(shared, 1);
    REQUIRE_DONE(device_pointer_of(address));
    REQUIRE_DONE(cu.cuMemGetAddressRange_v2(NULL, NULL, address));
    REQUIRE_DONE(cu.cuCtxSetCurrent(contexts[0]));
    REQUIRE_CODE(device_pointer_of(address), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_CODE(cu.cuMemGetAddressRange_v2(NULL, NULL, address), CUDA_ERROR_NOT_FOUND);
    REQUIRE_DONE(cu.cuMemFreeAsync(address, streams[1]));
    REQUIRE(allocate_from(shared, MIB, streams[1]) == address);
}

// -------------------------------------------------------------------------------------------
// memory

// The driver would free all of the piece that the block begins.
static void no_piece_of_ours_is_freed_as_the_hosts(void) {
    simulate("host_vmm=missing");
    start();
    CUstream stream = new_stream();
    CUdeviceptr address = allocate_from(pool_of(PINNED, host), 64 * MIB, stream);
    REQUIRE_CODE(cu.cuMemFreeHost(bytes_at(address)), CUDA_ERROR_INVALID_VALUE);
    memset(bytes_at(address), 1, 64 * MIB);
    REQUIRE_DONE(cu.cuMemFreeAsync(address, stream));
    REQUIRE_CODE(cu.cuMemFreeHost(bytes_at(address)), CUDA_ERROR_INVALID_VALUE);
}

static void other_memory_of_the_host_is_the_drivers(void) {
    unsigned int flags = 0;
    CUdeviceptr of_device = 0;
    void *memory = NULL;
    start();
    allocate_from(pool_of(PINNED, host), KIB, NULL);
    REQUIRE_DONE(cu.cuMemHostAlloc(&memory, KIB, 1));
    REQUIRE_DONE(cu.cuMemHostGetFlags(&flags, memory));
    REQUIRE_DONE(cu.cuMemHostGetDevicePointer_v2(&of_device, memory, 0));
    REQUIRE((flags & 1) && of_device == (uintptr_t)memory);
    REQUIRE_DONE(cu.cuMemFreeHost(memory));
    REQUIRE_CODE(cu.cuMemFreeHost(memory), CUDA_ERROR_INVALID_VALUE);
}

// CUDA tells of its pools of the host how far the block is from their memory's begin.
static void a_block_begins_at_its_address(void) {
    CUmemoryPool pools[3];
    start();
    pools[0] = pool_of(PINNED, host);
    pools[1] = pool_of(PINNED, node);
    pools[2] = pool_of(MANAGED, host);
    for (int i = 0; i < 3; i++) {
        uint64_t begin = 0, size = 0;
        allocate_from(pools[i], 1, NULL);
        CUdeviceptr address = allocate_from(pools[i], 1000, NULL);
        REQUIRE_DONE(
            cu.cuPointerGetAttribute(&begin, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address + 999));
        REQUIRE_DONE(
            cu.cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address + 999));
        REQUIRE(begin == address && size == 1000);
    }
}

// CUDA's pools count it as used for ever.
static void what_is_freed_at_once_is_not_in_use(void) {
    CUmemoryPool pools[3];
    start();
    pools[0] = pool_of(PINNED, host);
    pools[1] = pool_of(MANAGED, host);
    pools[2] = pool_of(PINNED, device);
    for (int i = 0; i < 3; i++) {
        CUdeviceptr address = allocate_from(pools[i], 100, NULL);
        REQUIRE(used(pools[i]) == 100);
        REQUIRE_DONE(cu.cuMemFree_v2(address));
        REQUIRE(used(pools[i]) == 0);
    }
}

// CCCL's tests of pools look at the pointer.
static void where_there_is_no_memory_there_is_no_pointer(void) {
    CUdeviceptr address = 1;
    start();
    REQUIRE_CODE(cu.cuMemAllocFromPoolAsync(&address, (size_t)1 << 50, pool_of(PINNED, host), NULL),
                 CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(address == 0);
    address = 1;
    REQUIRE_CODE(cu.cuMemAllocAsync(&address, (size_t)1 << 50, NULL), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(address == 0);
}

static void memory_outlives_its_pool(void) {
    uint64_t type = 0;
    start();
    CUmemoryPool pool = pool_of(PINNED, host);
    CUdeviceptr address = allocate_from(pool, KIB, NULL);
    let_in(pool, 0);
    REQUIRE_DONE(cu.cuMemPoolDestroy(pool));
    REQUIRE_DONE(cu.cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address));
    REQUIRE(type == 1 && pool_at(address) == NULL);
    REQUIRE_DONE(cu.cuMemGetAddressRange_v2(NULL, NULL, address));
    REQUIRE_DONE(cu.cuMemFreeAsync(address, NULL));
    REQUIRE_CODE(cu.cuMemGetAddressRange_v2(NULL, NULL, address), CUDA_ERROR_NOT_FOUND);
}

// Mapped memory is of no context. Other memory ends with it, and the program's calls go on.
static void reset_under(const char *settings, CUmemAllocationType type, CUmemLocation location) {
    CUcontext context = NULL;
    simulate(settings);
    start();
    CUmemoryPool pool = pool_of(type, location);
    CUstream stream = new_stream();
    keep_all(pool);
    CUdeviceptr left = allocate_from(pool, 4 * MIB, stream);
    REQUIRE_DONE(cu.cuMemFreeAsync(allocate_from(pool, MIB, stream), stream));
    REQUIRE_DONE(cu.cuDevicePrimaryCtxReset(0));
    REQUIRE_DONE(cu.cuDevicePrimaryCtxRetain(&context, 0));
    REQUIRE_DONE(cu.cuCtxSetCurrent(context));
    stream = new_stream();
    CUdeviceptr address = allocate_from(pool, MIB, stream);
    memset(bytes_at(address), 1, MIB);
    REQUIRE_DONE(cu.cuMemFreeAsync(left, stream));
    REQUIRE_DONE(cu.cuMemFreeAsync(address, stream));
    REQUIRE_CODE(cu.cuMemFreeAsync(left, stream), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_DONE(cu.cuMemPoolDestroy(pool));
}

static void a_pool_of_mapped_memory_outlives_a_reset(void) {
    reset_under("", PINNED, host);
}

static void a_pool_of_unmapped_memory_outlives_a_reset(void) {
    reset_under("host_vmm=missing", PINNED, host);
}

static void a_pool_of_managed_memory_outlives_a_reset(void) {
    reset_under("", MANAGED, device);
}

// The driver moves the memory, and knows nothing of blocks.
static void prefetches_and_advice_are_the_drivers(void) {
    start();
    CUstream stream = new_stream();
    CUdeviceptr address = allocate_from(pool_of(MANAGED, device), 4 * MIB, stream);
    REQUIRE_DONE(cu.cuMemPrefetchAsync_v2(address, 4 * MIB, device, 0, stream));
    REQUIRE_DONE(cu.cuMemPrefetchAsync_v2(address, 4 * MIB, host, 0, stream));
    REQUIRE_DONE(cu.cuMemAdvise_v2(address, 4 * MIB, 1, device));
    REQUIRE_DONE(cu.cuStreamSynchronize(stream));
    *bytes_at(address) = 1;
}

// ------------------------------------------------------------------------------------------
// devices

static int device_attribute(int attribute) {
    int value = 0;
    REQUIRE_DONE(cu.cuDeviceGetAttribute(&value, (CUdevice_attribute)attribute, 0));
    return value;
}

enum { POOLS_OF_NODES = 142, POOLS_OF_THE_HOST = 144 };

// The simulated driver has no pools of its own.
static void devices_have_pools_of_the_host(void) {
    start();
    REQUIRE(device_attribute(POOLS_OF_THE_HOST) == 1 && device_attribute(POOLS_OF_NODES) == 1);
}

static void unmapped_nodes_have_no_pools(void) {
    simulate("host_vmm=missing");
    start();
    REQUIRE(device_attribute(POOLS_OF_THE_HOST) == 1 && device_attribute(POOLS_OF_NODES) == 0);
}

// clang-format off
#define ROWS(X) \
    X(a_pool_of_the_driver_can_be_a_nodes_current_one) \
    X(a_managed_pool_leaves_the_devices_current_one) \
    X(behind_a_destroyed_pool_the_default_one_of_its_place_is_current) \
    X(a_capture_takes_memory_of_the_place) \
    X(the_driver_has_none_for_a_graph_of_the_host) \
    X(a_fresh_thread_needs_no_context) \
    X(a_fresh_thread_needs_no_context_for_unmapped_memory) \
    X(streams_of_all_devices_share_a_pool) \
    X(no_piece_of_ours_is_freed_as_the_hosts) \
    X(other_memory_of_the_host_is_the_drivers) \
    X(a_block_begins_at_its_address) \
    X(what_is_freed_at_once_is_not_in_use) \
    X(where_there_is_no_memory_there_is_no_pointer) \
    X(memory_outlives_its_pool) \
    X(a_pool_of_mapped_memory_outlives_a_reset) \
    X(a_pool_of_unmapped_memory_outlives_a_reset) \
    X(a_pool_of_managed_memory_outlives_a_reset) \
    X(prefetches_and_advice_are_the_drivers) \
    X(devices_have_pools_of_the_host) \
    X(unmapped_nodes_have_no_pools)
// clang-format on

MAIN(ROWS)
