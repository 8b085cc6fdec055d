// What streams do to words of memory: writes, waits with each condition, batches, and the order
// that a wait gives.
#include <string.h>

#include "unit/simcuda/fixture.h"

#define SIZE ((size_t)4096)

static struct scene {
    CUstream stream, other;
    CUdeviceptr word, memory;
    volatile uint64_t *host;
    CUdeviceptr host_word;
} scene;

static int begin_scene(const char *settings) {
    void *memory;
    become(settings);
    scene.stream = make_non_blocking_stream();
    scene.other = make_non_blocking_stream();
    OK(cuMemAlloc_v2(&scene.word, 8));
    OK(cuMemAlloc_v2(&scene.memory, SIZE));
    OK(cuMemHostAlloc(&memory, 8, CU_MEMHOSTALLOC_DEVICEMAP));
    OK(cuMemHostGetDevicePointer_v2(&scene.host_word, memory, 0));
    scene.host = memory;
    *scene.host = 0;
    OK(cuMemsetD32_v2(scene.word, 0, 2));
    OK(cuCtxSynchronize());
    return 0;
}

static int begin_words(void **state) {
    (void)state;
    return begin_scene("");
}

// Whether a wait for the word with this value goes on.
static bool goes_on(uint64_t word, uint64_t value, unsigned size, unsigned flags) {
    *scene.host = word;
    if (size == 4)
        OK(cuStreamWaitValue32_v2(scene.stream, scene.host_word, (uint32_t)value, flags));
    else
        OK(cuStreamWaitValue64_v2(scene.stream, scene.host_word, value, flags));
    simcudaAdvance(MS);
    bool answer = cuStreamQuery(scene.stream) == CUDA_SUCCESS;
    // The stream is free again for the next question.
    *scene.host = flags == CU_STREAM_WAIT_VALUE_AND   ? UINT64_MAX
                  : flags == CU_STREAM_WAIT_VALUE_NOR ? 0
                                                      : value;
    OK(cuStreamSynchronize(scene.stream));
    return answer;
}

static void each_condition_is_that_of_the_driver(void **state) {
    (void)state;
    assert_true(goes_on(7, 7, 4, CU_STREAM_WAIT_VALUE_EQ));
    assert_false(goes_on(8, 7, 4, CU_STREAM_WAIT_VALUE_EQ));
    assert_true(goes_on(8, 7, 4, CU_STREAM_WAIT_VALUE_GEQ));
    assert_true(goes_on(7, 7, 4, CU_STREAM_WAIT_VALUE_GEQ));
    assert_false(goes_on(6, 7, 4, CU_STREAM_WAIT_VALUE_GEQ));
    assert_true(goes_on(6, 2, 4, CU_STREAM_WAIT_VALUE_AND));
    assert_false(goes_on(4, 2, 4, CU_STREAM_WAIT_VALUE_AND));
    assert_true(goes_on(4, 2, 4, CU_STREAM_WAIT_VALUE_NOR));
    assert_false(goes_on(0xFFFFFFFD, 2, 4, CU_STREAM_WAIT_VALUE_NOR));
}

static void greater_is_meant_in_a_circle(void **state) {
    (void)state;
    assert_true(goes_on(5, 0xFFFFFFFB, 4, CU_STREAM_WAIT_VALUE_GEQ));
    assert_false(goes_on(0xFFFFFFFB, 5, 4, CU_STREAM_WAIT_VALUE_GEQ));
    assert_false(goes_on(5, 0xFFFFFFFB, 8, CU_STREAM_WAIT_VALUE_GEQ));
    assert_true(goes_on(5, UINT64_MAX - 4, 8, CU_STREAM_WAIT_VALUE_GEQ));
}

static void a_short_wait_looks_at_four_bytes_and_a_long_one_at_eight(void **state) {
    (void)state;
    assert_true(goes_on((uint64_t)1 << 32 | 7, 7, 4, CU_STREAM_WAIT_VALUE_EQ));
    assert_false(goes_on((uint64_t)1 << 32 | 7, 7, 8, CU_STREAM_WAIT_VALUE_EQ));
    assert_true(goes_on((uint64_t)1 << 40, (uint64_t)1 << 40, 8, CU_STREAM_WAIT_VALUE_AND));
    assert_false(goes_on(UINT64_MAX, 1, 8, CU_STREAM_WAIT_VALUE_NOR));
    assert_true(goes_on(UINT64_MAX >> 1, 1, 8, CU_STREAM_WAIT_VALUE_NOR));
}

static void a_write_comes_in_the_order_of_its_stream(void **state) {
    (void)state;
    spin(scene.stream, 5 * MS);
    OK(cuStreamWriteValue32_v2(scene.stream, scene.host_word, 0xAABBCCDD, 0));
    assert_true(*scene.host == 0);
    OK(cuStreamSynchronize(scene.stream));
    assert_true(*scene.host == 0xAABBCCDD);
    OK(cuStreamWriteValue64_v2(scene.stream, scene.word, UINT64_MAX - 1,
                               CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
    OK(cuStreamSynchronize(scene.stream));
    assert_int_equal(word_at(scene.word), 0xFFFFFFFE);
    assert_int_equal(word_at(scene.word + 4), 0xFFFFFFFF);
}

static void what_follows_a_wait_runs_after_the_write(void **state) {
    (void)state;
    OK(cuStreamWaitValue32_v2(scene.stream, scene.word, 1, CU_STREAM_WAIT_VALUE_GEQ));
    OK(cuMemsetD32Async(scene.memory, 5, 1, scene.stream));
    simcudaAdvance(100 * MS);
    FAILS(cuStreamQuery(scene.stream), CUDA_ERROR_NOT_READY);
    assert_int_equal(word_at(scene.memory), 0);
    OK(cuStreamWriteValue32_v2(scene.other, scene.word, 1, 0));
    OK(cuStreamSynchronize(scene.stream));
    assert_int_equal(word_at(scene.memory), 5);
}

static void a_wait_of_the_host_goes_on_when_another_stream_comes_to_write(void **state) {
    (void)state;
    const char *const settings[] = {"", "completion=latest,patience=0", "completion=seeded"};
    for (size_t i = 0; i < 3; i++) {
        begin_scene(settings[i]);
        OK(cuStreamWaitValue64_v2(scene.stream, scene.word, 1, CU_STREAM_WAIT_VALUE_EQ));
        spin(scene.other, 5 * MS);
        OK(cuStreamWriteValue64_v2(scene.other, scene.word, 1, 0));
        OK(cuStreamSynchronize(scene.stream));
    }
}

static void a_poll_sees_a_plain_store(void **state) {
    (void)state;
    const char *const settings[] = {"", "completion=latest,patience=2"};
    for (size_t i = 0; i < 2; i++) {
        begin_scene(settings[i]);
        OK(cuStreamWaitValue32_v2(scene.stream, scene.host_word, 1, CU_STREAM_WAIT_VALUE_EQ));
        for (int polls = 0; polls < 10; polls++)
            FAILS(cuStreamQuery(scene.stream), CUDA_ERROR_NOT_READY);
        *scene.host = 1;
        simcudaAdvance(MS);
        simcudaAdvance(MS);
        OK(cuStreamQuery(scene.stream));
    }
}

// --------------------------------------------------------------------------------------- the order

static void a_wait_orders_what_two_streams_do(void **state) {
    (void)state;
    touch(scene.other, "writer", scene.memory, 8, simcudaAccessWrite);
    OK(cuStreamWaitValue32_v2(scene.stream, scene.word, 1, CU_STREAM_WAIT_VALUE_EQ));
    touch(scene.stream, "reader", scene.memory, 8, simcudaAccessRead);
    OK(cuStreamWriteValue32_v2(scene.other, scene.word, 1, 0));
    OK(cuCtxSynchronize());
    touch(scene.stream, "next writer", scene.memory, 8, simcudaAccessWrite);
    OK(cuStreamSynchronize(scene.stream));
    touch(scene.other, "last reader", scene.memory, 8, simcudaAccessRead);
    OK(cuCtxSynchronize());
}

static void also_when_the_write_came_first(void **state) {
    (void)state;
    touch(scene.other, "writer", scene.memory, 8, simcudaAccessWrite);
    OK(cuStreamWriteValue32_v2(scene.other, scene.word, 1, 0));
    simcudaCompleteAll();
    OK(cuStreamWaitValue32_v2(scene.stream, scene.word, 1, CU_STREAM_WAIT_VALUE_EQ));
    touch(scene.stream, "reader", scene.memory, 8, simcudaAccessRead);
    OK(cuCtxSynchronize());
}

static void also_for_streams_that_wait_for_the_one_that_waited(void **state) {
    (void)state;
    CUstream third = make_non_blocking_stream();
    CUevent event = make_event();
    touch(scene.other, "writer", scene.memory, 8, simcudaAccessWrite);
    OK(cuStreamWaitValue32_v2(scene.stream, scene.word, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuEventRecord(event, scene.stream));
    OK(cuStreamWaitEvent(third, event, 0));
    touch(third, "reader", scene.memory, 8, simcudaAccessRead);
    OK(cuStreamWriteValue32_v2(scene.other, scene.word, 1, 0));
    OK(cuCtxSynchronize());
}

static void do_nothing(void *unused) {
    (void)unused;
}

static void also_for_the_host_that_waits_for_a_host_function_behind_it(void **state) {
    (void)state;
    CUstream third = make_non_blocking_stream();
    spin(scene.other, MS);
    fill(scene.other, scene.memory, SIZE, 1);
    OK(cuStreamWriteValue32_v2(scene.other, scene.word, 1, 0));
    OK(cuStreamWaitValue32_v2(scene.stream, scene.word, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuLaunchHostFunc(scene.stream, do_nothing, NULL));
    OK(cuStreamSynchronize(scene.stream));
    fill(third, scene.memory, SIZE, 2);
    OK(cuStreamSynchronize(third));
}

static void and_its_host_memory_may_be_freed_then(void **state) {
    (void)state;
    OK(cuStreamWaitValue32_v2(scene.stream, scene.word, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuLaunchHostFunc(scene.stream, do_nothing, NULL));
    OK(cuMemcpyDtoHAsync_v2((void *)(uintptr_t)scene.host_word, scene.memory, 8, scene.other));
    OK(cuStreamWriteValue32_v2(scene.other, scene.word, 1, 0));
    OK(cuStreamSynchronize(scene.stream));
    OK(cuMemFreeHost((void *)(uintptr_t)scene.host_word));
}

static void but_not_what_the_writer_does_afterwards(void **state) {
    (void)state;
    OK(cuStreamWaitValue32_v2(scene.stream, scene.word, 1, CU_STREAM_WAIT_VALUE_EQ));
    touch(scene.stream, "reader", scene.memory, 8, simcudaAccessRead);
    OK(cuStreamWriteValue32_v2(scene.other, scene.word, 1, 0));
    touch(scene.other, "writer", scene.memory, 8, simcudaAccessWrite);
    OK(cuCtxSynchronize());
    expect_report("race");
}

static void nor_what_a_third_stream_does(void **state) {
    (void)state;
    CUstream third = make_non_blocking_stream();
    OK(cuStreamWaitValue32_v2(scene.stream, scene.word, 1, CU_STREAM_WAIT_VALUE_EQ));
    touch(scene.stream, "reader", scene.memory, 8, simcudaAccessRead);
    touch(third, "writer", scene.memory, 8, simcudaAccessWrite);
    simcudaCompleteAll();
    OK(cuStreamWriteValue32_v2(scene.other, scene.word, 1, 0));
    OK(cuCtxSynchronize());
    expect_report("race");
}

// ----------------------------------------------------------------------------------- never written

static void what_waits_for_a_word_that_nobody_writes_stays_pending(void **state) {
    (void)state;
    OK(cuStreamWaitValue32_v2(scene.stream, scene.word, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuMemsetD32Async(scene.memory, 5, 1, scene.stream));
    simcudaCompleteAll();
    OK(simcudaComplete(scene.stream, 2));
    assert_int_equal(simcudaPending(scene.stream), 2);
    const uint32_t one = 1;
    OK(simcudaPoke(scene.word, &one, sizeof one));
    simcudaCompleteAll();
    assert_int_equal(simcudaPending(scene.stream), 0);
    assert_int_equal(word_at(scene.memory), 5);
}

static void a_reset_ends_a_wait(void **state) {
    (void)state;
    OK(cuStreamWaitValue32_v2(scene.stream, scene.word, 1, CU_STREAM_WAIT_VALUE_EQ));
    begin_scene("");
    OK(cuStreamSynchronize(scene.stream));
}

static void wait_in_thread(void *context) {
    OK(cuCtxSetCurrent(context));
    OK(cuStreamSynchronize(scene.stream));
}

static void store_in_thread(void *context) {
    (void)context;
    for (int i = 0; i < 100; i++)
        simcudaYield();
    __atomic_store_n(scene.host, 1, __ATOMIC_RELEASE);
}

static void run(void *argument) {
    void **steps = argument;
    simcudaThreadFunction function;
    memcpy(&function, &steps[0], sizeof function);
    function(steps[1]);
}

static void a_store_of_another_thread_ends_a_wait(void **state) {
    (void)state;
    const char *const settings[] = {"", "mode=scheduled,seed=1", "mode=scheduled,seed=2",
                                    "completion=latest"};
    for (size_t i = 0; i < 4; i++) {
        begin_scene(settings[i]);
        simcudaThreadFunction functions[] = {wait_in_thread, store_in_thread};
        void *steps[2][2] = {{NULL, current_context()}, {NULL, NULL}};
        void *arguments[] = {steps[0], steps[1]};
        memcpy(&steps[0][0], &functions[0], sizeof functions[0]);
        memcpy(&steps[1][0], &functions[1], sizeof functions[1]);
        OK(cuStreamWaitValue32_v2(scene.stream, scene.host_word, 1, CU_STREAM_WAIT_VALUE_EQ));
        OK(simcudaRunThreads(run, arguments, 2));
        assert_int_equal(simcudaPending(scene.stream), 0);
    }
}

// ------------------------------------------------------------------------------ batches and misuse

static void a_batch_does_its_operations_in_order(void **state) {
    (void)state;
    CUstreamBatchMemOpParams operations[4] = {0};
    operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[0].writeValue.address = scene.word;
    operations[0].writeValue.value = 1;
    operations[1].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    operations[1].memoryBarrier.flags = CU_STREAM_MEMORY_BARRIER_TYPE_GPU;
    operations[2].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_64;
    operations[2].waitValue.address = scene.host_word;
    operations[2].waitValue.value64 = (uint64_t)1 << 32;
    operations[2].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    operations[3].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    operations[3].writeValue.address = scene.word;
    operations[3].writeValue.value64 = (uint64_t)3 << 32 | 2;
    OK(cuStreamBatchMemOp_v2(scene.stream, 4, operations, 0));
    simcudaAdvance(MS);
    FAILS(cuStreamQuery(scene.stream), CUDA_ERROR_NOT_READY);
    assert_int_equal(word_at(scene.word), 1);
    *scene.host = (uint64_t)1 << 32;
    OK(cuStreamSynchronize(scene.stream));
    assert_int_equal(word_at(scene.word), 2);
    assert_int_equal(word_at(scene.word + 4), 3);
}

static void a_batch_with_a_wrong_operation_does_nothing(void **state) {
    (void)state;
    CUstreamBatchMemOpParams operations[2] = {0};
    operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    operations[0].writeValue.address = scene.word;
    operations[1].operation = 77;
    FAILS(cuStreamBatchMemOp_v2(scene.stream, 2, operations, 0), CUDA_ERROR_INVALID_VALUE);
    operations[1].operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
    FAILS(cuStreamBatchMemOp_v2(scene.stream, 2, operations, 0), CUDA_ERROR_NOT_SUPPORTED);
    operations[1].flushRemoteWrites.flags = 1;
    FAILS(cuStreamBatchMemOp_v2(scene.stream, 2, operations, 0), CUDA_ERROR_INVALID_VALUE);
    operations[1] = (CUstreamBatchMemOpParams){.operation = CU_STREAM_MEM_OP_BARRIER};
    FAILS(cuStreamBatchMemOp(scene.stream, 2, operations, 0), CUDA_ERROR_INVALID_VALUE);
    operations[1].memoryBarrier.flags = 2;
    FAILS(cuStreamBatchMemOp_v2(scene.stream, 2, operations, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamBatchMemOp_v2(scene.stream, 1, operations, 1), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamBatchMemOp_v2(scene.stream, 256, operations, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamBatchMemOp_v2(scene.stream, 1, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(simcudaPending(scene.stream), 0);
    OK(cuStreamBatchMemOp(scene.stream, 1, operations, 0));
    OK(cuStreamBatchMemOp_v2(scene.stream, 0, NULL, 0));
}

static void misuse_of_a_word_is_refused(void **state) {
    (void)state;
    uint32_t pageable = 0;
    CUdeviceptr nowhere = (uintptr_t)&pageable;
    FAILS(cuStreamWaitValue32_v2(scene.stream, scene.word + 2, 1, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamWaitValue64_v2(scene.stream, scene.word + 4, 1, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamWriteValue64_v2(scene.stream, scene.word + 4, 1, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamWaitValue32_v2(scene.stream, scene.word, 1, 4), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamWriteValue32_v2(scene.stream, scene.word, 1, 2), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamWaitValue32_v2(scene.stream, nowhere, 1, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamWriteValue32_v2(scene.stream, 0, 1, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamWaitValue32_v2(scene.stream, scene.word, 1,
                                 CU_STREAM_WAIT_VALUE_EQ | CU_STREAM_WAIT_VALUE_FLUSH),
          CUDA_ERROR_NOT_SUPPORTED);
    assert_int_equal(simcudaPending(scene.stream), 0);
}

static void the_first_forms_of_the_calls_do_the_same(void **state) {
    (void)state;
    OK(cuStreamWriteValue32(scene.stream, scene.word, 1, 0));
    OK(cuStreamWaitValue32(scene.stream, scene.word, 1, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamWriteValue64(scene.stream, scene.word, 2, 0));
    OK(cuStreamWaitValue64(scene.stream, scene.word, 2, CU_STREAM_WAIT_VALUE_EQ));
    OK(cuStreamSynchronize(scene.stream));
    assert_int_equal(word_at(scene.word), 2);
}

#define WORD_TEST(function)                                                                        \
    cmocka_unit_test_setup_teardown(function, begin_words, end_without_reports)

int main(void) {
    const struct CMUnitTest tests[] = {
        WORD_TEST(each_condition_is_that_of_the_driver),
        WORD_TEST(greater_is_meant_in_a_circle),
        WORD_TEST(a_short_wait_looks_at_four_bytes_and_a_long_one_at_eight),
        WORD_TEST(a_write_comes_in_the_order_of_its_stream),
        WORD_TEST(what_follows_a_wait_runs_after_the_write),
        WORD_TEST(a_wait_of_the_host_goes_on_when_another_stream_comes_to_write),
        WORD_TEST(a_poll_sees_a_plain_store),
        WORD_TEST(a_wait_orders_what_two_streams_do),
        WORD_TEST(also_when_the_write_came_first),
        WORD_TEST(also_for_streams_that_wait_for_the_one_that_waited),
        WORD_TEST(also_for_the_host_that_waits_for_a_host_function_behind_it),
        WORD_TEST(and_its_host_memory_may_be_freed_then),
        WORD_TEST(but_not_what_the_writer_does_afterwards),
        WORD_TEST(nor_what_a_third_stream_does),
        WORD_TEST(what_waits_for_a_word_that_nobody_writes_stays_pending),
        WORD_TEST(a_reset_ends_a_wait),
        WORD_TEST(a_store_of_another_thread_ends_a_wait),
        WORD_TEST(a_batch_does_its_operations_in_order),
        WORD_TEST(a_batch_with_a_wrong_operation_does_nothing),
        WORD_TEST(misuse_of_a_word_is_refused),
        WORD_TEST(the_first_forms_of_the_calls_do_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
