// Rows that bring about what no real device does on demand: refused calls, missing features, little
// address space.
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <string.h>

#include "conformance/rows.h"
#include "support/check.h"
#include "support/device.h"
#include "support/places.h"
#include "support/pools.h"
#include "support/simulated.h"

// Starts the simulated driver again as another machine; the library has not called it yet.
static void become(const simcudaConfig *config) {
    REQUIRE(test_require_simulated()->simcudaReset(config) == 0);
    test_use_device(0);
}

static simcudaConfig default_machine(void) {
    simcudaConfig config;
    test_require_simulated()->simcudaConfigDefault(&config);
    return config;
}

// One thread at a time, and the seed says which.
static void become_scheduled(void) {
    simcudaConfig machine = default_machine();
    machine.mode = simcudaModeScheduled;
    machine.burst = 16;
    become(&machine);
    test_load_kernels();
}

// --------------------------------------------------------------------------- the driver's failures

static poolError_t synchronise_stream(CUstream stream, CUevent event) {
    (void)event;
    return poolStreamSynchronize(stream);
}

static poolError_t synchronise_event(CUstream stream, CUevent event) {
    (void)stream;
    return poolEventSynchronize(event);
}

static poolError_t synchronise_device(CUstream stream, CUevent event) {
    (void)stream, (void)event;
    return poolDeviceSynchronize();
}

static poolError_t query_stream(CUstream stream, CUevent event) {
    (void)event;
    return poolStreamQuery(stream);
}

static poolError_t query_event(CUstream stream, CUevent event) {
    (void)stream;
    return poolEventQuery(event);
}

static poolError_t record_event(CUstream stream, CUevent event) {
    return poolEventRecord(event, stream);
}

void row_the_drivers_failures_are_passed_on(void) {
    static const struct {
        poolError_t (*call)(CUstream, CUevent);
        const char *entry_point;
    } calls[] = {
        {synchronise_stream, "cuStreamSynchronize"},
        {synchronise_event, "cuEventSynchronize"},
        {synchronise_device, "cuCtxSynchronize"},
        {query_stream, "cuStreamQuery"},
        {query_event, "cuEventQuery"},
        {record_event, "cuEventRecord"},
    };
    const struct test_simulated *simulated = test_require_simulated();
    CUstream stream = test_stream();
    CUevent event = test_event();
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        int result = 0;
        const char *entry_point = NULL;
        EXPECT(calls[i].call(stream, event), poolSuccess);
        REQUIRE(simulated->simcudaFailCall(calls[i].entry_point, 1, simcudaFaultOnwards,
                                           CUDA_ERROR_LAUNCH_FAILED) == 0);
        EXPECT(calls[i].call(stream, event), poolErrorLaunchFailure);
        simulated->simcudaFailClear();
        EXPECT(poolGetLastNativeError(&result, &entry_point), poolSuccess);
        REQUIRE(result == CUDA_ERROR_LAUNCH_FAILED);
        REQUIRE(strcmp(entry_point, calls[i].entry_point) == 0);
    }
}

static void require_fault(poolMemPool_t pool, CUstream stream, void *const *blocks) {
    void *pointer = NULL;
    EXPECT(poolMallocAsync(&pointer, 512, stream), poolErrorIllegalAddress);
    EXPECT(poolMallocAsync(&pointer, MIB(64), stream), poolErrorIllegalAddress);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(3), pool, stream), poolErrorIllegalAddress);
    for (int i = 0; i < 2; i++) {
        EXPECT(poolFreeAsync(blocks[i], stream), poolErrorIllegalAddress);
        EXPECT(poolFree(blocks[i]), poolErrorIllegalAddress);
    }
    REQUIRE(!pointer);
}

// On a device of its own, with one more context. Memory that they leave is freed elsewhere.
static void fault_under(int promises, int device, CUstream elsewhere) {
    const struct sp_driver *driver = test_driver();
    CUstream streams[] = {NULL, NULL, CU_STREAM_PER_THREAD};
    CUcontext context = NULL;
    poolMemPool_t pool = NULL;
    EXPECT(poolDeviceGetDefaultMemPool(&pool, device), poolSuccess);
    test_set_flag(pool, poolMemPoolAttrStreamPromises, promises);
    DRIVER(driver->cuCtxCreate(&context, 0, device));
    DRIVER(driver->cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
    void *blocks[] = {test_malloc(pool, 512, streams[0]), test_malloc(pool, MIB(4), streams[0])};
    for (size_t i = 0; i < 3; i++)
        test_free(test_malloc(pool, MIB(3), streams[i]), streams[i]);
    struct test_figures before = test_figures(pool);
    DRIVER((CUresult)test_require_simulated()->simcudaContextFail(context,
                                                                  CUDA_ERROR_ILLEGAL_ADDRESS));
    EXPECT(poolStreamSynchronize(streams[0]), poolErrorIllegalAddress);
    for (size_t i = 0; i < 3; i++)
        require_fault(pool, streams[i], blocks);
    REQUIRE_FIGURES(pool, before);
    DRIVER(driver->cuCtxDestroy(context));
    test_free(blocks[0], elsewhere);
    test_free(blocks[1], elsewhere);
}

void row_a_fault_that_a_call_has_told_of_is_told_by_all(void) {
    static const int promises[] = {
        poolPromiseNothing, poolPromiseNoCapture, poolPromiseStreamDestroy,
        poolPromiseStreamDestroy | poolPromiseNeverCapture,
        poolPromiseStreamDestroy | poolPromiseNoCapture | poolPromiseNoLegacyOrder};
    enum { COUNT = sizeof promises / sizeof promises[0] };
    simcudaConfig machine = default_machine();
    for (machine.devices = 1; machine.devices <= COUNT; machine.devices++)
        machine.device[machine.devices] = machine.device[0];
    become(&machine);
    CUstream elsewhere = test_stream();
    for (int i = 0; i < COUNT; i++)
        fault_under(promises[i], i + 1, elsewhere);
}

// ------------------------------------------------------------------------------------------ trap 3

void row_trap_3_a_failed_driver_call_leaves_nothing_behind(void) {
    static const char *const calls[] = {"cuMemCreate", "cuMemMap", "cuMemSetAccess"};
    const struct test_simulated *simulated = test_require_simulated();
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    test_malloc(pool, 512, stream);
    struct test_figures before = test_figures(pool);
    uint64_t physical = simulated->simcudaMemoryInUse(0);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        void *pointer = NULL;
        REQUIRE(simulated->simcudaFailCall(calls[i], 1, simcudaFaultOnwards,
                                           CUDA_ERROR_OUT_OF_MEMORY) == 0);
        EXPECT(poolMallocFromPoolAsync(&pointer, MIB(300), pool, stream),
               poolErrorMemoryAllocation);
        simulated->simcudaFailClear();
        REQUIRE(!pointer);
        REQUIRE_FIGURES(pool, before);
        REQUIRE_EQUAL(simulated->simcudaMemoryInUse(0), physical);
    }
    test_malloc(pool, MIB(300), stream);
}

// ------------------------------------------------------------------------------------------ trap 9

static uint64_t memory_calls(const struct test_simulated *simulated) {
    return simulated->simcudaCallCount("cuMemAddressReserve") +
           simulated->simcudaCallCount("cuMemCreate") + simulated->simcudaCallCount("cuMemMap") +
           simulated->simcudaCallCount("cuMemSetAccess");
}

void row_trap_9_the_first_large_allocation_takes_few_driver_calls(void) {
    const struct test_simulated *simulated = test_require_simulated();
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    uint64_t before = memory_calls(simulated);
    void *pointer = test_malloc(pool, GIB(2), stream);
    REQUIRE(memory_calls(simulated) - before <= 16); // 64 pieces of 32 MiB would take 192

    test_free(pointer, stream);
    before = memory_calls(simulated);
    REQUIRE(test_malloc(pool, GIB(2), stream) == pointer);
    REQUIRE_EQUAL(memory_calls(simulated), before);
}

// ----------------------------------------------------------------------------------------- trap 11

void row_trap_11_address_space_that_runs_out_is_an_error(void) {
    simcudaConfig machine = default_machine();
    machine.addressSpace = GIB(1);
    become(&machine);
    poolMemPool_t pool = test_keeping_pool();
    CUstream stream = test_stream();
    void *live = test_malloc(pool, MIB(300), stream), *pointer = live;
    struct test_figures before = test_figures(pool);
    EXPECT(poolMallocFromPoolAsync(&pointer, GIB(2), pool, stream), poolErrorMemoryAllocation);
    REQUIRE(pointer == live);
    REQUIRE_FIGURES(pool, before);
    test_free(test_malloc(pool, MIB(100), stream), stream);
    test_free(live, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    for (unsigned i = 0; i < 20; i++) {
        test_free(test_malloc(pool, MIB(300), stream), stream);
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
        EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    }
}

// ----------------------------------------------------------------------------------------- trap 12

// Small and large blocks, of the default pool and of others, hold what is written, and the driver
// maps nothing.
static void require_plain_memory(void) {
    static const size_t sizes[] = {512, KIB(300), MIB(40)};
    CUstream stream = test_stream();
    poolMemPool_t pools[] = {test_default_pool(0), test_pool()};
    for (size_t i = 0; i < 6; i++) {
        size_t size = sizes[i % 3];
        void *pointer = test_malloc(pools[i / 3], size, stream);
        test_fill(pointer, (unsigned char)(i + 1), size, stream);
        test_finish(stream);
        REQUIRE(test_is_filled(pointer, (unsigned char)(i + 1), size));
        test_free(pointer, stream);
        REQUIRE(!test_flag(pools[i / 3], poolMemPoolAttrVirtualMemory));
    }
    REQUIRE_EQUAL(test_require_simulated()->simcudaCallCount("cuMemMap"), 0);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pools[0]) + test_reserved(pools[1]), 0);
}

void row_trap_12_a_device_without_virtual_memory_gives_plain_memory(void) {
    simcudaConfig machine = default_machine();
    machine.device[0].vmm = simcudaVmmMissing;
    become(&machine);
    require_plain_memory();
}

void row_trap_12_a_device_that_refuses_what_it_says_it_supports_gives_plain_memory(void) {
    simcudaConfig machine = default_machine();
    machine.device[0].vmm = simcudaVmmRefused;
    become(&machine);
    REQUIRE(test_flag(test_default_pool(0), poolMemPoolAttrVirtualMemory));
    require_plain_memory();
}

static void *trim_all(void *pool) {
    test_use_device(0);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    return NULL;
}

// The driver waits for the device when it takes plain memory back, and nobody else waits for that.
void row_trap_12_a_pool_grows_while_plain_memory_is_given_back(void) {
    simcudaConfig machine = default_machine();
    machine.device[0].vmm = simcudaVmmMissing;
    become(&machine);
    const struct test_simulated *simulated = test_require_simulated();
    poolMemPool_t pool = test_keeping_pool();
    CUstream held = test_stream(), stream = test_stream();
    struct test_hold hold;
    pthread_t thread;
    test_free(test_malloc(pool, MIB(8), stream), stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    test_hold(&hold, held);
    uint64_t before = simulated->simcudaCallCount("cuMemFree");
    REQUIRE(pthread_create(&thread, NULL, trim_all, pool) == 0);
    while (simulated->simcudaCallCount("cuMemFree") == before)
        sched_yield();
    test_malloc(pool, MIB(16), stream);
    REQUIRE_EQUAL(test_reserved(pool), MIB(8) + MIB(16)); // what goes counts until it has gone
    test_let_go(&hold);
    REQUIRE(pthread_join(thread, NULL) == 0);
    REQUIRE_EQUAL(test_reserved(pool), MIB(16));
}

struct wanting {
    poolMemPool_t pool;
    CUstream stream;
    void *pointer;
};

static void *want(void *argument) {
    struct wanting *wanting = argument;
    test_use_device(0);
    wanting->pointer = test_malloc(wanting->pool, MIB(32), wanting->stream);
    return NULL;
}

// Memory that another thread gives back just now is as good as free: who has no other waits for it.
void row_trap_12_what_is_being_given_back_is_waited_for_at_the_limit(void) {
    simcudaConfig machine = default_machine();
    machine.device[0].vmm = simcudaVmmMissing;
    become(&machine);
    const struct test_simulated *simulated = test_require_simulated();
    CUstream held = test_stream();
    struct wanting wanting = {test_pool_of_at_most(MIB(32)), test_stream(), NULL};
    struct test_hold hold;
    pthread_t trims, wants;
    test_set_attribute(wanting.pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    test_free(test_malloc(wanting.pool, MIB(32), wanting.stream), wanting.stream);
    EXPECT(poolStreamSynchronize(wanting.stream), poolSuccess);
    test_hold(&hold, held);
    uint64_t before = simulated->simcudaCallCount("cuMemFree");
    REQUIRE(pthread_create(&trims, NULL, trim_all, wanting.pool) == 0);
    while (simulated->simcudaCallCount("cuMemFree") == before)
        sched_yield();
    REQUIRE(pthread_create(&wants, NULL, want, &wanting) == 0);
    for (unsigned i = 0; i < 1000; i++)
        sched_yield(); // without the wait it is refused by now
    test_let_go(&hold);
    REQUIRE(pthread_join(trims, NULL) == 0);
    REQUIRE(pthread_join(wants, NULL) == 0);
    REQUIRE(wanting.pointer);
    REQUIRE_EQUAL(test_reserved(wanting.pool), MIB(32));
}

// ------------------------------------------------------------------------------------ the host

static const struct test_place first_node = {
    TEST_PINNED, "node 0", {poolMemLocationTypeHostNuma, 0}};
static const struct test_place second_node = {
    TEST_PINNED, "node 1", {poolMemLocationTypeHostNuma, 1}};

static poolError_t create_at(const struct test_place *place) {
    struct poolMemPoolProps props = test_props_at(place);
    poolMemPool_t pool = NULL;
    return poolMemPoolCreate(&pool, &props);
}

// The host and the device use blocks of all sizes, and the driver maps nothing.
static void require_pinned_memory(void) {
    static const size_t sizes[] = {512, KIB(300), MIB(12)};
    const struct test_simulated *simulated = test_require_simulated();
    CUstream stream = test_stream();
    poolMemPool_t pool = test_pool_at(&test_the_host);
    simcudaLive live;
    test_load_kernels();
    test_let_in(pool, 0);
    for (size_t i = 0; i < 3; i++) {
        void *block = test_malloc(pool, sizes[i], stream);
        test_host_fill_block(block, 5, sizes[i]);
        test_check_block(block, 5, sizes[i], stream);
        test_fill_block(block, 6, sizes[i], stream);
        test_finish(stream);
        REQUIRE(test_host_is_block(block, 6, sizes[i]));
        test_free(block, stream);
    }
    REQUIRE(!test_flag(pool, poolMemPoolAttrVirtualMemory));
    REQUIRE_EQUAL(simulated->simcudaCallCount("cuMemMap"), 0);
    REQUIRE(simulated->simcudaCallCount("cuMemHostAlloc") > 0);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
    simulated->simcudaGetLive(&live);
    REQUIRE(live.pinned <= 1); // a word of the library's own, where streams have no identities
}

void row_a_host_that_is_not_mapped_gives_pinned_memory(void) {
    simcudaConfig machine = default_machine();
    machine.hostVmm = simcudaVmmMissing;
    become(&machine);
    require_pinned_memory();
    EXPECT(create_at(&first_node), poolErrorNotSupported);
}

void row_a_driver_that_refuses_to_map_the_host_gives_pinned_memory(void) {
    simcudaConfig machine = default_machine();
    become(&machine);
    REQUIRE(test_require_simulated()->simcudaFailCall("cuMemCreate", 1, simcudaFaultOnwards,
                                                      CUDA_ERROR_NOT_SUPPORTED) == 0);
    require_pinned_memory();
}

void row_each_node_of_the_host_has_pools_of_its_own(void) {
    const struct poolMemLocation locations[] = {first_node.location, second_node.location};
    simcudaConfig machine = default_machine();
    poolMemPool_t pools[2], current = NULL;
    machine.nodes = 2;
    become(&machine);
    for (int i = 0; i < 2; i++)
        EXPECT(poolMemGetDefaultMemPool(&pools[i], &locations[i], poolMemAllocationTypePinned),
               poolSuccess);
    REQUIRE(pools[0] != pools[1]);
    REQUIRE(test_flag(pools[1], poolMemPoolAttrLocationId) == 1);
    poolMemPool_t pool = test_pool_at(&second_node);
    EXPECT(poolMemSetMemPool(&locations[0], poolMemAllocationTypePinned, pool),
           poolErrorInvalidValue);
    EXPECT(poolMemSetMemPool(&locations[1], poolMemAllocationTypePinned, pool), poolSuccess);
    EXPECT(poolMemGetMemPool(&current, &locations[0], poolMemAllocationTypePinned), poolSuccess);
    REQUIRE(current == pools[0]);
    const struct test_place third = {TEST_PINNED, "node 2", {poolMemLocationTypeHostNuma, 2}};
    EXPECT(create_at(&third), poolErrorInvalidValue);
    test_host_fill(test_malloc(pool, MIB(3), test_stream()), 1, MIB(3));
}

static void become_with_little_host(void) {
    simcudaConfig machine = default_machine();
    machine.hostMemory = MIB(64);
    become(&machine);
}

void row_a_host_that_has_no_more_is_an_error(void) {
    void *pointer = NULL;
    become_with_little_host();
    poolMemPool_t pool = test_keeping_pool_at(&test_the_host);
    poolMemPool_t other = test_keeping_pool_at(&first_node);
    CUstream stream = test_stream();
    void *live = test_malloc(pool, MIB(40), stream);
    struct test_figures before = test_figures(pool);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(40), pool, stream), poolErrorMemoryAllocation);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(40), other, stream), poolErrorMemoryAllocation);
    EXPECT(poolMallocFromPool(&pointer, MIB(40), pool), poolErrorMemoryAllocation);
    REQUIRE(!pointer);
    REQUIRE_FIGURES(pool, before);
    test_host_fill(live, 7, MIB(40));
    test_malloc(test_pool(), MIB(100), stream); // of the device
    test_free(live, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    test_host_fill(test_malloc(other, MIB(40), stream), 8, MIB(40));
}

// Whichever place of the host they are at.
void row_caches_of_the_host_make_room_for_others(void) {
    become_with_little_host();
    poolMemPool_t pool = test_keeping_pool_at(&test_the_host);
    poolMemPool_t others[] = {test_keeping_pool_at(&test_the_host),
                              test_keeping_pool_at(&first_node)};
    CUstream stream = test_stream();
    for (int i = 0; i < 2; i++) {
        test_free(test_malloc(pool, MIB(40), stream), stream);
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
        REQUIRE(test_reserved(pool) >= MIB(40));
        void *block = test_malloc(others[i], MIB(40), stream);
        test_host_fill(block, 8, MIB(40));
        test_free(block, stream);
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
    }
}

void row_caches_of_the_host_that_are_too_small_stay(void) {
    become_with_little_host();
    poolMemPool_t pool = test_keeping_pool_at(&test_the_host),
                  other = test_keeping_pool_at(&test_the_host);
    CUstream stream = test_stream();
    void *live = test_malloc(other, MIB(40), stream), *refused = NULL;
    test_free(test_malloc(pool, MIB(4), stream), stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    uint64_t reserved = test_reserved(pool);
    EXPECT(poolMallocFromPoolAsync(&refused, MIB(40), other, stream), poolErrorMemoryAllocation);
    REQUIRE_EQUAL(test_reserved(pool), reserved);
    test_free(live, stream);
}

static poolMemPool_t managed_pool_at(enum poolMemLocationType type) {
    const struct test_place place = {TEST_MANAGED, "managed", {type, 0}};
    return test_keeping_pool_at(&place);
}

// Whichever place the pools prefer.
void row_caches_of_managed_memory_make_room_for_others(void) {
    static const enum poolMemLocationType types[] = {
        poolMemLocationTypeHost, poolMemLocationTypeDevice, poolMemLocationTypeNone};
    become_with_little_host();
    CUstream stream = test_stream();
    for (int i = 0; i < 9; i++) {
        poolMemPool_t pool = managed_pool_at(types[i / 3]), other = managed_pool_at(types[i % 3]);
        test_free(test_malloc(pool, MIB(40), stream), stream);
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
        REQUIRE(test_reserved(pool) >= MIB(40));
        void *block = test_malloc(other, MIB(40), stream);
        test_host_fill(block, 8, MIB(40));
        test_free(block, stream);
        EXPECT(poolStreamSynchronize(stream), poolSuccess);
        EXPECT(poolMemPoolDestroy(pool), poolSuccess);
        EXPECT(poolMemPoolDestroy(other), poolSuccess);
    }
}

// -------------------------------------------------------------------------------------- late frees

// Blocks of one slab, freed on one stream by two threads.
struct late_frees {
    CUstream stream;
    CUevent event; // recorded before the last free
    void *blocks[3];
};

struct late_thread {
    const struct late_frees *frees;
    bool frees_last;
};

static void free_late(void *argument) {
    const struct late_thread *thread = argument;
    const struct late_frees *frees = thread->frees;
    test_use_device(0);
    if (!thread->frees_last) {
        test_free(frees->blocks[0], frees->stream);
        return;
    }
    test_free(frees->blocks[1], frees->stream);
    EXPECT(poolEventRecord(frees->event, frees->stream), poolSuccess);
    test_fill_block(frees->blocks[2], 1, 512, frees->stream);
    test_free(frees->blocks[2], frees->stream);
}

// Leaves nothing in the pool, which can't grow, but the slab that `stream` has for a small block.
static void fill_but_for_a_slab(poolMemPool_t pool, CUstream stream) {
    void *small = test_malloc(pool, 512, stream), *filler = NULL;
    while (poolMallocFromPoolAsync(&filler, KIB(64), pool, stream) == poolSuccess)
        continue;
    test_free(small, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
}

// Between the moment at which a free takes its number and that at which it reaches the slab, the
// other thread may have done all of its own, with the higher number. The slab must keep that one,
// so the event says nothing of it.
void row_a_free_that_comes_late_to_its_slab_hides_no_later_one(void) {
    enum { ROUNDS = 400 };
    become_scheduled();
    poolMemPool_t pool = test_pool_of_at_most(MIB(2));
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    CUstream other = test_stream();
    struct late_frees frees = {test_stream(), test_event(), {NULL, NULL, NULL}};
    struct late_thread threads[] = {{&frees, false}, {&frees, true}};
    void *arguments[] = {&threads[0], &threads[1]};
    fill_but_for_a_slab(pool, frees.stream);
    test_set_all_policies(pool, 0);
    test_set_flag(pool, poolMemPoolReuseFollowEventDependencies, 1);
    for (unsigned round = 0; round < ROUNDS; round++) {
        void *pointer = NULL;
        for (unsigned i = 0; i < 3; i++)
            frees.blocks[i] = test_malloc(pool, 512, frees.stream);
        REQUIRE(test_require_simulated()->simcudaRunThreads(free_late, arguments, 2) == 0);
        EXPECT(poolStreamWaitEvent(other, frees.event, 0), poolSuccess);
        EXPECT(poolMallocFromPoolAsync(&pointer, 512, pool, other), poolErrorMemoryAllocation);
        EXPECT(poolStreamSynchronize(frees.stream), poolSuccess);
        test_free(test_malloc(pool, 512, other), other);
        EXPECT(poolStreamSynchronize(other), poolSuccess);
    }
    test_require_no_complaints();
}

// -------------------------------------------------------------------------------- borrowed streams

struct borrowing {
    poolMemPool_t pool;
    CUstream lender;
    CUstream borrower;
};

struct borrowing_thread {
    const struct borrowing *borrowing;
    bool destroys;
};

// What it wants was freed on the other stream, so that has to be asked, unless it is gone by now.
static void destroy_or_take(void *argument) {
    const struct borrowing_thread *thread = argument;
    const struct borrowing *borrowing = thread->borrowing;
    void *pointer = NULL;
    test_use_device(0);
    if (thread->destroys) {
        EXPECT(poolStreamDestroy(borrowing->lender), poolSuccess);
        return;
    }
    if (poolMallocFromPoolAsync(&pointer, MIB(24), borrowing->pool, borrowing->borrower) ==
        poolSuccess)
        test_free(pointer, borrowing->borrower);
}

// The driver complains of a stream that is destroyed while somebody else passes it.
void row_a_stream_is_not_destroyed_while_another_thread_asks_it(void) {
    enum { ROUNDS = 400 };
    become_scheduled();
    struct borrowing borrowing = {test_pool_of_at_most(MIB(32)), NULL, test_stream()};
    struct borrowing_thread threads[] = {{&borrowing, false}, {&borrowing, true}};
    void *arguments[] = {&threads[0], &threads[1]};
    test_set_attribute(borrowing.pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    test_set_flag(borrowing.pool, poolMemPoolAttrStreamPromises,
                  poolPromiseStreamDestroy | poolPromiseNeverCapture);
    test_free(test_malloc(borrowing.pool, KIB(64), borrowing.borrower), borrowing.borrower);
    for (unsigned round = 0; round < ROUNDS; round++) {
        borrowing.lender = test_stream();
        test_free(test_malloc(borrowing.pool, MIB(24), borrowing.lender), borrowing.lender);
        REQUIRE(test_require_simulated()->simcudaRunThreads(destroy_or_take, arguments, 2) == 0);
        EXPECT(poolStreamSynchronize(borrowing.borrower), poolSuccess);
    }
    test_require_no_complaints();
}
