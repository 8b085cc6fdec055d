// How long copies take by the virtual clock, and what runs beside them.
#include <stdlib.h>

#include "unit/simcuda/fixture.h"

#define SIZE ((size_t)11 << 20)
#define MIB  ((size_t)1 << 20)

static struct scene {
    CUstream first, second;
    CUdeviceptr device, other;
    void *pinned, *second_pinned, *pageable;
} scene;

static int begin_scene(void **state) {
    (void)state;
    become("");
    scene.first = make_non_blocking_stream();
    scene.second = make_non_blocking_stream();
    OK(cuMemAlloc_v2(&scene.device, SIZE));
    OK(cuMemAlloc_v2(&scene.other, SIZE));
    OK(cuMemHostAlloc(&scene.pinned, SIZE, 0));
    OK(cuMemHostAlloc(&scene.second_pinned, SIZE, 0));
    scene.pageable = calloc(1, SIZE);
    assert_non_null(scene.pageable);
    return 0;
}

static int end_scene(void **state) {
    free(scene.pageable);
    return end_without_reports(state);
}

static uint64_t until_all_is_done(uint64_t since) {
    OK(cuCtxSynchronize());
    return simcudaNow() - since;
}

// The time is that, but for the calls' own.
static void took(uint64_t time, uint64_t nanoseconds) {
    assert_in_range(time, nanoseconds, nanoseconds + 30 * US);
}

// What so many bytes of a nanosecond take.
static uint64_t at_rate(uint64_t rate) {
    return SIZE / rate;
}

static CUdeviceptr at(const void *memory) {
    return (uintptr_t)memory;
}

static void each_kind_of_copy_has_its_own_time(void **state) {
    (void)state;
    uint64_t before = simcudaNow();
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    took(until_all_is_done(before), at_rate(55));
    before = simcudaNow();
    OK(cuMemcpyDtoHAsync_v2(scene.pinned, scene.device, SIZE, scene.first));
    took(until_all_is_done(before), at_rate(55));
    before = simcudaNow();
    OK(cuMemcpyDtoDAsync_v2(scene.other, scene.device, SIZE, scene.first));
    took(until_all_is_done(before), at_rate(2000));
    before = simcudaNow();
    OK(cuMemcpyDtoHAsync_v2(scene.pageable, scene.device, SIZE, scene.first));
    took(until_all_is_done(before), at_rate(19));
    before = simcudaNow();
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pageable, SIZE, scene.first));
    took(simcudaNow() - before, SIZE * 10 / 104);
    took(until_all_is_done(before), SIZE * 10 / 104);
    before = simcudaNow();
    OK(cuMemcpyAsync(at(scene.pageable), at(scene.pinned), SIZE, scene.first));
    took(simcudaNow() - before, SIZE * 10 / 84);
}

static void devices_copy_faster_where_they_reach_each_other(void **state) {
    (void)state;
    CUcontext contexts[2];
    CUdeviceptr memory[2];
    for (size_t peers = 0; peers < 2; peers++) {
        become(peers ? "devices=2,peers=1" : "devices=2,peers=0");
        contexts[0] = current_context();
        OK(cuMemAlloc_v2(&memory[0], SIZE));
        OK(cuDevicePrimaryCtxRetain(&contexts[1], 1));
        OK(cuCtxSetCurrent(contexts[1]));
        OK(cuMemAlloc_v2(&memory[1], SIZE));
        uint64_t before = simcudaNow();
        OK(cuMemcpyPeerAsync(memory[0], contexts[0], memory[1], contexts[1], SIZE, NULL));
        took(until_all_is_done(before), at_rate(peers ? 400 : 27));
    }
}

static void copies_in_one_direction_take_turns(void **state) {
    (void)state;
    uint64_t before = simcudaNow();
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    OK(cuMemcpyHtoDAsync_v2(scene.other, scene.second_pinned, SIZE, scene.second));
    took(until_all_is_done(before), 2 * at_rate(55));
    before = simcudaNow();
    OK(cuMemcpyDtoHAsync_v2(scene.pinned, scene.device, SIZE, scene.first));
    OK(cuMemcpyDtoHAsync_v2(scene.second_pinned, scene.other, SIZE, scene.second));
    took(until_all_is_done(before), 2 * at_rate(55));
}

static void copies_in_both_directions_overlap(void **state) {
    (void)state;
    uint64_t before = simcudaNow();
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    OK(cuMemcpyDtoHAsync_v2(scene.second_pinned, scene.other, SIZE, scene.second));
    took(until_all_is_done(before), at_rate(55));
}

static void a_copy_on_the_device_overlaps_with_one_over_the_bus(void **state) {
    (void)state;
    uint64_t before = simcudaNow();
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    OK(cuMemcpyDtoDAsync_v2(scene.other, scene.other + SIZE / 2, SIZE / 2, scene.second));
    took(until_all_is_done(before), at_rate(55));
}

static void kernels_and_sets_overlap_with_copies(void **state) {
    (void)state;
    uint64_t before = simcudaNow();
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    spin(scene.second, at_rate(55) / 2);
    OK(cuMemsetD8Async(scene.other, 1, SIZE, scene.second));
    took(until_all_is_done(before), at_rate(55));
}

static void a_copy_waits_for_its_stream_and_holds_no_engine_meanwhile(void **state) {
    (void)state;
    uint64_t before = simcudaNow();
    spin(scene.first, 10 * at_rate(55));
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    OK(cuMemcpyHtoDAsync_v2(scene.other, scene.second_pinned, SIZE, scene.second));
    OK(cuStreamSynchronize(scene.second));
    took(simcudaNow() - before, at_rate(55));
    took(until_all_is_done(before), 11 * at_rate(55));
}

static void each_device_has_engines_of_its_own(void **state) {
    (void)state;
    CUcontext context;
    CUdeviceptr memory[2];
    void *pinned;
    become("devices=2");
    OK(cuMemAlloc_v2(&memory[0], SIZE));
    OK(cuMemHostAlloc(&pinned, SIZE, 0));
    CUstream first = make_non_blocking_stream();
    OK(cuDevicePrimaryCtxRetain(&context, 1));
    OK(cuCtxSetCurrent(context));
    OK(cuMemAlloc_v2(&memory[1], SIZE));
    CUstream second = make_non_blocking_stream();
    uint64_t before = simcudaNow();
    OK(cuMemcpyHtoDAsync_v2(memory[0], pinned, SIZE, first));
    OK(cuMemcpyHtoDAsync_v2(memory[1], pinned, SIZE, second));
    OK(cuStreamSynchronize(first));
    OK(cuStreamSynchronize(second));
    took(simcudaNow() - before, at_rate(55));
}

static void small_copies_of_a_batch_take_a_microsecond_each(void **state) {
    (void)state;
    CUdeviceptr to[100], from[100];
    size_t sizes[100], first = 0;
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    for (size_t i = 0; i < 100; i++) {
        to[i] = scene.device + i * (SIZE / 100);
        from[i] = at(scene.pinned) + i * (SIZE / 100);
        sizes[i] = 1;
    }
    uint64_t before = simcudaNow();
    OK(cuMemcpyBatchAsync_v2(to, from, sizes, 100, &attributes, &first, 1, scene.first));
    took(until_all_is_done(before), 100 * US);
}

static void pinned_memory_takes_time_by_its_size(void **state) {
    (void)state;
    void *memory;
    uint64_t before = simcudaNow();
    OK(cuMemHostAlloc(&memory, 64, 0));
    took(simcudaNow() - before, 40 * US);
    before = simcudaNow();
    OK(cuMemHostAlloc(&memory, 8 * MIB, 0));
    took(simcudaNow() - before, 40 * US + 8 * 525 * US);
    before = simcudaNow();
    OK(cuMemFreeHost(memory));
    took(simcudaNow() - before, 40 * US + 8 * 152 * US);
    before = simcudaNow();
    OK(cuMemHostRegister_v2(scene.pageable, 8 * MIB, 0));
    took(simcudaNow() - before, 8 * 56 * US);
    before = simcudaNow();
    OK(cuMemHostUnregister(scene.pageable));
    took(simcudaNow() - before, 8 * 22 * US);
}

// What was pending at the reset occupies no engine after it.
static void the_times_are_the_same_after_a_reset(void **state) {
    uint64_t times[2];
    for (size_t i = 0; i < 2; i++) {
        free(scene.pageable);
        begin_scene(state);
        OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
        OK(cuMemcpyHtoDAsync_v2(scene.other, scene.second_pinned, SIZE, scene.second));
        OK(cuCtxSynchronize());
        times[i] = simcudaNow();
        OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    }
    assert_int_equal(times[0], times[1]);
}

#define TIME_TEST(function) cmocka_unit_test_setup_teardown(function, begin_scene, end_scene)

int main(void) {
    const struct CMUnitTest tests[] = {
        TIME_TEST(each_kind_of_copy_has_its_own_time),
        TIME_TEST(devices_copy_faster_where_they_reach_each_other),
        TIME_TEST(copies_in_one_direction_take_turns),
        TIME_TEST(copies_in_both_directions_overlap),
        TIME_TEST(a_copy_on_the_device_overlaps_with_one_over_the_bus),
        TIME_TEST(kernels_and_sets_overlap_with_copies),
        TIME_TEST(a_copy_waits_for_its_stream_and_holds_no_engine_meanwhile),
        TIME_TEST(each_device_has_engines_of_its_own),
        TIME_TEST(small_copies_of_a_batch_take_a_microsecond_each),
        TIME_TEST(pinned_memory_takes_time_by_its_size),
        TIME_TEST(the_times_are_the_same_after_a_reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
