// What others have reported of servers that sleep: each is a program that must end well. The number
// is that of the report.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "swap/fixture.h"
#include "unit/fixture/pool.h"

static poolMemPool_t pool;
static CUstream stream;

static int begin(void **state) {
    int failed = swap_setup(state);
    pool = failed ? NULL : fixture_pool();
    stream = failed ? NULL : simulated_stream();
    return failed;
}

// vllm 36651, torch_memory_saver 88 and 92: a collector frees tensors while the server sleeps, and
// it is sent to sleep and woken twice. Handles were released twice.
static void tensors_that_are_freed_in_a_sleep_are_released_once(void **state) {
    (void)state;
    struct swap_block kept = swap_block(pool, MIB(8), 1, stream);
    struct swap_block freed = swap_block(pool, MIB(8), 2, stream);
    for (int level = poolPauseSave; level <= poolPauseDiscard; level++) {
        swap_pause(pool, NULL, poolPauseSave);
        swap_pause(pool, NULL, poolPauseSave);
        if (freed.pointer)
            swap_free(&freed, stream);
        swap_resume(pool, NULL);
        swap_resume(pool, NULL);
        assert_true(swap_is_intact(&kept));
    }
    fixture_synchronize(stream);
    assert_int_equal(simcudaCallCount("cuMemCreate") - simcudaCallCount("cuMemRelease"),
                     fixture_attribute(pool, poolMemPoolStatExtents));
    swap_free(&kept, stream);
}

// vllm 45552 and 28714: the server is sent to sleep while a step that was launched before still
// runs. Its memory was unmapped under it, or saved too early.
static void a_step_that_runs_when_the_server_falls_asleep_ends_first(void **state) {
    (void)state;
    struct swap_block weights = swap_block(pool, MIB(8), 1, stream);
    unsigned char byte = 0;
    simulated_work(stream);
    assert_int_equal(
        sp_driver->cuMemsetD8Async((CUdeviceptr)(uintptr_t)weights.pointer, 99, MIB(8), stream),
        CUDA_SUCCESS);
    swap_pause(pool, NULL, poolPauseSave);
    swap_resume(pool, NULL);
    assert_int_equal(simcudaPeek(&byte, (uintptr_t)weights.pointer, 1), CUDA_SUCCESS);
    assert_int_equal(byte, 99);
    swap_free(&weights, stream);
}

// vllm 45611 and 43020: a tensor is freed behind work of its stream, and the server falls asleep.
static void a_tensor_that_is_freed_behind_work_is_not_unmapped_under_it(void **state) {
    (void)state;
    struct swap_block kept = swap_block(pool, MIB(8), 1, stream);
    struct swap_block freed = swap_block(pool, MIB(8), 2, stream);
    simulated_work(stream);
    assert_int_equal(
        sp_driver->cuMemsetD8Async((CUdeviceptr)(uintptr_t)freed.pointer, 5, MIB(8), stream),
        CUDA_SUCCESS);
    swap_free(&freed, stream);
    swap_pause(pool, NULL, poolPauseSave);
    swap_resume(pool, NULL);
    assert_int_equal(fixture_reserved(pool), MIB(8));
    swap_free(&kept, stream);
}

// vllm 21336: each cycle left some memory behind, until what was left lay under weights.
static void a_thousand_cycles_leave_nothing(void **state) {
    enum { CYCLES = 1000 };
    (void)state;
    poolMemPool_t cache = swap_tagged(pool, "cache");
    struct swap_block weights = swap_block(pool, MIB(4), 1, stream);
    struct swap_block small = swap_block(pool, 700, 2, stream);
    uint64_t device = 0, host = 0, addresses = 0;
    for (int i = 0; i < CYCLES; i++) {
        void *entries = fixture_malloc(cache, MIB(4), stream);
        swap_pause(pool, "cache", poolPauseDiscard);
        swap_pause(pool, "", poolPauseSave);
        assert_int_equal(simcudaMemoryInUse(0), 0);
        swap_resume(pool, NULL);
        fixture_free(entries, stream);
        if (i == 0) {
            device = simcudaMemoryInUse(0);
            host = swap_in_host();
            addresses = fixture_attribute(pool, poolMemPoolStatAddressSpace) +
                        fixture_attribute(cache, poolMemPoolStatAddressSpace);
        }
    }
    assert_int_equal(simcudaMemoryInUse(0), device);
    assert_int_equal(swap_in_host(), host);
    assert_int_equal(fixture_attribute(pool, poolMemPoolStatAddressSpace) +
                         fixture_attribute(cache, poolMemPoolStatAddressSpace),
                     addresses);
    assert_true(swap_is_intact(&weights) && swap_is_intact(&small));
    swap_free(&weights, stream);
    swap_free(&small, stream);
}

// vllm 12981 and 34602: another model has the device when the server is woken. Python went on to
// copy to where nothing was mapped, and what was mapped by then was never given back.
static void a_server_that_finds_the_device_full_sleeps_on(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    struct swap_block blocks[4];
    for (unsigned i = 0; i < 4; i++)
        blocks[i] = swap_block(pool, MIB(32), i, stream);
    swap_pause(pool, NULL, poolPauseSave);
    void *model = fixture_malloc(other, GIB(16) - MIB(80), stream);
    assert_int_equal(poolMemPoolResume(pool, NULL), poolErrorMemoryAllocation);
    assert_int_equal(simcudaMemoryInUse(0), fixture_reserved(other));
    fixture_free(model, stream);
    fixture_synchronize(stream);
    fixture_trim(other, 0);
    swap_resume(pool, NULL);
    for (unsigned i = 0; i < 4; i++) {
        assert_true(swap_is_intact(&blocks[i]));
        swap_free(&blocks[i], stream);
    }
}

// torch_memory_saver 71: weights were others once the cache and they had slept, and woke in another
// order.
static void parts_wake_in_any_order_with_what_they_held(void **state) {
    (void)state;
    struct swap_block weights = swap_block(swap_tagged(pool, "weights"), MIB(20), 1, stream);
    struct swap_block cache = swap_block(swap_tagged(pool, "cache"), MIB(20), 2, stream);
    for (unsigned i = 0; i < 4; i++) {
        swap_pause(pool, i & 1 ? "weights" : "cache", poolPauseSave);
        swap_pause(pool, NULL, poolPauseSave);
        swap_resume(pool, i & 2 ? "weights" : "cache");
        assert_true(swap_is_intact(i & 2 ? &weights : &cache));
        swap_resume(pool, NULL);
        assert_true(swap_is_intact(&weights) && swap_is_intact(&cache));
    }
    swap_free(&weights, stream);
    swap_free(&cache, stream);
}

// torch_memory_saver 90: the host's copy stayed behind the wake.
static void the_host_has_its_memory_back_once_the_server_is_awake(void **state) {
    (void)state;
    struct swap_block block = swap_block(pool, MIB(64), 1, stream);
    uint64_t before = simcudaMemoryInUse(-1);
    swap_pause(pool, NULL, poolPauseSave);
    assert_int_equal(swap_in_host(), MIB(64));
    swap_resume(pool, NULL);
    assert_int_equal(simcudaMemoryInUse(-1), before);
    swap_free(&block, stream);
}

#define REPORT(name) cmocka_unit_test_setup_teardown(name, begin, swap_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        REPORT(tensors_that_are_freed_in_a_sleep_are_released_once),
        REPORT(a_step_that_runs_when_the_server_falls_asleep_ends_first),
        REPORT(a_tensor_that_is_freed_behind_work_is_not_unmapped_under_it),
        REPORT(a_thousand_cycles_leave_nothing),
        REPORT(a_server_that_finds_the_device_full_sleeps_on),
        REPORT(parts_wake_in_any_order_with_what_they_held),
        REPORT(the_host_has_its_memory_back_once_the_server_is_awake),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
