// What a reset of a device without virtual memory management leaves of its pools.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "base/page_map.h"
#include "unit/fixture/pool.h"

static CUstream stream;
static poolMemPool_t pool;

static int setup(void **state) {
    (void)state;
    if (fixture_begin("vmm=missing,memory=1G") != 0)
        return -1;
    pool = fixture_pool();
    stream = simulated_stream();
    return 0;
}

static void reset(void) {
    CUdevice device;
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuDeviceGet(&device, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(device), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
    stream = simulated_stream();
}

static uint64_t allocations(void) {
    simcudaLive live;
    simcudaGetLive(&live);
    return live.allocations;
}

static struct poolPointerAttributes attributes_of(const void *pointer) {
    struct poolPointerAttributes attributes;
    assert_int_equal(poolPointerGetAttributes(&attributes, pointer), poolSuccess);
    return attributes;
}

static void use(void *pointer, size_t size) {
    assert_int_equal(sp_driver->cuMemsetD8Async((uintptr_t)pointer, 1, size, stream), CUDA_SUCCESS);
}

// Memory that can be used, and is freed again.
static void allocate_and_free(size_t size) {
    void *pointer = fixture_malloc(pool, size, stream);
    use(pointer, size);
    fixture_free(pointer, stream);
    fixture_synchronize(stream);
}

static bool overlap(const char *a, size_t size_a, const char *b, size_t size_b) {
    return a < b + size_b && b < a + size_a;
}

static void expect_nothing_left(void) {
    fixture_synchronize(stream);
    fixture_trim(pool, 0);
    assert_int_equal(fixture_reserved(pool), 0);
    assert_int_equal(fixture_used(pool), 0);
    assert_int_equal(allocations(), 0);
    fixture_check(pool);
}

// ------------------------------------------------------------------------------------ live blocks

static void a_live_block_is_known_until_it_is_freed(void **state) {
    (void)state;
    char *live = fixture_malloc(pool, MIB(8), stream);
    fixture_free(fixture_malloc(pool, MIB(16), stream), stream);
    fixture_synchronize(stream);
    reset();
    uint64_t frees = simcudaCallCount("cuMemFree");
    char *block = fixture_malloc(pool, MIB(16), stream);
    assert_false(overlap(block, MIB(16), live, MIB(8)));
    use(block, MIB(16));
    assert_int_equal(fixture_reserved(pool), MIB(24));
    assert_int_equal(fixture_used(pool), MIB(24));
    assert_int_equal(attributes_of(live + MIB(7)).state, poolPointerLive);
    assert_ptr_equal(attributes_of(live + MIB(7)).base, live);
    fixture_check(pool);
    fixture_free(live, stream);
    assert_int_equal(fixture_reserved(pool), MIB(16));
    assert_int_equal(fixture_used(pool), MIB(16));
    assert_int_equal(attributes_of(live).state, poolPointerForeign);
    fixture_check(pool);
    assert_int_equal(simcudaCallCount("cuMemFree") - frees, 1); // the piece that was set aside
    fixture_free(block, stream);
    expect_nothing_left();
}

// The driver would give the addresses of before: they are taken as long as a block is live there.
static void new_memory_never_lies_where_a_live_block_of_before_is(void **state) {
    (void)state;
    char *live[4], *block[4];
    for (int i = 0; i < 4; i++)
        live[i] = fixture_malloc(pool, MIB(16), stream);
    fixture_free(live[1], stream);
    reset();
    for (int i = 0; i < 4; i++) {
        block[i] = fixture_malloc(pool, MIB(16), stream);
        use(block[i], MIB(16));
        for (int k = 0; k < 4; k++)
            assert_true(k == 1 || !overlap(block[i], MIB(16), live[k], MIB(16)));
    }
    assert_ptr_equal(block[0], live[1]); // where nothing is live the addresses are anybody's
    assert_int_equal(allocations(), 4);
    for (int i = 0; i < 4; i++) {
        assert_ptr_equal(attributes_of(block[i]).base, block[i]);
        fixture_free(block[i], stream);
        if (i != 1)
            fixture_free(live[i], stream);
    }
    fixture_check(pool);
    expect_nothing_left();
}

// A piece with small blocks, of which some are freed on other streams after the reset.
static void small_blocks_of_before_can_be_freed(void **state) {
    (void)state;
    void *live[40];
    for (size_t i = 0; i < 40; i++)
        live[i] = fixture_malloc(pool, (size_t)512 << i % 6, stream);
    reset();
    for (size_t i = 0; i < 40; i++) {
        void *block = fixture_malloc(pool, (size_t)512 << i % 6, stream);
        assert_ptr_not_equal(block, live[i]);
        use(block, (size_t)512 << i % 6);
        assert_int_equal(poolFreeAsync(live[i], i % 2 ? stream : NULL), poolSuccess);
        assert_int_not_equal(poolFreeAsync(live[i], stream), poolSuccess);
        live[i] = block;
    }
    fixture_check(pool);
    for (size_t i = 0; i < 40; i++)
        fixture_free(live[i], stream);
    expect_nothing_left();
}

static void a_free_in_no_streams_order_takes_a_block_of_before(void **state) {
    (void)state;
    void *live = fixture_malloc(pool, MIB(3), stream);
    reset();
    assert_int_equal(poolFree(live), poolSuccess);
    assert_int_equal(poolFree(live), poolErrorInvalidValue);
    allocate_and_free(MIB(3));
    expect_nothing_left();
}

// A stream that allocates from another pool has a slot that it keeps. What it frees here isn't for
// its hits.
static void a_block_of_before_is_not_given_to_the_stream_that_freed_it(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    void *live = fixture_malloc(pool, MIB(8), stream);
    reset();
    fixture_free(fixture_malloc(other, MIB(8), stream), stream);
    fixture_free(live, stream);
    void *block = fixture_malloc(pool, MIB(8), stream);
    use(block, MIB(8));
    fixture_free(block, stream);
    fixture_synchronize(stream);
    fixture_trim(other, 0);
    expect_nothing_left();
}

static void pages_that_several_blocks_share_are_forgotten_with_the_last(void **state) {
    (void)state;
    enum { COUNT = 12 };
    static const int order[COUNT] = {5, 0, 11, 6, 4, 2, 1, 9, 10, 3, 8, 7};
    char *live[COUNT];
    size_t size = KIB(64) + 512;
    for (int i = 0; i < COUNT; i++)
        live[i] = fixture_malloc(pool, size, stream);
    reset();
    assert_int_equal(poolMemPoolPrime(pool, MIB(2)), poolSuccess);
    for (int i = 0; i < COUNT; i++) {
        fixture_free(live[order[i]], stream);
        fixture_check(pool);
        for (int k = i + 1; k < COUNT; k++) {
            assert_ptr_equal(attributes_of(live[order[k]] + size - 1).base, live[order[k]]);
            assert_true(sp_page_map_has((uintptr_t)live[order[k]]));
        }
    }
    for (int i = 0; i < COUNT; i++)
        assert_false(sp_page_map_has((uintptr_t)live[i]));
    expect_nothing_left();
}

// The block lies in the middle of what the driver would give. No call of its own pool has found out
// that its memory has ended.
static void what_another_pool_had_and_freed_is_in_nobodys_way(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    void *block = fixture_malloc(other, MIB(200), stream);
    reset();
    fixture_free(block, stream);
    allocate_and_free(MIB(900));
    assert_int_equal(fixture_reserved(other), 0);
    block = fixture_malloc(other, 512, stream);
    reset();
    fixture_free(block, stream);
    assert_int_equal(poolMemPoolPrime(pool, MIB(1020)), poolSuccess);
    expect_nothing_left();
}

static void a_block_of_before_that_is_in_the_way_is_told(void **state) {
    (void)state;
    void *pointer = NULL;
    void *live = fixture_malloc(fixture_pool(), MIB(200), stream);
    reset();
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(900), pool, stream),
                     poolErrorMemoryAllocation);
    assert_non_null(strstr(poolGetLastErrorDetail(), "blocks of before a reset of the device"));
    fixture_free(live, stream);
    allocate_and_free(MIB(900));
    expect_nothing_left();
}

// ---------------------------------------------------------------------------------- several resets

static void two_resets_in_a_row_leave_the_pool_usable(void **state) {
    (void)state;
    void *live[3];
    live[0] = fixture_malloc(pool, MIB(8), stream);
    for (int i = 1; i < 3; i++) {
        reset();
        reset();
        allocate_and_free(MIB(4));
        live[i] = fixture_malloc(pool, MIB(8), stream);
        fixture_check(pool);
    }
    reset();
    assert_int_equal(fixture_used(pool), MIB(24));
    for (int i = 0; i < 3; i++)
        fixture_free(live[i], stream);
    allocate_and_free(MIB(8));
    expect_nothing_left();
}

static void a_limit_counts_what_is_live_alone(void **state) {
    (void)state;
    void *pointer = NULL;
    pool = fixture_pool_of_at_most(MIB(64));
    void *live = fixture_malloc(pool, MIB(60), stream);
    fixture_free(live, stream);
    fixture_synchronize(stream);
    live = fixture_malloc(pool, MIB(2), stream);
    assert_int_equal(fixture_reserved(pool), MIB(60));
    reset();
    void *block = fixture_malloc(pool, MIB(62), stream);
    assert_int_equal(fixture_reserved(pool), MIB(64));
    assert_int_equal(poolMallocFromPoolAsync(&pointer, MIB(2), pool, stream),
                     poolErrorMemoryAllocation);
    fixture_free(live, stream);
    void *last = fixture_malloc(pool, MIB(2), stream);
    fixture_free(block, stream);
    fixture_free(last, stream);
    expect_nothing_left();
}

// ------------------------------------------------------------------------------- trims and the end

static void a_trim_takes_what_is_free_around_live_blocks(void **state) {
    (void)state;
    void *live = fixture_malloc(pool, MIB(1), stream);
    void *small = fixture_malloc(pool, 512, stream);
    fixture_free(fixture_malloc(pool, MIB(300), stream), stream);
    reset();
    uint64_t frees = simcudaCallCount("cuMemFree");
    fixture_trim(pool, 0);
    fixture_check(pool);
    assert_in_range(fixture_reserved(pool), MIB(1) + 512, MIB(1) + KIB(512));
    fixture_free(live, stream);
    fixture_free(small, stream);
    assert_int_equal(simcudaCallCount("cuMemFree"), frees);
    expect_nothing_left();
}

static void a_synchronise_forgets_what_is_free(void **state) {
    (void)state;
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, 0);
    void *live = fixture_malloc(pool, MIB(4), stream);
    fixture_malloc(pool, 512, stream);
    reset();
    fixture_free(live, stream);
    fixture_synchronize(stream);
    fixture_check(pool);
    assert_in_range(fixture_reserved(pool), 512, MIB(2));
}

static void a_destroyed_pool_goes_with_its_last_block_of_before(void **state) {
    (void)state;
    static const size_t sizes[] = {512, MIB(1), MIB(8)};
    uint32_t *given_up = (uint32_t *)&fixture_inside(pool)->device->given_up;
    for (int i = 0; i < 12; i++) {
        poolMemPool_t other = fixture_pool();
        void *live = fixture_malloc(other, sizes[i % 3], stream);
        void *another = fixture_malloc(other, sizes[i % 3], stream);
        bool early = i / 3 % 2;
        if (early)
            assert_int_equal(poolMemPoolDestroy(other), poolSuccess);
        reset();
        if (i >= 6)
            allocate_and_free(MIB(2)); // another pool finds out
        if (!early)
            assert_int_equal(poolMemPoolDestroy(other), poolSuccess);
        fixture_free(live, stream);
        fixture_free(another, stream);
        fixture_synchronize(stream);
        assert_int_equal(*given_up, 0);
        assert_false(sp_page_map_has((uintptr_t)live));
    }
    expect_nothing_left();
}

static void a_pool_that_is_destroyed_after_a_reset_goes_at_once(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    fixture_free(fixture_malloc(other, MIB(8), stream), stream);
    reset();
    uint64_t frees = simcudaCallCount("cuMemFree");
    assert_int_equal(poolMemPoolDestroy(other), poolSuccess);
    assert_int_equal(fixture_inside(pool)->device->given_up, 0);
    assert_int_equal(simcudaCallCount("cuMemFree"), frees);
}

// ------------------------------------------------------------------------------------------
// threads

enum { THREADS = 3, ROUNDS = 40 };
static pthread_barrier_t barrier;

static void *allocate_in_a_thread(void *context) {
    unsigned long failed = 0;
    void *held[4] = {NULL};
    for (int i = 0; i < ROUNDS; i++) {
        CUstream own = NULL;
        failed += sp_driver->cuCtxSetCurrent(*(CUcontext *)context) != CUDA_SUCCESS;
        failed += sp_driver->cuStreamCreate(&own, CU_STREAM_NON_BLOCKING) != CUDA_SUCCESS;
        for (int k = 0; k < 4; k++) {
            size_t size = k % 2 ? 512 : MIB(3);
            failed += poolFreeAsync(held[k], own) != poolSuccess; // of the round before
            failed += poolMallocFromPoolAsync(&held[k], size, pool, own) != poolSuccess;
            failed += sp_driver->cuMemsetD8Async((uintptr_t)held[k], 1, size, own) != CUDA_SUCCESS;
        }
        pthread_barrier_wait(&barrier); // all have their blocks
        pthread_barrier_wait(&barrier); // the device was reset
    }
    failed += sp_driver->cuCtxSetCurrent(*(CUcontext *)context) != CUDA_SUCCESS;
    for (int k = 0; k < 4; k++)
        failed += poolFree(held[k]) != poolSuccess;
    return (void *)(uintptr_t)failed;
}

// Each thread goes on with a stream of the new context, and several find out what was lost.
static void threads_go_on_after_resets(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    CUcontext context = simulated_context();
    CUdevice device;
    void *failed = NULL;
    assert_int_equal(sp_driver->cuDeviceGet(&device, 0), CUDA_SUCCESS);
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, allocate_in_a_thread, &context), 0);
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(device), CUDA_SUCCESS);
        assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
        pthread_barrier_wait(&barrier);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    pthread_barrier_destroy(&barrier);
    fixture_check(pool);
    reset();
    expect_nothing_left();
}

int main(void) {
#define lost_test(test) cmocka_unit_test_setup_teardown(test, setup, fixture_teardown)
    const struct CMUnitTest tests[] = {
        lost_test(a_live_block_is_known_until_it_is_freed),
        lost_test(new_memory_never_lies_where_a_live_block_of_before_is),
        lost_test(small_blocks_of_before_can_be_freed),
        lost_test(a_free_in_no_streams_order_takes_a_block_of_before),
        lost_test(a_block_of_before_is_not_given_to_the_stream_that_freed_it),
        lost_test(pages_that_several_blocks_share_are_forgotten_with_the_last),
        lost_test(what_another_pool_had_and_freed_is_in_nobodys_way),
        lost_test(a_block_of_before_that_is_in_the_way_is_told),
        lost_test(two_resets_in_a_row_leave_the_pool_usable),
        lost_test(a_limit_counts_what_is_live_alone),
        lost_test(a_trim_takes_what_is_free_around_live_blocks),
        lost_test(a_synchronise_forgets_what_is_free),
        lost_test(a_destroyed_pool_goes_with_its_last_block_of_before),
        lost_test(a_pool_that_is_destroyed_after_a_reset_goes_at_once),
        lost_test(threads_go_on_after_resets),
    };
    return cmocka_run_group_tests_name("region_segment_lost", tests, NULL, NULL);
}
