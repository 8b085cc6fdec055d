// Streams whose pool has memory of another context: that may end while they go on.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/fixture/pool.h"

enum { BLOCKS = 12 };

static const size_t sizes[] = {512, KIB(4), KIB(56), KIB(60), KIB(192), MIB(8)};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static const struct poolMemPoolProps managed = {.allocType = poolMemAllocationTypeManaged,
                                                .location = {poolMemLocationTypeHost, 0}},
                                     pinned = {.allocType = poolMemAllocationTypePinned,
                                               .location = {poolMemLocationTypeHost, 0}},
                                     staged = {.allocType = poolMemAllocationTypePinned,
                                               .location = {poolMemLocationTypeHost, 0},
                                               .usage = poolMemPoolUsageStaging},
                                     of_device = {.allocType = poolMemAllocationTypePinned,
                                                  .location = {poolMemLocationTypeDevice, 0}};

static poolMemPool_t pool;
static CUstream near, far; // of device 0, whose context has the memory, and of device 1

static void use_device(int ordinal) {
    CUdevice device;
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuDeviceGet(&device, ordinal), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&context, device), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
}

// The thread goes on with device 1, as does whoever uses the stream of that one.
static void reset(void) {
    CUdevice device;
    assert_int_equal(sp_driver->cuDeviceGet(&device, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(device), CUDA_SUCCESS);
}

static int begin(void **state) {
    (void)state;
    return fixture_begin("devices=2");
}

static int begin_unmapped(void **state) {
    (void)state;
    return fixture_begin("devices=2,vmm=missing,host_vmm=missing");
}

static void make(const struct poolMemPoolProps *props) {
    pool = NULL;
    assert_int_equal(poolMemPoolCreate(&pool, props), poolSuccess);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    use_device(0);
    near = simulated_stream();
    fixture_free(fixture_malloc(pool, MIB(2), near), near);
    use_device(1);
    far = simulated_stream();
}

static void end(void) {
    fixture_synchronize(far);
    fixture_check(pool);
    assert_int_equal(fixture_used(pool), 0);
    assert_int_equal(poolMemPoolDestroy(pool), poolSuccess);
}

// Memory that the driver knows.
static void *allocate(size_t size, CUstream stream) {
    CUcontext context = NULL;
    void *block = fixture_malloc(pool, size, stream);
    assert_int_equal(
        sp_driver->cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, (uintptr_t)block),
        CUDA_SUCCESS);
    return block;
}

static void allocate_all(void *blocks[BLOCKS], size_t size) {
    for (int i = 0; i < BLOCKS; i++)
        blocks[i] = allocate(size, far);
}

// Frees each `step`th block from one on.
static void free_some(void *blocks[BLOCKS], int first, int step) {
    for (int i = first; i < BLOCKS; i += step)
        fixture_free(blocks[i], far);
}

// Some was freed before the reset, some is before the pool learns of it, and some later.
static void lose(size_t size) {
    void *before[BLOCKS], *after[BLOCKS], *last[BLOCKS];
    allocate_all(before, size);
    free_some(before, 0, 3);
    reset();
    free_some(before, 1, 3);
    allocate_all(after, size);
    free_some(before, 2, 3);
    fixture_check(pool);
    allocate_all(last, size);
    free_some(last, 0, 1);
    free_some(after, 0, 1);
    allocate_all(after, size);
    free_some(after, 0, 1);
}

static void lose_all(const struct poolMemPoolProps *props) {
    for (size_t i = 0; i < SIZES; i++) {
        make(props);
        lose(sizes[i]);
        lose(sizes[SIZES - 1 - i]);
        end();
    }
}

static void a_stream_of_another_device_gets_none_that_has_ended(void **state) {
    (void)state;
    lose_all(&managed);
    lose_all(&staged);
}

static void nor_where_no_memory_is_mapped(void **state) {
    (void)state;
    lose_all(&of_device);
    lose_all(&pinned);
}

static void nor_does_a_stream_of_another_context_of_the_device(void **state) {
    (void)state;
    for (size_t i = 0; i < SIZES; i++) {
        CUcontext own = NULL;
        make(&managed);
        assert_int_equal(sp_driver->cuCtxCreate(&own, 0, 0), CUDA_SUCCESS);
        far = simulated_stream();
        lose(sizes[i]);
        end();
    }
}

// It goes by its own order, and the pool doesn't grow.
static void as_long_as_the_context_lives_it_has_its_own_again(void **state) {
    (void)state;
    for (size_t i = 0; i < SIZES; i++) {
        make(&managed);
        void *block = allocate(sizes[i], far);
        simulated_work(far);
        fixture_free(block, far);
        assert_ptr_equal(allocate(sizes[i], far), block);
        simulated_work(far);
        fixture_free(block, far);
        assert_ptr_equal(allocate(sizes[i], far), block);
        simulated_finish(far);
        fixture_free(block, far);
        end();
    }
}

// The stream of the context itself asks nobody.
static void the_contexts_own_streams_have_theirs_at_hand(void **state) {
    (void)state;
    make(&managed);
    use_device(0);
    for (size_t i = 0; i < SIZES; i++) {
        void *block = allocate(sizes[i], near);
        fixture_free(block, near);
        uint64_t calls = simcudaCallCount("cuThreadExchangeStreamCaptureMode");
        assert_ptr_equal(fixture_malloc(pool, sizes[i], near), block);
        assert_int_equal(simcudaCallCount("cuThreadExchangeStreamCaptureMode"), calls);
        fixture_free(block, near);
    }
    end();
}

// The growth by which the device becomes plain is made for such a stream.
static void nor_where_the_device_becomes_plain_by_its_growth(void **state) {
    (void)state;
    simcudaFailCall("cuMemMap", 1, simcudaFaultOnwards, CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(poolMemPoolCreate(&pool, &of_device), poolSuccess);
    fixture_set(pool, poolMemPoolAttrReleaseThreshold, UINT64_MAX);
    use_device(1);
    far = simulated_stream();
    lose(KIB(4));
    assert_int_equal(fixture_attribute(pool, poolMemPoolAttrVirtualMemory) & 1, 0);
    end();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_stream_of_another_device_gets_none_that_has_ended),
        cmocka_unit_test_setup_teardown(nor_where_no_memory_is_mapped, begin_unmapped,
                                        fixture_teardown),
        TEST(nor_does_a_stream_of_another_context_of_the_device),
        TEST(nor_where_the_device_becomes_plain_by_its_growth),
        TEST(as_long_as_the_context_lives_it_has_its_own_again),
        TEST(the_contexts_own_streams_have_theirs_at_hand),
    };
    return cmocka_run_group_tests_name("region_lane_alien", tests, NULL, NULL);
}
