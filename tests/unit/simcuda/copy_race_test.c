// Races of copies: on both sides, in host memory, and with what the host itself does.
#include <stdlib.h>
#include <string.h>

#include "unit/simcuda/fixture.h"

#define SIZE ((size_t)4096)

static struct scene {
    CUstream first, second;
    CUdeviceptr device, other;
    unsigned char *pinned;
} scene;

static int begin_scene(const char *settings) {
    void *pinned;
    become(settings);
    scene.first = make_non_blocking_stream();
    scene.second = make_non_blocking_stream();
    OK(cuMemAlloc_v2(&scene.device, SIZE));
    OK(cuMemAlloc_v2(&scene.other, SIZE));
    OK(cuMemHostAlloc(&pinned, SIZE, 0));
    scene.pinned = pinned;
    memset(pinned, 0, SIZE);
    return 0;
}

static int begin_free(void **state) {
    (void)state;
    return begin_scene("");
}

static int begin_printing(void **state) {
    (void)state;
    return begin_scene("reports=print");
}

static void order(CUstream first, CUstream second) {
    CUevent event = make_event();
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuEventDestroy_v2(event));
}

static CUdeviceptr at(const void *memory) {
    return (uintptr_t)memory;
}

// --------------------------------------------------------------------------------- between streams

static void copies_to_the_same_pinned_bytes_race(void **state) {
    (void)state;
    OK(cuMemcpyDtoHAsync_v2(scene.pinned, scene.device, SIZE, scene.first));
    OK(cuMemcpyDtoHAsync_v2(scene.pinned + SIZE / 2, scene.other, 8, scene.second));
    OK(cuCtxSynchronize());
    expect_report("race");
}

static void copies_to_other_bytes_of_them_do_not(void **state) {
    (void)state;
    OK(cuMemcpyDtoHAsync_v2(scene.pinned, scene.device, 8, scene.first));
    OK(cuMemcpyDtoHAsync_v2(scene.pinned + 8, scene.other, 8, scene.second));
    OK(cuCtxSynchronize());
}

static void copies_from_the_same_pinned_bytes_do_not(void **state) {
    (void)state;
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    OK(cuMemcpyHtoDAsync_v2(scene.other, scene.pinned, SIZE, scene.second));
    OK(cuCtxSynchronize());
}

static void an_event_orders_copies(void **state) {
    (void)state;
    OK(cuMemcpyDtoHAsync_v2(scene.pinned, scene.device, SIZE, scene.first));
    order(scene.first, scene.second);
    OK(cuMemcpyHtoDAsync_v2(scene.other, scene.pinned, SIZE, scene.second));
    OK(cuCtxSynchronize());
}

static void a_copy_on_the_device_touches_both_sides(void **state) {
    (void)state;
    OK(cuMemcpyDtoDAsync_v2(scene.other, scene.device, SIZE, scene.first));
    touch(scene.second, "writer", scene.device, 8, simcudaAccessWrite);
    OK(cuCtxSynchronize());
    expect_report("race");
    OK(cuMemcpyDtoDAsync_v2(scene.other, scene.device, SIZE, scene.first));
    touch(scene.second, "reader", scene.other, 8, simcudaAccessRead);
    OK(cuCtxSynchronize());
    expect_report("race");
    OK(cuMemcpyDtoDAsync_v2(scene.other, scene.device, SIZE, scene.first));
    touch(scene.second, "reader", scene.device, 8, simcudaAccessRead);
    OK(cuCtxSynchronize());
}

static void what_lies_between_the_rows_of_a_copy_is_not_touched(void **state) {
    (void)state;
    const CUDA_MEMCPY2D rows = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                                .srcDevice = scene.device,
                                .srcPitch = 64,
                                .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                                .dstDevice = scene.other,
                                .dstPitch = 64,
                                .WidthInBytes = 16,
                                .Height = 8};
    OK(cuMemcpy2DAsync_v2(&rows, scene.first));
    touch(scene.second, "beside", scene.other + 64 + 16, 48, simcudaAccessWrite);
    OK(cuCtxSynchronize());
    expect_no_report();
    OK(cuMemcpy2DAsync_v2(&rows, scene.first));
    touch(scene.second, "inside", scene.other + 7 * 64 + 15, 1, simcudaAccessWrite);
    OK(cuCtxSynchronize());
    expect_report("race");
}

static void a_kernel_races_with_a_copy_from_pinned_memory(void **state) {
    (void)state;
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    fill(scene.second, at(scene.pinned), SIZE, 1);
    OK(cuCtxSynchronize());
    expect_report("race");
}

// Two threads, as each waits for its own copy.
static unsigned char shared[SIZE];

static CUcontext scenes_context;

static void copy_to_shared(void *argument) {
    const CUstream *stream = argument;
    OK(cuCtxSetCurrent(scenes_context));
    OK(cuMemcpyDtoHAsync_v2(shared, scene.device, SIZE, *stream));
}

static void copies_of_two_threads_to_the_same_pageable_bytes_race(void **state) {
    (void)state;
    begin_scene("mode=scheduled,seed=1");
    void *streams[] = {&scene.first, &scene.second};
    scenes_context = current_context();
    spin(scene.first, 5 * MS);
    spin(scene.second, 5 * MS);
    OK(simcudaRunThreads(copy_to_shared, streams, 2));
    expect_report("race");
}

static void one_after_the_other_they_do_not(void **state) {
    (void)state;
    OK(cuMemcpyDtoHAsync_v2(shared, scene.device, SIZE, scene.first));
    OK(cuMemcpyDtoHAsync_v2(shared, scene.device, SIZE, scene.second));
    simcudaHostAccess(shared, SIZE, simcudaAccessWrite);
}

// A batch reads pageable memory when it runs, and nobody waits for that.
static void
copies_from_any_number_of_pageable_buffers_are_remembered_while_they_matter(void **state) {
    (void)state;
    enum { BUFFERS = 3000 };
    static unsigned char buffers[BUFFERS][2];
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY};
    size_t size = 1, first = 0;
    for (size_t i = 0; i < BUFFERS; i++) {
        CUdeviceptr from = at(buffers[i]);
        OK(cuMemcpyBatchAsync_v2(&scene.device, &from, &size, 1, &attributes, &first, 1,
                                 scene.first));
    }
    simcudaCompleteAll();
    simcudaHostAccess(buffers[0], 1, simcudaAccessWrite);
    expect_report("race");
    OK(cuStreamSynchronize(scene.first));
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, 1, scene.first));
    simcudaHostAccess(buffers, sizeof buffers, simcudaAccessWrite);
}

// ----------------------------------------------------------------------------------- with the host

static void the_host_may_not_read_what_a_pending_copy_writes(void **state) {
    (void)state;
    spin(scene.first, 5 * MS);
    OK(cuMemcpyDtoHAsync_v2(scene.pinned, scene.device, SIZE, scene.first));
    simcudaHostAccess(scene.pinned, 1, simcudaAccessRead);
    expect_report("race");
}

static void nor_what_it_does_not_know_to_be_written(void **state) {
    (void)state;
    OK(cuMemcpyDtoHAsync_v2(scene.pinned, scene.device, SIZE, scene.first));
    simcudaCompleteAll();
    simcudaHostAccess(scene.pinned + SIZE - 1, 1, simcudaAccessRead);
    expect_report("race");
}

static void the_host_may_not_write_what_a_copy_reads(void **state) {
    (void)state;
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    simcudaHostAccess(scene.pinned, 1, simcudaAccessRead);
    expect_no_report();
    simcudaHostAccess(scene.pinned, 1, simcudaAccessWrite);
    expect_report("race");
    simcudaCompleteAll();
    simcudaHostAccess(scene.pinned, 1, simcudaAccessWrite);
    expect_report("race");
}

static void after_a_wait_the_host_may_do_both(void **state) {
    (void)state;
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    OK(cuMemcpyDtoHAsync_v2(scene.pinned, scene.device, SIZE, scene.first));
    OK(cuStreamSynchronize(scene.first));
    simcudaHostAccess(scene.pinned, SIZE, simcudaAccessRead);
    simcudaHostAccess(scene.pinned, SIZE, simcudaAccessWrite);
}

static void a_wait_for_another_stream_is_none(void **state) {
    (void)state;
    OK(cuMemcpyDtoHAsync_v2(scene.pinned, scene.device, SIZE, scene.first));
    OK(cuMemcpyDtoHAsync_v2(shared, scene.device, SIZE, scene.second));
    simcudaHostAccess(scene.pinned, SIZE, simcudaAccessRead);
    expect_report("race");
}

static void pageable_memory_that_was_taken_is_the_hosts(void **state) {
    (void)state;
    spin(scene.first, 5 * MS);
    OK(cuMemcpyHtoDAsync_v2(scene.device, shared, SIZE, scene.first));
    simcudaHostAccess(shared, SIZE, simcudaAccessWrite);
}

// ----------------------------------------------------------------------------- sources that change

static void a_source_that_changes_before_the_copy_reads_it_is_told(void **state) {
    (void)state;
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    scene.pinned[SIZE - 1]++;
    OK(cuStreamSynchronize(scene.first));
    expect_report("source-changed");
}

static void a_source_that_changes_after_the_wait_is_none(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        memset(scene.pinned, i, SIZE);
        OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
        OK(cuStreamSynchronize(scene.first));
    }
}

static void bytes_beside_the_source_may_change(void **state) {
    (void)state;
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned + 1, SIZE - 2, scene.first));
    scene.pinned[0]++;
    scene.pinned[SIZE - 1]++;
    OK(cuStreamSynchronize(scene.first));
}

static void set_it(void *memory) {
    memset(memory, 1, SIZE);
}

static void a_host_function_may_fill_the_source(void **state) {
    (void)state;
    OK(cuLaunchHostFunc(scene.first, set_it, scene.pinned));
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    OK(cuStreamSynchronize(scene.first));
}

static void an_earlier_copy_may_fill_the_source(void **state) {
    (void)state;
    spin(scene.first, 5 * MS);
    OK(cuMemsetD8Async(scene.device, 1, SIZE, scene.first));
    OK(cuMemcpyDtoHAsync_v2(scene.pinned, scene.device, SIZE, scene.first));
    OK(cuMemcpyHtoDAsync_v2(scene.other, scene.pinned, SIZE, scene.first));
    OK(cuStreamSynchronize(scene.first));
}

static void a_write_of_a_word_may_change_the_source(void **state) {
    (void)state;
    spin(scene.first, 5 * MS);
    OK(cuStreamWriteValue32_v2(scene.first, at(scene.pinned), 1, 0));
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    OK(cuStreamSynchronize(scene.first));
}

static void
the_host_may_fill_the_source_before_it_writes_the_word_that_the_stream_waits_for(void **state) {
    (void)state;
    void *word;
    OK(cuMemHostAlloc(&word, 4, 0));
    *(volatile uint32_t *)word = 0;
    OK(cuStreamWaitValue32_v2(scene.first, at(word), 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    memset(scene.pinned, 1, SIZE);
    *(volatile uint32_t *)word = 1;
    OK(cuStreamSynchronize(scene.first));
}

static void nobody_looks_while_reports_are_only_kept(void **state) {
    (void)state;
    begin_scene("reports=keep");
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    scene.pinned[0]++;
    OK(cuStreamSynchronize(scene.first));
}

// -------------------------------------------------------------------------- memory that goes early

static void pinned_memory_that_is_freed_under_a_copy_is_told(void **state) {
    (void)state;
    spin(scene.first, 5 * MS);
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    OK(cuMemFreeHost(scene.pinned));
    expect_report("host-memory-in-use");
    OK(cuCtxSynchronize());
}

static void and_if_the_host_only_does_not_know_of_its_end(void **state) {
    (void)state;
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    simcudaCompleteAll();
    OK(cuMemFreeHost(scene.pinned));
    expect_report("host-memory-in-use");
}

static void after_a_wait_it_may_go(void **state) {
    (void)state;
    OK(cuMemcpyHtoDAsync_v2(scene.device, scene.pinned, SIZE, scene.first));
    OK(cuStreamSynchronize(scene.first));
    OK(cuMemFreeHost(scene.pinned));
}

static void registered_memory_has_to_stay_as_long(void **state) {
    (void)state;
    OK(cuMemHostRegister_v2(shared, SIZE, 0));
    OK(cuMemcpyDtoHAsync_v2(shared, scene.device, SIZE, scene.first));
    OK(cuMemHostUnregister(shared));
    expect_report("host-memory-in-use");
    OK(cuMemHostRegister_v2(shared, SIZE, 0));
    OK(cuMemcpyDtoHAsync_v2(shared, scene.device, SIZE, scene.first));
    OK(cuStreamSynchronize(scene.first));
    OK(cuMemHostUnregister(shared));
}

#define RACE_TEST(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, begin_free, end_without_reports)
#define SOURCE_TEST(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, begin_printing, end_without_reports)

int main(void) {
    const struct CMUnitTest tests[] = {
        RACE_TEST(copies_to_the_same_pinned_bytes_race),
        RACE_TEST(copies_to_other_bytes_of_them_do_not),
        RACE_TEST(copies_from_the_same_pinned_bytes_do_not),
        RACE_TEST(an_event_orders_copies),
        RACE_TEST(a_copy_on_the_device_touches_both_sides),
        RACE_TEST(what_lies_between_the_rows_of_a_copy_is_not_touched),
        RACE_TEST(a_kernel_races_with_a_copy_from_pinned_memory),
        RACE_TEST(copies_of_two_threads_to_the_same_pageable_bytes_race),
        RACE_TEST(one_after_the_other_they_do_not),
        RACE_TEST(copies_from_any_number_of_pageable_buffers_are_remembered_while_they_matter),
        RACE_TEST(the_host_may_not_read_what_a_pending_copy_writes),
        RACE_TEST(nor_what_it_does_not_know_to_be_written),
        RACE_TEST(the_host_may_not_write_what_a_copy_reads),
        RACE_TEST(after_a_wait_the_host_may_do_both),
        RACE_TEST(a_wait_for_another_stream_is_none),
        RACE_TEST(pageable_memory_that_was_taken_is_the_hosts),
        SOURCE_TEST(a_source_that_changes_before_the_copy_reads_it_is_told),
        SOURCE_TEST(a_source_that_changes_after_the_wait_is_none),
        SOURCE_TEST(bytes_beside_the_source_may_change),
        SOURCE_TEST(a_host_function_may_fill_the_source),
        SOURCE_TEST(an_earlier_copy_may_fill_the_source),
        SOURCE_TEST(a_write_of_a_word_may_change_the_source),
        SOURCE_TEST(
            the_host_may_fill_the_source_before_it_writes_the_word_that_the_stream_waits_for),
        SOURCE_TEST(nobody_looks_while_reports_are_only_kept),
        RACE_TEST(pinned_memory_that_is_freed_under_a_copy_is_told),
        RACE_TEST(and_if_the_host_only_does_not_know_of_its_end),
        RACE_TEST(after_a_wait_it_may_go),
        RACE_TEST(registered_memory_has_to_stay_as_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
