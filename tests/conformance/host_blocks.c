// Rows of blocks of pools of the host: the host and devices use them, in the order of streams.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "conformance/rows.h"
#include "conformance/scene.h"
#include "conformance/wider.h"
#include "support/check.h"
#include "support/device.h"
#include "support/places.h"
#include "support/pools.h"

static const size_t sizes[] = {1, 1000, KIB(300), MIB(3), MIB(12)};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static CUdeviceptr on_device(const void *block) {
    return (uintptr_t)block;
}

static void *fixed(poolMemPool_t pool, size_t size, CUstream stream) {
    void *block = NULL;
    EXPECT(poolMallocAsyncWithFlags(&block, size, pool, stream, poolMallocFixed), poolSuccess);
    return block;
}

// ------------------------------------------------------------------------------- who uses a block

static void use_at_once(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    CUstream stream = test_stream();
    void *blocks[SIZES];
    for (size_t i = 0; i < SIZES; i++) {
        blocks[i] = test_malloc(pool, sizes[i], stream);
        REQUIRE((uintptr_t)blocks[i] % 512 == 0);
        test_host_fill(blocks[i], (unsigned char)(i + 1), sizes[i]);
    }
    for (size_t i = 0; i < SIZES; i++)
        REQUIRE(test_host_is_filled(blocks[i], (unsigned char)(i + 1), sizes[i]));
    for (size_t i = 0; i < SIZES; i++)
        test_free(blocks[i], stream);
}

void row_the_host_reads_and_writes_its_blocks_at_their_address(void) {
    test_for_each_place(TEST_ALL, use_at_once);
}

// Each sees what the other has written, in kernels as in what the driver sets and copies.
static void require_shared(void *block, size_t size, CUstream stream) {
    test_host_fill_block(block, 11, size);
    test_check_block(block, 11, size, stream);
    test_fill_block(block, 22, size, stream);
    test_finish(stream);
    REQUIRE(test_host_is_block(block, 22, size));
    test_fill(block, 33, size, stream);
    test_finish(stream);
    REQUIRE(test_host_is_filled(block, 33, size));
    test_host_fill(block, 44, size);
    REQUIRE(test_is_filled(block, 44, size));
    REQUIRE_EQUAL(test_wrong_words(), 0);
}

static void share_at(const struct test_place *place) {
    poolMemPool_t pool = test_keeping_pool_at(place);
    CUstream stream = test_stream();
    void *blocks[SIZES];
    for (size_t i = 0; i < SIZES; i++)
        blocks[i] = test_malloc(pool, sizes[i], stream);
    if (place->kind != TEST_MANAGED) // which lets all in
        test_let_in(pool, 0);
    for (size_t i = 0; i < SIZES; i++)
        require_shared(blocks[i], sizes[i], stream);
    for (size_t i = 0; i < SIZES; i++)
        require_shared(test_malloc(pool, sizes[i], stream), sizes[i], stream);
    require_shared(fixed(pool, MIB(4), stream), MIB(4), stream);
}

void row_a_device_with_access_uses_blocks_of_the_host(void) {
    test_load_kernels();
    test_for_each_place(TEST_ALL, share_at);
}

static void copy_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    CUstream stream = test_stream();
    CUdeviceptr device;
    unsigned char *block = test_malloc(pool, MIB(4), stream);
    DRIVER(test_driver()->cuMemAlloc(&device, MIB(4)));
    test_host_fill(block, 7, MIB(4));
    DRIVER(test_driver()->cuMemcpyHtoDAsync(device, block, MIB(4), stream));
    test_finish(stream);
    REQUIRE(test_is_filled((void *)(uintptr_t)device, 7, MIB(4)));
    test_fill((void *)(uintptr_t)device, 8, MIB(4), stream);
    DRIVER(test_driver()->cuMemcpyDtoHAsync(block, device, MIB(4), stream));
    test_finish(stream);
    REQUIRE(test_host_is_filled(block, 8, MIB(4)));
    test_free(block, stream);
    DRIVER(test_driver()->cuMemFree(device));
}

void row_copies_from_and_to_blocks_of_the_host_need_no_access(void) {
    test_for_each_place(TEST_ALL, copy_at);
}

static unsigned long long device_access_at(const void *block) {
    const CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    unsigned long long flags = 7;
    DRIVER(test_driver()->cuMemGetAccess(&flags, &location, on_device(block)));
    return flags;
}

static void take_access_at(const struct test_place *place) {
    poolMemPool_t pool = test_keeping_pool_at(place);
    CUstream stream = test_stream();
    void *block = test_malloc(pool, MIB(4), stream);
    REQUIRE(device_access_at(block) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    test_let_in(pool, 0);
    REQUIRE(device_access_at(block) == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    test_keep_out(pool, 0);
    REQUIRE(device_access_at(block) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    void *later = test_malloc(pool, MIB(12), stream);
    REQUIRE(device_access_at(later) == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    test_host_fill(block, 1, MIB(4));
    test_host_fill(later, 2, MIB(12));
    REQUIRE(test_host_is_filled(block, 1, MIB(4)) && test_host_is_filled(later, 2, MIB(12)));
    test_let_in(pool, 0);
    require_shared(block, MIB(4), stream);
    require_shared(later, MIB(12), stream);
    test_free(block, stream);
    test_free(later, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
}

void row_access_that_is_taken_away_leaves_the_host_its_own(void) {
    test_require_mapped_host();
    test_load_kernels();
    test_for_each_place(TEST_PINNED, take_access_at);
}

static void ask_driver_at(const struct test_place *place) {
    void *block = test_malloc(test_pool_at(place), MIB(3), test_stream());
    unsigned int type = 0;
    bool is_managed = true;
    void *host = NULL;
    DRIVER(test_driver()->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                on_device(block)));
    REQUIRE_EQUAL(type, CU_MEMORYTYPE_HOST);
    DRIVER(test_driver()->cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                                on_device(block)));
    REQUIRE(!is_managed);
    DRIVER(test_driver()->cuPointerGetAttribute(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER,
                                                on_device(block)));
    REQUIRE(host == block);
}

void row_the_driver_takes_blocks_of_the_host_for_host_memory(void) {
    test_for_each_place(TEST_LIMITED, ask_driver_at);
}

static void ask_driver_of_managed_at(const struct test_place *place) {
    void *block = test_malloc(test_pool_at(place), MIB(3), test_stream());
    unsigned int type = 0;
    bool is_managed = false;
    DRIVER(test_driver()->cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                                on_device(block)));
    REQUIRE_EQUAL(type, CU_MEMORYTYPE_DEVICE);
    DRIVER(test_driver()->cuPointerGetAttribute(&is_managed, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                                on_device(block)));
    REQUIRE(is_managed);
}

void row_the_driver_takes_blocks_of_managed_memory_for_managed(void) {
    test_require_managed();
    test_for_each_place(TEST_MANAGED, ask_driver_of_managed_at);
}

// Which is advice, that a driver before CUDA 12.2 isn't given. Of a node other attributes tell.
static void ask_preference_at(const struct test_place *place) {
    enum { NOWHERE = -2, ON_THE_HOST = -1 };
    void *block = test_malloc(test_pool_at(place), MIB(3), test_stream());
    bool is_on_device = place->location.type == poolMemLocationTypeDevice;
    bool is_told = test_driver()->cuMemAdvise && place->location.type != poolMemLocationTypeNone;
    int told = -9;
    DRIVER(wider()->cuMemRangeGetAttribute(
        &told, sizeof told, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, on_device(block), MIB(3)));
    if (place->location.type != poolMemLocationTypeHostNuma)
        REQUIRE(told == (!is_told ? NOWHERE : is_on_device ? 0 : ON_THE_HOST));
}

void row_managed_memory_prefers_the_place_of_its_pool(void) {
    test_require_managed();
    test_for_each_place(TEST_MANAGED, ask_preference_at);
}

static struct poolPointerAttributes ask(const void *pointer) {
    struct poolPointerAttributes attributes = {.device = 77};
    EXPECT(poolPointerGetAttributes(&attributes, pointer), poolSuccess);
    return attributes;
}

static void ask_library_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    CUstream stream = test_stream();
    for (size_t i = 0; i < SIZES; i++) {
        char *block = test_malloc(pool, sizes[i], stream);
        struct poolPointerAttributes told = ask(block + sizes[i] - 1);
        REQUIRE(told.state == poolPointerLive);
        REQUIRE(told.device == -1);
        REQUIRE(told.pool == pool && told.base == block && told.stream == stream);
        REQUIRE(told.requestedSize == sizes[i] && told.size >= sizes[i] && told.extents >= 1);
    }
    REQUIRE_EQUAL(ask(fixed(pool, MIB(24), stream)).extents, 1);
}

void row_an_address_of_a_block_of_the_host_names_no_device(void) {
    test_for_each_place(TEST_ALL, ask_library_at);
}

static void misuse_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    CUstream stream = test_stream();
    char *block = test_malloc(pool, MIB(4), stream);
    struct test_figures before = test_figures(pool);
    void *pointer = block;
    EXPECT(poolFreeAsync(block + KIB(4), stream), poolErrorInvalidValue);
    EXPECT(poolMallocFromPoolAsync(NULL, 512, pool, stream), poolErrorInvalidValue);
    EXPECT(poolMallocFromPoolAsync(&pointer, (size_t)1 << 50, pool, stream),
           poolErrorMemoryAllocation);
    EXPECT(poolMallocFromPoolAsync(&pointer, SIZE_MAX, pool, stream), poolErrorMemoryAllocation);
    REQUIRE(pointer == block);
    REQUIRE_FIGURES(pool, before);
    EXPECT(poolMallocFromPoolAsync(&pointer, 0, pool, stream), poolSuccess);
    REQUIRE(!pointer);
    test_free(block, stream);
    EXPECT(poolFreeAsync(block, stream), poolErrorInvalidValue);
    EXPECT(poolFree(block), poolErrorInvalidValue);
}

void row_calls_with_blocks_of_the_host_refuse_what_others_do(void) {
    test_for_each_place(TEST_ALL, misuse_at);
}

static void destroy_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    CUstream stream = test_stream();
    void *blocks[SIZES];
    for (size_t i = 0; i < SIZES; i++) {
        blocks[i] = test_malloc(pool, sizes[i], stream);
        test_host_fill(blocks[i], (unsigned char)(i + 1), sizes[i]);
    }
    EXPECT(poolMemPoolDestroy(pool), poolSuccess);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    for (size_t i = 0; i < SIZES; i++) {
        REQUIRE(test_host_is_filled(blocks[i], (unsigned char)(i + 1), sizes[i]));
        test_free(blocks[i], stream);
        EXPECT(poolFreeAsync(blocks[i], stream), poolErrorInvalidValue);
    }
}

void row_destroy_leaves_the_host_its_live_blocks(void) {
    test_for_each_place(TEST_ALL, destroy_at);
}

// ------------------------------------------------------------------------------------------- order

// Memory whose last use is pending on one stream goes to no other one, and to that one at once.
static void require_order(poolMemPool_t pool, void *block, size_t size, CUstream user,
                          CUstream other) {
    char *first = block, *second = test_malloc(pool, size, other);
    REQUIRE(second + size <= first || first + size <= second);
    test_host_fill(second, 99, size);
    REQUIRE(test_malloc(pool, size, user) == block);
    REQUIRE(test_host_is_filled(second, 99, size));
    test_free(second, other);
}

static void free_behind_a_kernel(const struct test_place *place) {
    for (size_t i = 0; i < SIZES; i++) {
        poolMemPool_t pool = test_keeping_pool_at(place);
        CUstream user = test_stream(), other = test_stream();
        struct test_hold hold;
        test_let_in(pool, 0);
        test_set_all_policies(pool, 0);
        void *block = test_malloc(pool, sizes[i], user);
        test_hold(&hold, user);
        test_fill_block(block, 3, sizes[i], user);
        test_free(block, user);
        require_order(pool, block, sizes[i], user, other);
        test_let_go(&hold);
        EXPECT(poolStreamSynchronize(user), poolSuccess);
        EXPECT(poolMemPoolDestroy(pool), poolSuccess);
        test_free(block, user);
        EXPECT(poolDeviceSynchronize(), poolSuccess);
    }
}

void row_a_block_of_the_host_is_reused_behind_its_kernels(void) {
    test_load_kernels();
    test_for_each_place(TEST_ALL, free_behind_a_kernel);
}

// The copy reads the block when it runs, so nobody may write there before. From memory that the
// device has no access to a driver may copy while the call lasts.
static void free_behind_a_copy(const struct test_place *place) {
    poolMemPool_t pool = test_keeping_pool_at(place);
    CUstream user = test_stream(), other = test_stream();
    CUdeviceptr device;
    struct test_hold hold;
    test_let_in(pool, 0); // else the copy is one of pageable memory, and waits for its turn
    test_let_in(pool, 0);
    test_set_all_policies(pool, 0);
    DRIVER(test_driver()->cuMemAlloc(&device, MIB(4)));
    void *block = test_malloc(pool, MIB(4), user);
    test_host_fill(block, 5, MIB(4));
    test_hold(&hold, user);
    DRIVER(test_driver()->cuMemcpyHtoDAsync(device, block, MIB(4), user));
    test_free(block, user);
    require_order(pool, block, MIB(4), user, other);
    test_let_go(&hold);
    test_finish(user);
    REQUIRE(test_is_filled((void *)(uintptr_t)device, 5, MIB(4)));
    DRIVER(test_driver()->cuMemFree(device));
}

void row_a_block_of_the_host_is_reused_behind_copies_from_it(void) {
    test_for_each_place(TEST_LIMITED, free_behind_a_copy);
}

static void follow_an_event_at(const struct test_place *place) {
    poolMemPool_t pool = test_limited_pool_at(place, MIB(32));
    CUstream user = test_stream(), other = test_stream();
    CUevent event = test_event();
    struct test_hold hold;
    void *pointer = NULL;
    test_let_in(pool, 0);
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    test_set_all_policies(pool, 0);
    test_set_flag(pool, poolMemPoolReuseFollowEventDependencies, 1);
    void *block = test_malloc(pool, MIB(32), user);
    test_hold(&hold, user);
    test_fill(block, 1, MIB(32), user);
    test_free(block, user);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(32), pool, other), poolErrorMemoryAllocation);
    EXPECT(poolEventRecord(event, user), poolSuccess);
    EXPECT(poolStreamWaitEvent(other, event, 0), poolSuccess);
    REQUIRE(test_malloc(pool, MIB(32), other) == block);
    test_fill(block, 2, MIB(32), other);
    test_let_go(&hold);
    test_finish(other);
    REQUIRE(test_host_is_filled(block, 2, MIB(32)));
    test_free(block, other);
    EXPECT(poolStreamSynchronize(other), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
}

void row_a_block_of_the_host_follows_events(void) {
    test_for_each_place(TEST_LIMITED, follow_an_event_at);
}

// ------------------------------------------------------------------------------- how much there is

static void count_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    CUstream stream = test_stream();
    struct test_hold hold;
    void *first = test_malloc(pool, 1, stream);
    REQUIRE_EQUAL(test_used(pool), 1);
    void *block = test_malloc(pool, MIB(24), stream);
    REQUIRE_EQUAL(test_used(pool), MIB(24) + 1);
    REQUIRE(test_reserved(pool) >= MIB(24) && test_reserved(pool) % MIB(2) == 0);
    test_hold(&hold, stream);
    test_free(block, stream);
    test_free(first, stream);
    REQUIRE_EQUAL(test_used(pool), 0);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrUsedMemHigh), MIB(24) + 1);
    uint64_t reserved = test_reserved(pool);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE(test_reserved(pool) >= MIB(24));
    test_let_go(&hold);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrReservedMemHigh), reserved);
}

void row_used_and_reserved_count_memory_of_the_host(void) {
    test_for_each_place(TEST_ALL, count_at);
}

static void keep_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    CUstream stream = test_stream();
    void *blocks[3];
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, MIB(32));
    for (size_t i = 0; i < 3; i++)
        blocks[i] = test_malloc(pool, MIB(16), stream);
    for (size_t i = 0; i < 3; i++)
        test_free(blocks[i], stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    REQUIRE(test_reserved(pool) <= MIB(32));
    void *live = test_malloc(pool, MIB(2), stream);
    test_host_fill(live, 6, MIB(2));
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE(test_reserved(pool) >= MIB(2));
    REQUIRE(test_host_is_filled(live, 6, MIB(2)));
    test_free(live, stream);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_a_synchronise_and_a_trim_release_memory_of_the_host(void) {
    test_for_each_place(TEST_ALL, keep_at);
}

static void exceed_at(const struct test_place *place) {
    poolMemPool_t pool = test_limited_pool_at(place, MIB(32));
    CUstream stream = test_stream();
    void *live = test_malloc(pool, MIB(16), stream), *pointer = live;
    struct test_figures before = test_figures(pool);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(33), pool, stream), poolErrorMemoryAllocation);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(17), pool, stream), poolErrorMemoryAllocation);
    REQUIRE(pointer == live);
    REQUIRE_FIGURES(pool, before);
    test_malloc(pool, MIB(16), stream);
    REQUIRE(test_attribute(pool, poolMemPoolAttrReservedMemHigh) <= MIB(32));
}

void row_a_limit_holds_for_memory_of_the_host(void) {
    test_for_each_place(TEST_LIMITED, exceed_at);
}

static void prime_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    CUstream stream = test_stream();
    EXPECT(poolMemPoolPrime(pool, MIB(32)), poolSuccess);
    uint64_t reserved = test_reserved(pool);
    REQUIRE(reserved >= MIB(32));
    void *block = test_malloc(pool, MIB(30), stream), *small = test_malloc(pool, 600, stream);
    REQUIRE_EQUAL(test_reserved(pool), reserved);
    test_host_fill(block, 1, MIB(30));
    test_host_fill(small, 2, 600);
    EXPECT(poolMemPoolPrime(pool, (size_t)1 << 50), poolErrorMemoryAllocation);
    REQUIRE_EQUAL(test_reserved(pool), reserved);
    test_free(block, stream);
    test_free(small, stream);
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pool), 0);
}

void row_a_devices_pool_overflows_to_the_host(void) {
    test_require_nodes();
    test_load_kernels();
    struct poolMemPoolProps props = test_pool_props(0);
    props.maxSize = MIB(32);
    poolMemPool_t pool = NULL;
    CUstream stream = test_stream();
    EXPECT(poolMemPoolCreate(&pool, &props), poolSuccess);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolAttrHostOverflowMax), 0);
    void *block = test_malloc(pool, MIB(32), stream), *other = NULL;
    EXPECT(poolMallocFromPoolAsync(&other, MIB(8), pool, stream), poolErrorMemoryAllocation);
    test_set_attribute(pool, poolMemPoolAttrHostOverflowMax, MIB(8));
    other = test_malloc(pool, MIB(8), stream);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolStatReuseHost), 1);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolStatHostReserved), MIB(8));
    REQUIRE_EQUAL(test_reserved(pool), MIB(32));
    REQUIRE_EQUAL(test_used(pool), MIB(40));
    test_fill_block(other, 11, MIB(8), stream);
    test_check_block(other, 11, MIB(8), stream);
    test_finish(stream);
    REQUIRE_EQUAL(test_wrong_words(), 0);
    test_free(other, stream);
    test_free(block, stream);
    test_free(test_malloc(pool, MIB(8), stream), stream);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolStatReuseHost), 1);
    EXPECT(poolDeviceSynchronize(), poolSuccess);
    REQUIRE_EQUAL(test_attribute(pool, poolMemPoolStatHostReserved), 0);
}

void row_a_primed_pool_of_the_host_serves_with_no_growth(void) {
    test_for_each_place(TEST_ALL, prime_at);
}

// --------------------------------------------------------------------------- contexts and captures

static CUcontext current(void) {
    CUcontext context = NULL;
    DRIVER(test_driver()->cuCtxGetCurrent(&context));
    return context;
}

static void use_without_context_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    CUstream stream = test_stream();
    CUcontext primary = current();
    CUdevice device = -1;
    test_use_no_context();
    void *block = test_malloc(pool, MIB(3), stream);
    REQUIRE(!current());
    test_host_fill(block, 3, MIB(3));
    test_free(block, stream);
    REQUIRE(!current());
    block = test_malloc(pool, MIB(3), NULL);
    REQUIRE(current() == primary);
    DRIVER(test_driver()->cuCtxGetDevice(&device));
    REQUIRE(device == 0);
    test_use_no_context();
    test_free(block, NULL);
    test_use_no_context();
    void *at_once = NULL;
    EXPECT(poolMallocFromPool(&at_once, MIB(3), pool), poolSuccess);
    test_host_fill(at_once, 4, MIB(3));
    REQUIRE(current() == primary);
    test_use_no_context();
    EXPECT(poolFree(at_once), poolSuccess);
    test_use_device(0);
}

void row_a_pool_of_the_host_needs_no_context(void) {
    test_for_each_place(TEST_ALL, use_without_context_at);
}

static void capture_at(const struct test_place *place) {
    poolMemPool_t pool = test_keeping_pool_at(place);
    CUstream stream = test_stream(), blocking = test_blocking_stream();
    CUgraph graph = NULL;
    void *block = test_malloc(pool, MIB(3), stream), *pointer = block;
    struct test_figures before = test_figures(pool);
    DRIVER(test_driver()->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(3), pool, stream),
           poolErrorStreamCaptureUnsupported);
    EXPECT(poolMallocAsyncWithFlags(&pointer, MIB(3), pool, stream, poolMallocCompleteOnly),
           poolErrorStreamCaptureUnsupported);
    EXPECT(poolFreeAsync(block, stream), poolErrorInvalidValue);
    REQUIRE_FIGURES(pool, before);
    DRIVER(test_driver()->cuStreamEndCapture(stream, &graph));
    DRIVER(test_driver()->cuGraphDestroy(graph));
    DRIVER(test_driver()->cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_GLOBAL));
    EXPECT(poolMallocFromPool(&pointer, MIB(3), pool), poolErrorStreamCaptureImplicit);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(3), pool, NULL), poolErrorStreamCaptureImplicit);
    REQUIRE(pointer == block);
    REQUIRE_FIGURES(pool, before);
    DRIVER(test_driver()->cuStreamEndCapture(blocking, &graph));
    DRIVER(test_driver()->cuGraphDestroy(graph));
    test_host_fill(block, 9, MIB(3));
    test_free(block, stream);
}

void row_a_capturing_stream_is_refused_memory_of_the_host(void) {
    test_for_each_place(TEST_ALL, capture_at);
}

static void grow_beside_a_capture_at(const struct test_place *place) {
    poolMemPool_t pool = test_keeping_pool_at(place);
    CUstream capturing = test_stream(), stream = test_stream();
    CUgraph graph = NULL;
    DRIVER(test_driver()->cuStreamBeginCapture(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL));
    void *block = test_malloc(pool, MIB(24), stream);
    test_host_fill(block, 9, MIB(24));
    test_free(block, stream);
    DRIVER(test_driver()->cuStreamEndCapture(capturing, &graph));
    DRIVER(test_driver()->cuGraphDestroy(graph));
    EXPECT(poolStreamSynchronize(stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
}

void row_a_pool_of_the_host_grows_beside_a_capture(void) {
    test_for_each_place(TEST_ALL, grow_beside_a_capture_at);
}

// ------------------------------------------------------------------------------ memory in pieces

enum { PIECES = 14 };

struct pieces {
    poolMemPool_t pool;
    CUstream stream;
    void *blocks[PIECES];
    void *joined;
};

// A block of half of the pool, of every other piece of the other half where memory can be mapped a
// second time. A device is let in before or after that.
static void join_pieces(struct pieces *pieces, const struct test_place *place, bool before) {
    *pieces = (struct pieces){.pool = test_limited_pool_at(place, MIB(PIECES * 4)),
                              .stream = test_stream()};
    test_set_attribute(pieces->pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    if (before)
        test_let_in(pieces->pool, 0);
    for (unsigned i = 0; i < PIECES; i++) {
        pieces->blocks[i] = test_malloc(pieces->pool, MIB(4), pieces->stream);
        test_host_fill(pieces->blocks[i], (unsigned char)(i + 1), MIB(4));
    }
    for (unsigned i = 0; i < PIECES; i += 2)
        test_free(pieces->blocks[i], pieces->stream);
    uint64_t remaps = test_attribute(pieces->pool, poolMemPoolStatRemaps);
    pieces->joined = test_malloc(pieces->pool, MIB(26), pieces->stream);
    REQUIRE_EQUAL(test_attribute(pieces->pool, poolMemPoolStatRemaps), remaps + 1);
    REQUIRE(test_reserved(pieces->pool) <= MIB(64));
    if (!before)
        test_let_in(pieces->pool, 0);
}

static void require_neighbours(const struct pieces *pieces) {
    for (unsigned i = 1; i < PIECES; i += 2)
        REQUIRE(test_host_is_filled(pieces->blocks[i], (unsigned char)(i + 1), MIB(4)));
}

static void join_at(const struct test_place *place, bool before) {
    struct pieces pieces;
    join_pieces(&pieces, place, before);
    require_shared(pieces.joined, MIB(26), pieces.stream);
    require_neighbours(&pieces);
    test_fill(pieces.joined, 55, MIB(26), pieces.stream);
    for (unsigned i = 1; i < PIECES; i += 2)
        require_shared(pieces.blocks[i], MIB(4), pieces.stream);
    test_finish(pieces.stream);
    REQUIRE(test_host_is_filled(pieces.joined, 55, MIB(26)));
    test_keep_out(pieces.pool, 0);
    test_host_fill(pieces.joined, 66, MIB(26));
    REQUIRE(test_host_is_filled(pieces.joined, 66, MIB(26)));
    test_free(pieces.joined, pieces.stream);
    for (unsigned i = 1; i < PIECES; i += 2)
        test_free(pieces.blocks[i], pieces.stream);
    EXPECT(poolStreamSynchronize(pieces.stream), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pieces.pool, 0), poolSuccess);
    REQUIRE_EQUAL(test_reserved(pieces.pool), 0);
}

static void join_before_at(const struct test_place *place) {
    join_at(place, false);
}

static void join_after_at(const struct test_place *place) {
    join_at(place, true);
}

void row_memory_of_the_host_in_pieces_keeps_every_byte(void) {
    test_require_mapped_host();
    test_load_kernels();
    test_for_each_place(TEST_PINNED, join_before_at);
}

void row_a_device_with_access_uses_memory_of_the_host_that_is_joined_later(void) {
    test_require_mapped_host();
    test_load_kernels();
    test_for_each_place(TEST_PINNED, join_after_at);
}

// The pieces are handed out again by their own addresses while the view of them is kept. What work
// wrote through the one address stands at the other, for whoever has the memory next.
static void read_aliases_at(const struct test_place *place) {
    struct pieces pieces;
    void *parts[PIECES / 2];
    join_pieces(&pieces, place, true);
    test_fill(pieces.joined, 71, MIB(26), pieces.stream);
    test_free(pieces.joined, pieces.stream);
    for (unsigned i = 0; i < PIECES / 2; i++) {
        parts[i] = test_malloc(pieces.pool, MIB(4), pieces.stream);
        test_fill(parts[i], (unsigned char)(80 + i), MIB(4), pieces.stream);
    }
    test_finish(pieces.stream);
    for (unsigned i = 0; i < PIECES / 2; i++)
        REQUIRE(test_host_is_filled(parts[i], (unsigned char)(80 + i), MIB(4)));
    require_neighbours(&pieces);
    for (unsigned i = 0; i < PIECES / 2; i++)
        test_free(parts[i], pieces.stream);
    EXPECT(poolStreamSynchronize(pieces.stream), poolSuccess);
    void *again = test_malloc(pieces.pool, MIB(26), pieces.stream);
    test_host_fill(again, 72, MIB(26));
    require_neighbours(&pieces);
    REQUIRE(test_is_filled(again, 72, MIB(26)));
    EXPECT(poolMemPoolDestroy(pieces.pool), poolSuccess);
    test_free(again, pieces.stream);
    for (unsigned i = 1; i < PIECES; i += 2)
        test_free(pieces.blocks[i], pieces.stream);
    EXPECT(poolStreamSynchronize(pieces.stream), poolSuccess);
}

void row_the_host_uses_memory_by_both_of_its_addresses(void) {
    test_require_mapped_host();
    test_for_each_place(TEST_PINNED, read_aliases_at);
}

// Work through the joined block is pending: its pieces go to no other stream, by whichever address.
static void claim_pieces_at(const struct test_place *place) {
    struct pieces pieces;
    struct test_hold hold;
    void *pointer = NULL;
    CUstream other = test_stream();
    join_pieces(&pieces, place, true);
    test_set_all_policies(pieces.pool, 0);
    test_hold(&hold, pieces.stream);
    test_fill(pieces.joined, 71, MIB(26), pieces.stream);
    test_free(pieces.joined, pieces.stream);
    EXPECT(poolMallocAsyncWithFlags(&pointer, MIB(4), pieces.pool, other, poolMallocNoGrowth),
           poolErrorMemoryAllocation);
    EXPECT(poolMallocAsyncWithFlags(&pointer, MIB(4), pieces.pool, pieces.stream,
                                    poolMallocNoGrowth | poolMallocCompleteOnly),
           poolErrorMemoryAllocation);
    EXPECT(poolMallocAsyncWithFlags(&pointer, MIB(26), pieces.pool, pieces.stream,
                                    poolMallocNoGrowth | poolMallocCompleteOnly),
           poolErrorMemoryAllocation);
    test_let_go(&hold);
    test_finish(pieces.stream);
    EXPECT(poolMallocAsyncWithFlags(&pointer, MIB(26), pieces.pool, pieces.stream,
                                    poolMallocNoGrowth | poolMallocCompleteOnly),
           poolSuccess);
    test_host_fill(pointer, 1, MIB(26));
    require_neighbours(&pieces);
    EXPECT(poolMemPoolDestroy(pieces.pool), poolSuccess);
    test_free(pointer, pieces.stream);
    for (unsigned i = 1; i < PIECES; i += 2)
        test_free(pieces.blocks[i], pieces.stream);
    EXPECT(poolStreamSynchronize(pieces.stream), poolSuccess);
}

void row_work_through_joined_memory_of_the_host_has_a_claim_on_the_pieces(void) {
    test_require_mapped_host();
    test_for_each_place(TEST_PINNED, claim_pieces_at);
}

// ------------------------------------------------------------------------------------ two devices

static CUstream stream_of(int device) {
    test_use_device(device);
    CUstream stream = test_stream();
    test_use_device(0);
    return stream;
}

static void require_two_devices(void) {
    if (test_device_count() < 2)
        test_skip("there is one device");
}

static void share_devices_at(const struct test_place *place) {
    poolMemPool_t pool = test_keeping_pool_at(place);
    CUstream near = stream_of(0), far = stream_of(1);
    for (size_t i = 0; i < SIZES; i++) {
        void *block = test_malloc(pool, sizes[i], i % 2 ? near : far);
        if (i == 0) {
            test_let_in(pool, 0);
            test_let_in(pool, 1);
        }
        test_use_device(1);
        test_fill(block, 21, sizes[i], far);
        test_finish(far);
        REQUIRE(test_host_is_filled(block, 21, sizes[i]));
        test_use_device(0);
        test_fill(block, 22, sizes[i], near);
        test_finish(near);
        REQUIRE(test_host_is_filled(block, 22, sizes[i]));
        test_free(block, i % 2 ? far : near);
    }
}

void row_streams_of_all_devices_use_a_pool_of_the_host(void) {
    require_two_devices();
    test_for_each_place(TEST_ALL, share_devices_at);
}

// In two devices' order, too.
static void order_devices_at(const struct test_place *place) {
    poolMemPool_t pool = test_limited_pool_at(place, MIB(32));
    CUstream near = stream_of(0), far = stream_of(1);
    struct test_hold hold;
    void *pointer = NULL;
    test_let_in(pool, 1);
    test_set_attribute(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    void *block = test_malloc(pool, MIB(32), far);
    test_use_device(1);
    test_hold(&hold, far);
    test_fill(block, 1, MIB(32), far);
    test_free(block, far);
    test_use_device(0);
    test_set_flag(pool, poolMemPoolReuseAllowInternalDependencies, 0);
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(32), pool, near), poolErrorMemoryAllocation);
    EXPECT(poolMallocFromPool(&pointer, MIB(32), pool), poolErrorMemoryAllocation);
    EXPECT(poolDeviceSynchronize(), poolSuccess); // of the first device
    EXPECT(poolMallocFromPoolAsync(&pointer, MIB(32), pool, near), poolErrorMemoryAllocation);
    test_let_go(&hold);
    test_use_device(1);
    EXPECT(poolStreamSynchronize(far), poolSuccess);
    test_use_device(0);
    REQUIRE(test_malloc(pool, MIB(32), near) == block);
    REQUIRE(test_host_is_filled(block, 1, MIB(32)));
    test_free(block, near);
    EXPECT(poolStreamSynchronize(near), poolSuccess);
    EXPECT(poolMemPoolTrimTo(pool, 0), poolSuccess);
}

void row_memory_of_the_host_waits_for_streams_of_another_device(void) {
    require_two_devices();
    test_for_each_place(TEST_LIMITED, order_devices_at);
}

static void let_devices_in_at(const struct test_place *place) {
    poolMemPool_t pool = test_pool_at(place);
    const struct poolMemLocation second = {poolMemLocationTypeDevice, 1};
    enum poolMemAccessFlags flags = poolMemAccessFlagsProtRead;
    test_let_in(pool, 0);
    EXPECT(poolMemPoolGetAccess(&flags, pool, &second), poolSuccess);
    REQUIRE(flags == poolMemAccessFlagsProtNone);
    test_let_in(pool, 1);
    test_keep_out(pool, 0);
    EXPECT(poolMemPoolGetAccess(&flags, pool, &second), poolSuccess);
    REQUIRE(flags == poolMemAccessFlagsProtReadWrite);
}

void row_each_device_is_let_in_to_memory_of_the_host_by_itself(void) {
    require_two_devices();
    test_for_each_place(TEST_LIMITED, let_devices_in_at);
}
