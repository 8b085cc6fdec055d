// When work completes: by the virtual clock, as late as it can, by a seed, by hand; what waits for
// what; full queues and host functions.
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#include "unit/simcuda/fixture.h"

static void time_passes_by_calls_and_waits_and_not_by_itself(void **state) {
    CUstream stream = make_stream();
    (void)state;
    spin(stream, MS);
    uint64_t before = simcudaNow();
    assert_int_equal(simcudaNow(), before);
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    assert_true(simcudaNow() > before);
    OK(cuStreamSynchronize(stream));
    assert_in_range(simcudaNow(), before + 900 * US, before + 1100 * US);
    simcudaAdvance(7);
    uint64_t after = simcudaNow();
    simcudaAdvance(7);
    assert_int_equal(simcudaNow(), after + 7);
}

static void a_poller_sees_work_complete(void **state) {
    CUstream stream = make_stream();
    unsigned polls = 0;
    (void)state;
    spin(stream, MS);
    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
        polls++;
    assert_in_range(polls, 1000, 5000);
}

static void work_of_two_streams_runs_side_by_side(void **state) {
    CUstream first = make_stream(), second = make_stream();
    (void)state;
    uint64_t before = simcudaNow();
    spin(first, 10 * MS);
    spin(second, 10 * MS);
    OK(cuCtxSynchronize());
    assert_in_range(simcudaNow() - before, 10 * MS, 11 * MS);
}

static void work_of_one_stream_runs_in_turn(void **state) {
    CUstream stream = make_stream();
    (void)state;
    uint64_t before = simcudaNow();
    spin(stream, 10 * MS);
    spin(stream, 10 * MS);
    OK(cuStreamSynchronize(stream));
    assert_in_range(simcudaNow() - before, 20 * MS, 21 * MS);
}

static void work_that_takes_for_ever_does_not_end_at_once(void **state) {
    CUstream stream = make_stream(), other = make_stream();
    (void)state;
    spin(stream, UINT64_MAX);
    spin(other, MS);
    simcudaAdvance(1000 * MS);
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    OK(cuStreamQuery(other));
    OK(cuStreamSynchronize(stream));
    spin(stream, MS);
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(stream));
}

static uint64_t cost_of_mapping(uint64_t size, unsigned extents) {
    CUdeviceptr address = reserve(size);
    uint64_t before = simcudaNow(), piece = size / extents;
    for (unsigned i = 0; i < extents; i++)
        OK(cuMemMap(address + i * piece, piece, 0, create_extent(piece), 0));
    allow(address, size);
    return simcudaNow() - before;
}

static void mapping_costs_the_host_by_the_extent_more_than_by_the_byte(void **state) {
    const uint64_t size = (uint64_t)2 << 30;
    (void)state;
    uint64_t one = cost_of_mapping(size, 1), many = cost_of_mapping(size, 1024);
    assert_in_range(one, 50 * US, 200 * US);
    assert_in_range(many, 20 * MS, 50 * MS);
}

static void queries_cost_the_host_time_too(void **state) {
    CUstream stream = make_stream();
    CUstreamCaptureStatus status;
    (void)state;
    uint64_t before = simcudaNow();
    for (int i = 0; i < 1000; i++)
        OK(cuStreamIsCapturing(stream, &status));
    assert_int_equal(simcudaNow() - before, 25 * US);
}

static void a_spinning_kernel_ends_when_its_flag_is_set(void **state) {
    CUstream stream = make_stream();
    CUdeviceptr flag;
    const uint32_t set = 1;
    (void)state;
    OK(cuMemAlloc_v2(&flag, 4));
    spin_until(stream, 1000 * MS, flag);
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    uint64_t before = simcudaNow();
    OK(simcudaPoke(flag, &set, sizeof(set)));
    OK(cuStreamSynchronize(stream));
    assert_true(simcudaNow() - before < MS);
    spin_until(stream, 1000 * MS, flag);
    OK(cuStreamSynchronize(stream));
    assert_true(simcudaNow() - before < MS);
}

static void another_stream_can_set_the_flag(void **state) {
    CUstream spinning = make_non_blocking_stream(), setting = make_non_blocking_stream();
    CUdeviceptr flag;
    (void)state;
    OK(cuMemAlloc_v2(&flag, 4));
    spin_until(spinning, 1000 * MS, flag);
    spin(setting, MS);
    OK(cuMemsetD8Async(flag, 1, 1, setting));
    uint64_t before = simcudaNow();
    OK(cuStreamSynchronize(spinning));
    assert_true(simcudaNow() - before < 2 * MS);
}

// ------------------------------------------------------------------------------------------ latest

static void latest_completes_nothing_before_a_wait(void **state) {
    (void)state;
    become("completion=latest,patience=0");
    CUstream stream = make_stream(), other = make_stream();
    CUevent event = make_event();
    OK(cuEventRecord(event, stream));
    OK(cuEventRecord(make_event(), other));
    simcudaAdvance(1000000 * MS);
    for (int i = 0; i < 10000; i++)
        FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    OK(cuEventSynchronize(event));
    OK(cuEventQuery(event));
    assert_int_equal(simcudaPending(other), 1);
}

static void latest_completes_only_what_the_wait_needs(void **state) {
    (void)state;
    become("completion=latest");
    CUstream stream = make_stream(), needed = make_stream(), other = make_stream();
    CUevent event = make_event();
    spin(other, US);
    spin(needed, MS);
    OK(cuEventRecord(event, needed));
    spin(needed, US);
    OK(cuStreamWaitEvent(stream, event, 0));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(simcudaPending(needed), 1);
    assert_int_equal(simcudaPending(other), 1);
}

static void patience_ends_a_loop_of_polls(void **state) {
    unsigned polls = 1;
    (void)state;
    become("completion=latest,patience=50");
    CUstream stream = make_stream();
    spin(stream, MS);
    while (cuStreamQuery(stream) == CUDA_ERROR_NOT_READY)
        polls++;
    assert_int_equal(polls, 50);
}

static void open_gate(void *argument) {
    sem_t *gate = argument;
    while (sem_wait(gate) != 0)
        ;
}

static void a_poll_never_waits_for_a_host_function(void **state) {
    sem_t gate;
    (void)state;
    become("completion=latest,patience=5");
    CUstream stream = make_stream();
    sem_init(&gate, 0, 0);
    OK(cuLaunchHostFunc(stream, open_gate, &gate));
    for (int i = 0; i < 20; i++)
        FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    sem_post(&gate);
    OK(cuStreamSynchronize(stream));
}

static void work_is_completed_by_hand_piece_by_piece(void **state) {
    (void)state;
    become("completion=latest");
    CUstream stream = make_stream(), other = make_stream();
    CUevent events[3];
    for (int i = 0; i < 3; i++)
        OK(cuEventRecord(events[i] = make_event(), stream));
    OK(cuEventRecord(make_event(), other));
    OK(simcudaComplete(stream, 2));
    assert_int_equal(simcudaPending(stream), 1);
    OK(cuEventQuery(events[0]));
    OK(cuEventQuery(events[1]));
    FAILS(cuEventQuery(events[2]), CUDA_ERROR_NOT_READY);
    OK(simcudaComplete(stream, 100));
    OK(cuEventQuery(events[2]));
    assert_int_equal(simcudaPending(other), 1);
    simcudaCompleteAll();
    assert_int_equal(simcudaPendingAll(), 0);
}

// ------------------------------------------------------------------------------------------ seeded

static uint64_t end_of_seeded_work(const char *settings) {
    become(settings);
    CUstream stream = make_stream();
    for (int i = 0; i < 20; i++)
        spin(stream, US);
    OK(cuStreamSynchronize(stream));
    return simcudaNow();
}

static void a_seed_chooses_when_work_completes(void **state) {
    (void)state;
    uint64_t first = end_of_seeded_work("completion=seeded,seed=1");
    uint64_t second = end_of_seeded_work("completion=seeded,seed=2");
    assert_int_equal(end_of_seeded_work("completion=seeded,seed=1"), first);
    assert_true(first != second);
    assert_true(first > end_of_seeded_work("completion=earliest"));
}

// ------------------------------------------------------------------------------------- full queues

static void a_full_queue_makes_the_next_call_wait_for_a_place(void **state) {
    (void)state;
    become("queue=4,completion=latest");
    CUstream stream = make_stream();
    CUevent event = make_event();
    for (int i = 0; i < 4; i++)
        spin(stream, MS);
    assert_int_equal(simcudaQueueFullCount(), 0);
    uint64_t before = simcudaNow();
    OK(cuEventRecord(event, stream));
    assert_int_equal(simcudaQueueFullCount(), 1);
    assert_int_equal(simcudaPending(stream), 4);
    assert_true(simcudaNow() - before >= MS - 100 * US);
}

// ---------------------------------------------------------------------------------- host functions

struct gate {
    sem_t entered, open;
    int driver_said;
};

static void pass_gate(void *argument) {
    struct gate *gate = argument;
    int count;
    gate->driver_said = (int)cuDeviceGetCount(&count);
    sem_post(&gate->entered);
    while (sem_wait(&gate->open) != 0)
        ;
}

static void a_host_function_holds_its_stream_until_it_returns(void **state) {
    CUstream stream = make_stream(), other = make_stream();
    CUevent event = make_event();
    struct gate gate;
    (void)state;
    sem_init(&gate.entered, 0, 0);
    sem_init(&gate.open, 0, 0);
    OK(cuLaunchHostFunc(stream, pass_gate, &gate));
    OK(cuEventRecord(event, stream));
    sem_wait(&gate.entered);
    simcudaAdvance(1000 * MS);
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    spin(other, MS);
    OK(cuStreamSynchronize(other));
    assert_int_equal(simcudaPending(stream), 2);
    sem_post(&gate.open);
    OK(cuStreamSynchronize(stream));
    OK(cuEventQuery(event));
    assert_int_equal(gate.driver_said, CUDA_ERROR_NOT_PERMITTED);
}

static void look_at_signals(void *mask) {
    pthread_sigmask(SIG_BLOCK, NULL, mask);
}

static void a_host_function_takes_no_signals_of_the_program(void **state) {
    CUstream stream = make_stream();
    sigset_t mask;
    (void)state;
    sigemptyset(&mask);
    OK(cuLaunchHostFunc(stream, look_at_signals, &mask));
    OK(cuStreamSynchronize(stream));
    assert_true(sigismember(&mask, SIGTERM));
    assert_true(sigismember(&mask, SIGALRM));
}

static void a_host_function_runs_though_the_host_makes_no_call(void **state) {
    CUstream stream = make_stream();
    struct gate gate;
    (void)state;
    sem_init(&gate.entered, 0, 0);
    sem_init(&gate.open, 0, 1);
    spin(stream, 1000 * MS);
    OK(cuLaunchHostFunc(stream, pass_gate, &gate));
    while (sem_wait(&gate.entered) != 0)
        ;
    OK(cuStreamSynchronize(stream));
}

static void a_reset_waits_for_a_host_function(void **state) {
    CUstream stream = make_stream();
    struct gate gate;
    (void)state;
    sem_init(&gate.entered, 0, 0);
    sem_init(&gate.open, 0, 1);
    OK(cuLaunchHostFunc(stream, pass_gate, &gate));
    spin(stream, MS);
    OK(cuLaunchHostFunc(stream, pass_gate, &gate));
    become("");
    assert_int_equal(simcudaPendingAll(), 0);
}

int main(void) {
#define COMPLETION_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end_without_reports)
    const struct CMUnitTest tests[] = {
        COMPLETION_TEST(time_passes_by_calls_and_waits_and_not_by_itself),
        COMPLETION_TEST(a_poller_sees_work_complete),
        COMPLETION_TEST(work_of_two_streams_runs_side_by_side),
        COMPLETION_TEST(work_of_one_stream_runs_in_turn),
        COMPLETION_TEST(work_that_takes_for_ever_does_not_end_at_once),
        COMPLETION_TEST(mapping_costs_the_host_by_the_extent_more_than_by_the_byte),
        COMPLETION_TEST(queries_cost_the_host_time_too),
        COMPLETION_TEST(a_spinning_kernel_ends_when_its_flag_is_set),
        COMPLETION_TEST(another_stream_can_set_the_flag),
        COMPLETION_TEST(latest_completes_nothing_before_a_wait),
        COMPLETION_TEST(latest_completes_only_what_the_wait_needs),
        COMPLETION_TEST(patience_ends_a_loop_of_polls),
        COMPLETION_TEST(a_poll_never_waits_for_a_host_function),
        COMPLETION_TEST(work_is_completed_by_hand_piece_by_piece),
        COMPLETION_TEST(a_seed_chooses_when_work_completes),
        COMPLETION_TEST(a_full_queue_makes_the_next_call_wait_for_a_place),
        COMPLETION_TEST(a_host_function_holds_its_stream_until_it_returns),
        COMPLETION_TEST(a_host_function_takes_no_signals_of_the_program),
        COMPLETION_TEST(a_host_function_runs_though_the_host_makes_no_call),
        COMPLETION_TEST(a_reset_waits_for_a_host_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
