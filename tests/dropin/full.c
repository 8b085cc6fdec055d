// full NAME: what happens under the drop-in on a device that is full, or on a full host.
#include "dropin/require.h"

#include <streampool/simcuda.h>
#include <streampool/streampool.h>
#include <sys/mman.h>

enum { CACHED = 192 * MIB, DEVICE = 256 * MIB };

// The shapes of arrays, as far as the simulated driver reads them.
struct shape {
    size_t sizes[3];
};

static CUdeviceptr address;

static CUresult by_alloc(size_t size) {
    return cu.cuMemAlloc_v2(&address, size);
}

static CUresult by_rows(size_t size) {
    size_t pitch;
    return cu.cuMemAllocPitch_v2(&address, &pitch, 1000, size / 1024, 4);
}

static CUresult by_managed(size_t size) {
    return cu.cuMemAllocManaged(&address, size, 1);
}

static CUresult by_create(size_t size) {
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle handle;
    return cu.cuMemCreate(&handle, size, &prop, 0);
}

static CUresult by_array(size_t size) {
    struct shape shape = {{size / 1024, 1024, 0}};
    return cu.cuArrayCreate_v2((CUarray *)(void *)&address,
                               (const struct CUDA_ARRAY_DESCRIPTOR_st *)(const void *)&shape);
}

static CUresult by_array3d(size_t size) {
    struct shape shape = {{size / 1024, 32, 32}};
    return cu.cuArray3DCreate_v2((CUarray *)(void *)&address,
                                 (const struct CUDA_ARRAY3D_DESCRIPTOR_st *)(const void *)&shape);
}

static CUresult by_mipmaps(size_t size) {
    struct shape shape = {{size / 1024, 32, 32}};
    return cu.cuMipmappedArrayCreate(
        (CUmipmappedArray *)(void *)&address,
        (const struct CUDA_ARRAY3D_DESCRIPTOR_st *)(const void *)&shape, 1);
}

// A pool that can be exported is the driver's.
static CUresult by_pool_of_the_driver(size_t size) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool;
    REQUIRE_DONE(cu.cuMemPoolCreate(&pool, &props));
    return cu.cuMemAllocFromPoolAsync(&address, size, pool, NULL);
}

static CUresult by_current_pool_of_the_driver(size_t size) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool;
    REQUIRE_DONE(cu.cuMemPoolCreate(&pool, &props));
    REQUIRE_DONE(cu.cuDeviceSetMemPool(0, pool));
    return cu.cuMemAllocAsync(&address, size, NULL);
}

static size_t reserved(void) {
    return pool_figure(default_pool(0), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

// Three quarters of the device are cached by the default pool.
static CUstream cache_most(const char *settings) {
    simulate(settings);
    start();
    CUstream stream = new_stream();
    keep_all(default_pool(0));
    CUdeviceptr cached = allocate(CACHED, stream);
    REQUIRE_DONE(cu.cuMemFreeAsync(cached, stream));
    return stream;
}

static void require_room_for(CUresult (*request)(size_t size)) {
    cache_most("memory=256M");
    REQUIRE_DONE(cu.cuCtxSynchronize());
    REQUIRE(reserved() >= CACHED);
    REQUIRE_DONE(request(128 * MIB));
    REQUIRE(reserved() <= DEVICE - 128 * MIB);
}

static void there_is_room_for_memory(void) {
    require_room_for(by_alloc);
}

static void there_is_room_for_rows(void) {
    require_room_for(by_rows);
}

static void there_is_room_for_managed_memory(void) {
    require_room_for(by_managed);
}

static void there_is_room_for_a_handle(void) {
    require_room_for(by_create);
}

static void there_is_room_for_an_array(void) {
    require_room_for(by_array);
}

static void there_is_room_for_a_deep_array(void) {
    require_room_for(by_array3d);
}

static void there_is_room_for_mipmaps(void) {
    require_room_for(by_mipmaps);
}

static void there_is_room_for_a_pool_of_the_driver(void) {
    require_room_for(by_pool_of_the_driver);
}

static void there_is_room_for_the_drivers_current_pool(void) {
    require_room_for(by_current_pool_of_the_driver);
}

// What is missing are 16 MiB, in pieces of the size in which the pool has got its memory.
static void no_more_is_given_than_is_missing(void) {
    simulate("memory=256M");
    start();
    CUstream stream = new_stream();
    CUdeviceptr cached[6];
    keep_all(default_pool(0));
    for (int i = 0; i < 6; i++)
        cached[i] = allocate(32 * MIB, stream);
    for (int i = 0; i < 6; i++)
        REQUIRE_DONE(cu.cuMemFreeAsync(cached[i], stream));
    REQUIRE_DONE(cu.cuCtxSynchronize());
    size_t before = reserved();
    REQUIRE_DONE(by_alloc(80 * MIB));
    REQUIRE(before - reserved() >= 16 * MIB && before - reserved() <= 64 * MIB);
    REQUIRE_DONE(cu.cuMemFree_v2(address));
}

static void require_nothing_given_to(CUresult (*request)(size_t size), size_t size) {
    cache_most("memory=256M");
    REQUIRE_DONE(cu.cuCtxSynchronize());
    size_t before = reserved();
    REQUIRE_CODE(request(size), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(reserved() == before);
}

// The device hasn't got as much at all.
static void nothing_is_given_in_vain(void) {
    require_nothing_given_to(by_alloc, (size_t)1 << 50);
    REQUIRE_CODE(by_rows((size_t)1 << 50), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_CODE(by_managed(DEVICE + 1), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_CODE(by_create(2 * (size_t)DEVICE), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(reserved() >= CACHED);
}

static CUresult by_create_at(CUmemLocation location, size_t size) {
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED, .location = location};
    CUmemGenericAllocationHandle handle;
    return cu.cuMemCreate(&handle, size, &prop, 0);
}

static const CUmemLocation host = {CU_MEM_LOCATION_TYPE_HOST, 0};
static const CUmemLocation node = {CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};

static CUresult by_create_of_host(size_t size) {
    return by_create_at(host, size);
}

static void fail_next(const char *entry) {
    int (*fail)(const char *, uint64_t, simcudaFaultSpan, int);
    find_control(&fail, "simcudaFailCall");
    REQUIRE(fail(entry, 1, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY) == 0);
}

// The host has too little, not the device.
static void memory_of_the_host_takes_none_of_ours(void) {
    cache_most("memory=256M");
    REQUIRE_DONE(cu.cuCtxSynchronize());
    fail_next("cuMemCreate");
    REQUIRE_CODE(by_create_of_host(2 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(reserved() >= CACHED);
}

// A failure that more room doesn't cure is told, and asks for no end.
static void a_failure_that_stays_is_told(void) {
    cache_most("memory=256M");
    REQUIRE_DONE(cu.cuCtxSynchronize());
    fail_next("cuMemAlloc");
    REQUIRE_CODE(by_alloc(128 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_CODE(by_array(MIB), CUDA_ERROR_OUT_OF_MEMORY);
}

static void live_memory_is_not_given(void) {
    simulate("memory=256M");
    start();
    CUdeviceptr live = allocate(CACHED, NULL);
    REQUIRE_CODE(by_alloc(128 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_DONE(cu.cuMemsetD8Async(live, 1, CACHED, NULL));
    REQUIRE_DONE(cu.cuCtxSynchronize());
}

// Without a pool of ours the driver's answer stands.
static void nothing_starts_for_it(void) {
    simulate("memory=256M");
    start();
    REQUIRE_CODE(by_alloc(512 * (size_t)MIB), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_DONE(by_alloc(MIB));
}

static void another_device_keeps_what_it_has(void) {
    CUcontext first = NULL, second = NULL;
    simulate("devices=2,memory=256M");
    first = start();
    REQUIRE_DONE(cu.cuDevicePrimaryCtxRetain(&second, 1));
    keep_all(default_pool(0));
    keep_all(default_pool(1));
    REQUIRE_DONE(cu.cuCtxSetCurrent(second));
    REQUIRE_DONE(cu.cuMemFreeAsync(allocate(CACHED, NULL), NULL));
    REQUIRE_DONE(cu.cuCtxSynchronize());
    REQUIRE_DONE(cu.cuCtxSetCurrent(first));
    REQUIRE_DONE(cu.cuMemFreeAsync(allocate(CACHED, NULL), NULL));
    REQUIRE_DONE(cu.cuCtxSynchronize());
    REQUIRE_DONE(by_alloc(128 * MIB));
    REQUIRE(reserved() <= DEVICE - 128 * MIB);
    REQUIRE(pool_figure(default_pool(1), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= CACHED);
    // A handle is of the device that it names.
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 1}};
    CUmemGenericAllocationHandle handle;
    REQUIRE_DONE(cu.cuMemCreate(&handle, 128 * MIB, &prop, 0));
    REQUIRE(pool_figure(default_pool(1), CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) <=
            DEVICE - 128 * MIB);
}

// ----------------------------------------------------------------------------------------- pending

static void enqueue_work(CUstream stream) {
    int (*enqueue)(CUstream, const simcudaWork *);
    simcudaWork work = {.name = "work", .duration = 1000000};
    find_control(&enqueue, "simcudaEnqueue");
    REQUIRE(enqueue(stream, &work) == 0);
}

// Work completes only when somebody waits for it, and the free stands behind it.
static CUstream cache_behind_work(void) {
    simulate("memory=256M,completion=latest,patience=0");
    start();
    CUstream stream = new_stream();
    keep_all(default_pool(0));
    CUdeviceptr cached = allocate(CACHED, stream);
    enqueue_work(stream);
    REQUIRE_DONE(cu.cuMemFreeAsync(cached, stream));
    REQUIRE_CODE(cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    return stream;
}

// cuMemAlloc may wait for work by itself.
static void pending_memory_is_waited_for(void) {
    CUstream stream = cache_behind_work();
    REQUIRE_DONE(by_alloc(128 * MIB));
    REQUIRE_DONE(cu.cuStreamQuery(stream));
}

static void calls_that_never_wait_leave_it(void) {
    CUstream stream = cache_behind_work();
    REQUIRE_CODE(by_create(128 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_CODE(by_pool_of_the_driver(128 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_CODE(cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
}

// Nobody waits for what wouldn't be enough.
static void no_wait_is_in_vain(void) {
    CUstream stream = cache_behind_work();
    REQUIRE_CODE(by_alloc(DEVICE + MIB), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_CODE(cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
}

static void a_capture_goes_on(void) {
    CUgraph graph = NULL;
    cache_behind_work();
    CUstream capturing = new_stream();
    REQUIRE_DONE(cu.cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_RELAXED));
    REQUIRE_DONE(by_alloc(128 * MIB));
    REQUIRE_DONE(cu.cuStreamEndCapture(capturing, &graph));
    REQUIRE(graph);
}

// ---------------------------------------------------------------------------------------- the host

static void *memory;

static CUresult by_host_alloc(size_t size) {
    return cu.cuMemHostAlloc(&memory, size, 0);
}

static CUresult by_alloc_host(size_t size) {
    return cu.cuMemAllocHost_v2(&memory, size);
}

static CUresult by_register(size_t size) {
    memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(memory != MAP_FAILED);
    return cu.cuMemHostRegister_v2(memory, size, 0);
}

static CUresult by_create_of_node(size_t size) {
    return by_create_at(node, size);
}

// Frees are complete only when somebody waits for them. Three quarters of the host are the pool's.
static CUmemoryPool cache_on_host(CUmemLocation location, unsigned short usage, CUstream *stream) {
    CUmemPoolProps props = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = location, .usage = usage};
    const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                    CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemoryPool pool;
    CUdeviceptr cached;
    simulate("memory=256M,host_memory=256M,completion=latest,patience=0");
    start();
    *stream = new_stream();
    REQUIRE_DONE(cu.cuMemPoolCreate(&pool, &props));
    REQUIRE_DONE(cu.cuMemPoolSetAccess(pool, &access, 1));
    keep_all(pool);
    REQUIRE_DONE(cu.cuMemAllocFromPoolAsync(&cached, CACHED, pool, *stream));
    enqueue_work(*stream);
    REQUIRE_DONE(cu.cuMemFreeAsync(cached, *stream));
    REQUIRE_CODE(cu.cuStreamQuery(*stream), CUDA_ERROR_NOT_READY);
    return pool;
}

static size_t reserved_by(CUmemoryPool pool) {
    return pool_figure(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}

static void require_room_on_host_for(CUresult (*request)(size_t size), CUmemLocation location,
                                     unsigned short usage) {
    CUstream stream;
    CUmemoryPool pool = cache_on_host(location, usage, &stream);
    REQUIRE_DONE(cu.cuStreamSynchronize(stream));
    REQUIRE(reserved_by(pool) >= CACHED);
    REQUIRE_CODE(request(258 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(reserved_by(pool) >= CACHED);
    REQUIRE_DONE(request(128 * MIB));
    REQUIRE(reserved_by(pool) <= 256 * MIB - 128 * MIB);
}

static void the_host_has_room_for_pinned_memory(void) {
    require_room_on_host_for(by_host_alloc, host, 0);
}

static void the_host_has_room_for_memory_of_the_older_call(void) {
    require_room_on_host_for(by_alloc_host, host, 0);
}

static void the_host_has_room_for_a_registration(void) {
    require_room_on_host_for(by_register, host, 0);
}

static void the_host_has_room_for_a_handle(void) {
    require_room_on_host_for(by_create_of_host, host, 0);
}

static void the_host_has_room_for_a_handle_of_a_node(void) {
    require_room_on_host_for(by_create_of_node, node, 0);
}

static void the_host_has_room_for_managed_memory(void) {
    require_room_on_host_for(by_managed, host, 0);
}

static void a_pool_of_a_node_makes_room_on_the_host(void) {
    require_room_on_host_for(by_host_alloc, node, 0);
}

static void a_pool_for_staging_makes_room_on_the_host(void) {
    require_room_on_host_for(by_host_alloc, host, poolMemPoolUsageStaging);
}

// It waits for work by itself. Others don't. The pool is of another place of the host.
static void pinned_memory_waits_for_what_is_pending(void) {
    CUstream stream;
    CUmemoryPool pool = cache_on_host(node, 0, &stream), other;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = host};
    REQUIRE_DONE(cu.cuMemPoolCreate(&other, &props));
    REQUIRE_CODE(by_register(128 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_CODE(by_create_of_host(128 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_CODE(by_host_alloc(256 * MIB), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE_CODE(cu.cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    REQUIRE_DONE(by_host_alloc(128 * MIB));
    REQUIRE_DONE(cu.cuStreamQuery(stream));
    REQUIRE(reserved_by(pool) <= 256 * MIB - 128 * MIB);
}

static void a_full_host_takes_nothing_of_a_device(void) {
    CUstream stream;
    CUmemoryPool pool = cache_on_host(host, 0, &stream);
    keep_all(default_pool(0));
    REQUIRE_DONE(cu.cuMemFreeAsync(allocate(64 * MIB, stream), stream));
    REQUIRE_DONE(cu.cuStreamSynchronize(stream));
    REQUIRE_DONE(by_host_alloc(128 * MIB));
    REQUIRE(reserved() >= 64 * MIB);
    size_t before = reserved_by(pool);
    REQUIRE_DONE(by_alloc(224 * MIB)); // and a full device nothing of the host
    REQUIRE(reserved_by(pool) == before);
}

// The system says that the host has more than that, so the refusal is about something else.
static void a_refusal_of_the_host_that_stays_is_told(void) {
    CUstream stream;
    CUmemoryPool pool = cache_on_host(host, 0, &stream);
    REQUIRE_DONE(cu.cuStreamSynchronize(stream));
    fail_next("cuMemHostAlloc");
    REQUIRE_CODE(by_host_alloc(MIB), CUDA_ERROR_OUT_OF_MEMORY);
    REQUIRE(reserved_by(pool) == 0);
    REQUIRE_CODE(by_host_alloc(MIB), CUDA_ERROR_OUT_OF_MEMORY);
}

// clang-format off
#define ROWS(X) \
    X(there_is_room_for_memory) \
    X(there_is_room_for_rows) \
    X(there_is_room_for_managed_memory) \
    X(there_is_room_for_a_handle) \
    X(there_is_room_for_an_array) \
    X(there_is_room_for_a_deep_array) \
    X(there_is_room_for_mipmaps) \
    X(there_is_room_for_a_pool_of_the_driver) \
    X(there_is_room_for_the_drivers_current_pool) \
    X(no_more_is_given_than_is_missing) \
    X(nothing_is_given_in_vain) \
    X(memory_of_the_host_takes_none_of_ours) \
    X(a_failure_that_stays_is_told) \
    X(live_memory_is_not_given) \
    X(nothing_starts_for_it) \
    X(another_device_keeps_what_it_has) \
    X(pending_memory_is_waited_for) \
    X(calls_that_never_wait_leave_it) \
    X(no_wait_is_in_vain) \
    X(a_capture_goes_on) \
    X(the_host_has_room_for_pinned_memory) \
    X(the_host_has_room_for_memory_of_the_older_call) \
    X(the_host_has_room_for_a_registration) \
    X(the_host_has_room_for_a_handle) \
    X(the_host_has_room_for_a_handle_of_a_node) \
    X(the_host_has_room_for_managed_memory) \
    X(a_pool_of_a_node_makes_room_on_the_host) \
    X(a_pool_for_staging_makes_room_on_the_host) \
    X(pinned_memory_waits_for_what_is_pending) \
    X(a_full_host_takes_nothing_of_a_device) \
    X(a_refusal_of_the_host_that_stays_is_told)
// clang-format on

MAIN(ROWS)
