// pointer NAME: what the driver's calls say of pointers, under the drop-in.
#include "dropin/require.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

static uint64_t attribute_of(CUdeviceptr address, CUpointer_attribute attribute) {
    uint64_t value = 0;
    REQUIRE_DONE(cu.cuPointerGetAttribute(&value, attribute, address));
    return value;
}

#define ATTRIBUTE(name, address) attribute_of(address, CU_POINTER_ATTRIBUTE_##name)

static uint64_t number_of(CUdeviceptr address) {
    return ATTRIBUTE(BUFFER_ID, address);
}

// --------------------------------------------------------------------------------------- of a pool

enum { ATTRIBUTES = 21 };

// Each attribute is the same in both forms, wherever in the allocation the address is.
static void both_forms_answer_alike(void) {
    start();
    CUdeviceptr base = allocate(3 * MIB, NULL);
    for (int i = 1; i <= ATTRIBUTES; i++) {
        uint64_t one = 0, other = 0;
        CUpointer_attribute attribute = (CUpointer_attribute)i;
        void *values[] = {&other};
        CUresult result = cu.cuPointerGetAttribute(&one, attribute, base + 2 * MIB);
        REQUIRE_DONE(cu.cuPointerGetAttributes(1, &attribute, values, base + 2 * MIB));
        REQUIRE(result == CUDA_SUCCESS ? one == other : other == 0);
    }
    REQUIRE(ATTRIBUTE(RANGE_START_ADDR, base + 2 * MIB) == base);
    REQUIRE(ATTRIBUTE(RANGE_SIZE, base + 2 * MIB) == 3 * MIB);
}

// To the driver both lie in one piece of memory, which has one number.
static void neighbours_are_two_allocations(void) {
    start();
    CUdeviceptr one = allocate(1000, NULL), other = allocate(1000, NULL), base = 0;
    size_t size = 0;
    REQUIRE(number_of(one) != number_of(other));
    REQUIRE_DONE(cu.cuMemGetAddressRange_v2(&base, NULL, other + 999));
    REQUIRE_DONE(cu.cuMemGetAddressRange_v2(NULL, &size, other + 999));
    REQUIRE_DONE(cu.cuMemGetAddressRange_v2(NULL, NULL, other + 999));
    REQUIRE(base == other && size == 1000);
}

// It lies on the host, but for the program, which asked for memory of the device.
static void memory_that_overflowed_is_the_devices(void) {
    simulate("memory=64M");
    setenv("STREAMPOOL_POOL", "HostOverflowMax=64M", 1);
    start();
    CUdeviceptr held = allocate(60 * MIB, NULL), there = allocate(32 * MIB, NULL), base = 0;
    size_t size = 0;
    REQUIRE(held && ATTRIBUTE(MEMPOOL_HANDLE, there) == (uintptr_t)default_pool(0));
    REQUIRE(ATTRIBUTE(MEMORY_TYPE, there) == CU_MEMORYTYPE_DEVICE);
    REQUIRE(ATTRIBUTE(DEVICE_ORDINAL, there + MIB) == 0);
    REQUIRE_DONE(cu.cuMemGetAddressRange_v2(&base, &size, there + MIB));
    REQUIRE(base == there && size == 32 * MIB);
    REQUIRE_DONE(cu.cuMemsetD8Async(there, 1, 32 * MIB, NULL));
    REQUIRE_DONE(cu.cuMemFreeAsync(there, NULL));
    REQUIRE_DONE(cu.cuCtxSynchronize());
}

static void a_pool_is_the_one_that_the_program_knows(void) {
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemoryPool pool = NULL;
    CUdeviceptr address = 0;
    start();
    REQUIRE_DONE(cu.cuMemPoolCreate(&pool, &props));
    REQUIRE_DONE(cu.cuMemAllocFromPoolAsync(&address, KIB, pool, NULL));
    REQUIRE(ATTRIBUTE(MEMPOOL_HANDLE, address) == (uintptr_t)pool);
    REQUIRE_DONE(cu.cuMemPoolDestroy(pool));
    REQUIRE(ATTRIBUTE(MEMPOOL_HANDLE, address) == 0);
    REQUIRE(ATTRIBUTE(RANGE_SIZE, address) == KIB);
}

// --------------------------------------------------------------------------- what is no allocation

static void require_nothing_at(CUdeviceptr address) {
    uint64_t values[4] = {77, 77, 77, 77}, value = 77;
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE, CU_POINTER_ATTRIBUTE_BUFFER_ID};
    void *places[] = {&values[0], &values[1], &values[2], &values[3]};
    unsigned int set = 1;
    char handle[64];
    int file;
    CUmemGenericAllocationHandle memory;
    for (int i = 1; i <= ATTRIBUTES; i++)
        REQUIRE_CODE(cu.cuPointerGetAttribute(&value, (CUpointer_attribute)i, address),
                     CUDA_ERROR_INVALID_VALUE);
    REQUIRE(value == 77);
    REQUIRE_DONE(cu.cuPointerGetAttributes(4, attributes, places, address));
    REQUIRE((unsigned int)values[0] == 0 && values[1] == 0 && values[2] == 0 && values[3] == 0);
    REQUIRE_CODE(cu.cuPointerSetAttribute(&set, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address),
                 CUDA_ERROR_INVALID_VALUE);
    REQUIRE_CODE(cu.cuMemGetAddressRange_v2(NULL, NULL, address), CUDA_ERROR_NOT_FOUND);
    REQUIRE_CODE(cu.cuMemRetainAllocationHandle(&memory, (void *)(uintptr_t)address),
                 CUDA_ERROR_INVALID_VALUE);
    REQUIRE_CODE(cu.cuIpcGetMemHandle((struct CUipcMemHandle_st *)(void *)handle, address),
                 CUDA_ERROR_INVALID_VALUE);
    REQUIRE_CODE(cu.cuMemGetHandleForAddressRange(&file, address & ~(CUdeviceptr)4095, 4096,
                                                  CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
                 CUDA_ERROR_INVALID_VALUE);
}

// The pool keeps the memory, and the driver knows it as mapped.
static void freed_memory_is_nothing(void) {
    start();
    keep_all(default_pool(0));
    CUdeviceptr address = allocate(4 * MIB, NULL);
    number_of(address);
    REQUIRE_DONE(cu.cuMemFreeAsync(address, NULL));
    require_nothing_at(address);
    require_nothing_at(address + MIB);
    REQUIRE_DONE(cu.cuCtxSynchronize());
    require_nothing_at(address);
}

// A small block has more bytes than were asked for, and its piece of memory has more blocks.
static void bytes_beyond_an_allocation_are_nothing(void) {
    uint64_t value;
    start();
    CUdeviceptr address = allocate(1, NULL);
    REQUIRE(ATTRIBUTE(MAPPED, address) == 1);
    REQUIRE_CODE(cu.cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address + 1),
                 CUDA_ERROR_INVALID_VALUE);
    REQUIRE_CODE(cu.cuMemGetAddressRange_v2(NULL, NULL, address + 1), CUDA_ERROR_NOT_FOUND);
    require_nothing_at(address + 64 * KIB);
}

// -------------------------------------------------------------------------------------- the number

enum { MANY = 300 };

static bool is_among(uint64_t number, const uint64_t numbers[], int count) {
    for (int i = 0; i < count; i++) {
        if (numbers[i] == number)
            return true;
    }
    return false;
}

// The distances between allocations are irregular.
static size_t size_of(int i) {
    return (size_t)(1 + i * i % 61) * 512;
}

// Half of many allocations are freed, in an order of their own, and others come to their places.
static void no_number_comes_back(void) {
    CUdeviceptr addresses[MANY];
    uint64_t numbers[2 * MANY];
    start();
    keep_all(default_pool(0));
    for (int i = 0; i < MANY; i++) {
        addresses[i] = allocate(size_of(i), NULL);
        numbers[i] = number_of(addresses[i]);
        REQUIRE(!is_among(numbers[i], numbers, i));
    }
    for (int i = 0; i < MANY; i += 2)
        REQUIRE_DONE(i % 3 ? cu.cuMemFreeAsync(addresses[i * 7 % MANY / 2 * 2], NULL)
                           : cu.cuMemFree_v2(addresses[i * 7 % MANY / 2 * 2]));
    for (int i = 1; i < MANY; i += 2)
        REQUIRE(number_of(addresses[i] + 7) == numbers[i]);
    for (int i = 0; i < MANY; i += 2) {
        numbers[MANY + i / 2] = number_of(allocate(size_of(i), NULL));
        REQUIRE(!is_among(numbers[MANY + i / 2], numbers, MANY + i / 2));
    }
}

// A free that is refused leaves the allocation as it was.
static void a_number_outlives_a_free_that_fails(void) {
    CUgraph graph = NULL;
    unsigned int set = 1;
    start();
    CUstream stream = new_stream();
    CUdeviceptr address = allocate(KIB, stream);
    uint64_t number = number_of(address);
    REQUIRE_DONE(cu.cuPointerSetAttribute(&set, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    REQUIRE_DONE(cu.cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    REQUIRE_CODE(cu.cuMemFreeAsync(address, stream), CUDA_ERROR_INVALID_VALUE);
    REQUIRE_DONE(cu.cuStreamEndCapture(stream, &graph));
    REQUIRE_CODE(cu.cuMemFreeAsync(address + 1, stream), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(number_of(address) == number && ATTRIBUTE(SYNC_MEMOPS, address) == 1);
    REQUIRE_DONE(cu.cuStreamDestroy_v2(stream));
    REQUIRE(number_of(address) == number);
}

static void *ask_often(void *unused) {
    (void)unused;
    CUstream stream = new_stream();
    for (int i = 0; i < 200; i++) {
        CUdeviceptr address = allocate(KIB, stream), other = allocate(3 * MIB, stream);
        uint64_t number = number_of(address);
        REQUIRE(number_of(other) != number && number_of(address) == number);
        REQUIRE_DONE(cu.cuMemFreeAsync(other, stream));
        REQUIRE_DONE(cu.cuMemFreeAsync(address, stream));
    }
    return NULL;
}

static void *ask_in_context(void *context) {
    REQUIRE_DONE(cu.cuCtxSetCurrent(context));
    return ask_often(NULL);
}

static void threads_ask_at_once(void) {
    pthread_t threads[4];
    CUcontext context = start();
    for (int i = 0; i < 4; i++)
        REQUIRE(pthread_create(&threads[i], NULL, ask_in_context, context) == 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static _Atomic bool over;
static CUdeviceptr asked;

// A free that fails looks for what was noted, and calls no driver.
static void *free_in_vain_until_it_is_over(void *unused) {
    (void)unused;
    while (!over)
        REQUIRE_CODE(cu.cuMemFree_v2(asked + 1), CUDA_ERROR_INVALID_VALUE);
    return NULL;
}

// Locks that other threads of the parent held stay taken in the child.
static void a_forked_child_is_refused(void) {
    pthread_t threads[2];
    uint64_t value = 0;
    start();
    asked = allocate(KIB, NULL);
    number_of(asked);
    for (int i = 0; i < 2; i++)
        REQUIRE(pthread_create(&threads[i], NULL, free_in_vain_until_it_is_over, NULL) == 0);
    for (int i = 0; i < 30; i++) {
        int status = 1;
        pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            REQUIRE_CODE(cu.cuMemFreeAsync(asked, NULL), CUDA_ERROR_NOT_INITIALIZED);
            REQUIRE_CODE(cu.cuMemFree_v2(asked), CUDA_ERROR_NOT_INITIALIZED);
            REQUIRE_CODE(cu.cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_BUFFER_ID, asked),
                         CUDA_ERROR_NOT_INITIALIZED);
            _exit(0);
        }
        REQUIRE(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
                WEXITSTATUS(status) == 0);
    }
    over = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
}

// ------------------------------------------------------------------------------ synchronous copies

static unsigned int context_flags(void) {
    unsigned int flags = 0;
    REQUIRE_DONE(cu.cuCtxGetFlags(&flags));
    return flags;
}

// Virtual memory has no such attribute, and the driver refuses it.
static void copies_can_be_made_synchronous(void) {
    unsigned int on = 1, off = 0;
    start();
    REQUIRE_DONE(cu.cuCtxSetFlags(4));
    CUdeviceptr address = allocate(MIB, NULL), other = allocate(MIB, NULL);
    REQUIRE_DONE(cu.cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    REQUIRE(context_flags() == 4);
    REQUIRE_DONE(cu.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address + KIB));
    REQUIRE(context_flags() == (4 | CU_CTX_SYNC_MEMOPS));
    REQUIRE(ATTRIBUTE(SYNC_MEMOPS, address) == 1 && ATTRIBUTE(SYNC_MEMOPS, other) == 0);
    REQUIRE_DONE(cu.cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    REQUIRE(ATTRIBUTE(SYNC_MEMOPS, address) == 0);
    REQUIRE_CODE(cu.cuPointerSetAttribute(NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address),
                 CUDA_ERROR_INVALID_VALUE);
    REQUIRE_CODE(cu.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_BUFFER_ID, address),
                 CUDA_ERROR_INVALID_VALUE);
}

// The next allocation at the address begins anew.
static void what_was_set_ends_with_the_allocation(void) {
    unsigned int on = 1;
    start();
    keep_all(default_pool(0));
    CUdeviceptr before = allocate(MIB, NULL);
    REQUIRE_DONE(cu.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, before));
    REQUIRE_DONE(cu.cuMemFreeAsync(before, NULL));
    CUdeviceptr address = allocate(MIB, NULL);
    REQUIRE(address == before && ATTRIBUTE(SYNC_MEMOPS, address) == 0);
}

// -------------------------------------------------------------------------------- memory of others

static void other_memory_is_the_drivers(void) {
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    CUmemGenericAllocationHandle handle, retained;
    CUdeviceptr address = 0, range = 0;
    unsigned int on = 1;
    char ipc[64];
    start();
    allocate(KIB, NULL);
    REQUIRE_DONE(cu.cuMemAlloc_v2(&address, 5 * KIB));
    REQUIRE(ATTRIBUTE(IS_LEGACY_CUDA_IPC_CAPABLE, address) == 1);
    REQUIRE(ATTRIBUTE(CONTEXT, address) != 0 && ATTRIBUTE(MEMPOOL_HANDLE, address) == 0);
    REQUIRE_DONE(cu.cuIpcGetMemHandle((struct CUipcMemHandle_st *)(void *)ipc, address));
    REQUIRE_DONE(cu.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, address));
    REQUIRE(ATTRIBUTE(SYNC_MEMOPS, address) == 1 && context_flags() == 0);
    REQUIRE_DONE(cu.cuMemFree_v2(address));
    require_nothing_at((CUdeviceptr)(uintptr_t)&prop);

    REQUIRE_DONE(cu.cuMemAddressReserve(&range, 2 * MIB, 0, 0, 0));
    REQUIRE_DONE(cu.cuMemCreate(&handle, 2 * MIB, &prop, 0));
    REQUIRE_DONE(cu.cuMemMap(range, 2 * MIB, 0, handle, 0));
    REQUIRE_DONE(cu.cuMemRetainAllocationHandle(&retained, (void *)(uintptr_t)range));
    REQUIRE_CODE(cu.cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, range),
                 CUDA_ERROR_NOT_SUPPORTED);
}

// A range of whole pages around an allocation can be exported, and nothing beyond.
static void an_allocation_is_exported_and_no_more(void) {
    int file = 0;
    start();
    CUdeviceptr large = allocate(4 * MIB, NULL), small = allocate(KIB, NULL);
    CUmemRangeHandleType type = CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD;
    REQUIRE_DONE(cu.cuMemGetHandleForAddressRange(&file, large, 4 * MIB, type, 0));
    REQUIRE(file > 1000);
    REQUIRE_DONE(cu.cuMemGetHandleForAddressRange(&file, large + MIB, MIB, type, 0));
    REQUIRE_CODE(cu.cuMemGetHandleForAddressRange(&file, large, 4 * MIB + 4096, type, 0),
                 CUDA_ERROR_INVALID_VALUE);
    REQUIRE_CODE(cu.cuMemGetHandleForAddressRange(&file, large, (size_t)-4096, type, 0),
                 CUDA_ERROR_INVALID_VALUE);
    REQUIRE_DONE(
        cu.cuMemGetHandleForAddressRange(&file, small & ~(CUdeviceptr)4095, 4096, type, 0));
    REQUIRE_CODE(cu.cuMemGetHandleForAddressRange(&file, small, 4096, type, 5),
                 CUDA_ERROR_INVALID_VALUE);
}

// -------------------------------------------------------------------------------- the older driver

// It says nothing of virtual memory.
static void the_driver_lacks_attributes_of_pools(void) {
    uint64_t value;
    CUmemoryPool pool = NULL;
    start();
    CUdeviceptr address = allocate(KIB, NULL);
    REQUIRE(!cu.cuPointerSetAttribute && !cu.cuMemGetAddressRange_v2);
    REQUIRE(ATTRIBUTE(RANGE_SIZE, address) == KIB && number_of(address) == number_of(address));
    REQUIRE_DONE(cu.cuDeviceGetMemPool(&pool, 0));
    REQUIRE(ATTRIBUTE(MEMPOOL_HANDLE, address) == (uintptr_t)pool);
    REQUIRE_CODE(cu.cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address),
                 CUDA_ERROR_NOT_SUPPORTED);
    REQUIRE_CODE(cu.cuPointerGetAttribute(NULL, CU_POINTER_ATTRIBUTE_RANGE_SIZE, address),
                 CUDA_ERROR_INVALID_VALUE);
}

static CUresult device_attribute(CUdevice_attribute attribute, int *value) {
    *value = 77;
    return cu.cuDeviceGetAttribute(value, attribute, 0);
}

// Pools are there where the driver has none; handles of them for other processes aren't.
static void the_driver_lacks_pools_and_we_have_them(void) {
    int value = 0;
    simulate("api=11000"); // which doesn't know the question either
    find_calls("dlsym", NULL);
    REQUIRE_CODE(device_attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &value),
                 CUDA_ERROR_NOT_INITIALIZED);
    REQUIRE_DONE(cu.cuInit(0));
    REQUIRE_DONE(device_attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &value));
    REQUIRE(value == 1);
    REQUIRE_DONE(device_attribute(CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, &value));
    REQUIRE(value == 0);
    REQUIRE_DONE(device_attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &value));
    REQUIRE(value == 132);
    REQUIRE_CODE(cu.cuDeviceGetAttribute(NULL, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 0),
                 CUDA_ERROR_INVALID_VALUE);
    REQUIRE_CODE(cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 17),
                 CUDA_ERROR_INVALID_DEVICE);
    REQUIRE_CODE(device_attribute((CUdevice_attribute)9999, &value), CUDA_ERROR_INVALID_VALUE);
    start();
    REQUIRE(allocate(KIB, NULL));
}

// Our pools are there without virtual memory management, too.
static void the_driver_lacks_virtual_memory_and_we_have_pools(void) {
    int value = 0;
    CUdeviceptr address = 0;
    simulate("vmm=missing");
    start();
    REQUIRE_DONE(device_attribute(CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, &value));
    REQUIRE(value == 1);
    REQUIRE_DONE(cu.cuMemAllocAsync(&address, 1000, NULL));
    REQUIRE_DONE(cu.cuMemFreeAsync(address, NULL));
    REQUIRE(cu.cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 99) !=
            CUDA_SUCCESS);
}

// clang-format off
#define ROWS(X) \
    X(both_forms_answer_alike) \
    X(neighbours_are_two_allocations) \
    X(memory_that_overflowed_is_the_devices) \
    X(a_pool_is_the_one_that_the_program_knows) \
    X(freed_memory_is_nothing) \
    X(bytes_beyond_an_allocation_are_nothing) \
    X(no_number_comes_back) \
    X(a_number_outlives_a_free_that_fails) \
    X(threads_ask_at_once) \
    X(a_forked_child_is_refused) \
    X(copies_can_be_made_synchronous) \
    X(what_was_set_ends_with_the_allocation) \
    X(other_memory_is_the_drivers) \
    X(an_allocation_is_exported_and_no_more) \
    X(the_driver_lacks_attributes_of_pools) \
    X(the_driver_lacks_pools_and_we_have_them) \
    X(the_driver_lacks_virtual_memory_and_we_have_pools)
// clang-format on

MAIN(ROWS)
