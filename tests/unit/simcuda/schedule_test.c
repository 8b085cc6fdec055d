// Scheduled mode: one seed gives one run, different seeds give different ones, a held lock and a
// blocked thread let others run; and free mode under many threads, for a thread sanitizer to watch.
#include <stdio.h>
#include <string.h>

#include "base/lock.h"
#include "unit/simcuda/fixture.h"

enum { THREADS = 4, STEPS = 50 };

static char trace[THREADS * STEPS + 1];
static size_t traced;

struct worker {
    CUcontext context;
    char name;
};

static struct worker workers[THREADS];
static void *arguments[THREADS];

static int prepare(const char *settings) {
    become(settings);
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){current_context(), (char)('a' + i)};
        arguments[i] = &workers[i];
    }
    memset(trace, 0, sizeof(trace));
    traced = 0;
    return 0;
}

// One thread runs at a time, so the trace needs no lock.
static void make_calls(void *argument) {
    const struct worker *worker = argument;
    OK(cuCtxSetCurrent(worker->context));
    for (int i = 0; i < STEPS; i++) {
        OK(cuStreamQuery(NULL));
        trace[traced++] = worker->name;
    }
}

static unsigned burst = 1;

static uint64_t run_with_seed(uint64_t seed, char *copy) {
    char settings[64];
    snprintf(settings, sizeof(settings), "mode=scheduled,seed=%llu,burst=%u",
             (unsigned long long)seed, burst);
    prepare(settings);
    OK(simcudaRunThreads(make_calls, arguments, THREADS));
    assert_int_equal(traced, THREADS * STEPS);
    memcpy(copy, trace, sizeof(trace));
    return simcudaTraceDigest();
}

static void one_seed_gives_one_interleaving(void **state) {
    char first[sizeof(trace)], second[sizeof(trace)];
    (void)state;
    uint64_t digest = run_with_seed(7, first);
    for (int i = 0; i < 5; i++) {
        assert_true(run_with_seed(7, second) == digest);
        assert_string_equal(first, second);
    }
}

static void another_seed_gives_another_interleaving(void **state) {
    char first[sizeof(trace)], second[sizeof(trace)];
    (void)state;
    uint64_t digest = run_with_seed(7, first);
    assert_true(run_with_seed(8, second) != digest);
    assert_string_not_equal(first, second);
}

static unsigned count_switches(void) {
    char copy[sizeof(trace)];
    unsigned switches = 0;
    run_with_seed(3, copy);
    for (size_t i = 1; i < traced; i++)
        switches += copy[i] != copy[i - 1];
    return switches;
}

static void threads_are_switched_at_calls(void **state) {
    (void)state;
    assert_true(count_switches() > THREADS * STEPS / 4);
}

static void in_bursts_they_are_switched_less(void **state) {
    (void)state;
    burst = 16;
    unsigned switches = count_switches();
    burst = 1;
    assert_in_range(switches, 1, THREADS * STEPS / 8);
}

// ------------------------------------------------------------------------------ locks and blocking

static struct sp_lock lock;
static unsigned guarded;

static void hold_a_lock_across_calls(void *argument) {
    const struct worker *worker = argument;
    OK(cuCtxSetCurrent(worker->context));
    for (int i = 0; i < STEPS; i++) {
        sp_lock_acquire(&lock);
        unsigned before = guarded;
        OK(cuStreamQuery(NULL));
        guarded = before + 1;
        sp_lock_release(&lock);
    }
}

static void a_thread_that_finds_a_lock_held_lets_its_owner_run(void **state) {
    (void)state;
    prepare("mode=scheduled,seed=5");
    guarded = 0;
    sp_lock_set_hook(simcudaLockEvent);
    OK(simcudaRunThreads(hold_a_lock_across_calls, arguments, THREADS));
    sp_lock_set_hook(NULL);
    assert_int_equal(guarded, THREADS * STEPS);
}

static void the_mode_can_be_asked_for(void **state) {
    (void)state;
    prepare("mode=scheduled");
    assert_int_equal(simcudaIsScheduled(), 1);
    prepare("mode=free");
    assert_int_equal(simcudaIsScheduled(), 0);
}

static void record_into_a_full_queue(void *argument) {
    const struct worker *worker = argument;
    OK(cuCtxSetCurrent(worker->context));
    CUevent event = make_event();
    for (int i = 0; i < STEPS; i++)
        OK(cuEventRecord(event, CU_STREAM_PER_THREAD));
    OK(cuEventSynchronize(event));
    OK(cuEventDestroy_v2(event));
}

static void full_queues_and_waits_let_others_run(void **state) {
    (void)state;
    prepare("mode=scheduled,seed=9,queue=2,completion=latest");
    OK(simcudaRunThreads(record_into_a_full_queue, arguments, THREADS));
    assert_true(simcudaQueueFullCount() >= THREADS * (STEPS - 2));
}

static void count_up(void *argument) {
    ++*(unsigned *)argument;
}

static void launch_host_functions(void *argument) {
    const struct worker *worker = argument;
    unsigned count = 0;
    OK(cuCtxSetCurrent(worker->context));
    for (int i = 0; i < 5; i++)
        OK(cuLaunchHostFunc(CU_STREAM_PER_THREAD, count_up, &count));
    OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
    assert_int_equal(count, 5);
}

static void host_functions_take_part_in_the_schedule(void **state) {
    uint64_t digest = 0;
    (void)state;
    for (int i = 0; i < 3; i++) {
        prepare("mode=scheduled,seed=11,completion=seeded");
        OK(simcudaRunThreads(launch_host_functions, arguments, THREADS));
        assert_true(i == 0 || digest == simcudaTraceDigest());
        digest = simcudaTraceDigest();
    }
}

static void a_registered_thread_can_run_threads_itself(void **state) {
    (void)state;
    prepare("mode=scheduled,seed=2");
    simcudaThreadRegister();
    OK(cuStreamQuery(NULL));
    OK(simcudaRunThreads(make_calls, arguments, THREADS));
    OK(cuStreamQuery(NULL));
    simcudaThreadUnregister();
    assert_int_equal(traced, THREADS * STEPS);
}

// --------------------------------------------------------------------------------------- free mode

static void use_everything(void *argument) {
    const struct worker *worker = argument;
    unsigned long long id;
    CUstreamCaptureStatus status;
    OK(cuCtxSetCurrent(worker->context));
    for (int i = 0; i < 20; i++) {
        CUstream stream = make_stream();
        CUevent event = make_event();
        struct memory memory = map_memory(GRANULE);
        touch(stream, "worker", memory.address, 64, simcudaAccessWrite);
        OK(cuStreamGetId(stream, &id));
        OK(cuStreamIsCapturing(stream, &status));
        OK(cuEventRecord(event, stream));
        OK(cuStreamWaitEvent(CU_STREAM_PER_THREAD, event, 0));
        touch(CU_STREAM_PER_THREAD, "worker", memory.address, 64, simcudaAccessWrite);
        OK(cuEventRecord(event, NULL));
        OK(cuStreamDestroy_v2(stream));
        OK(cuEventSynchronize(event));
        OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
        OK(cuEventDestroy_v2(event));
        unmap_memory(memory);
    }
}

static void threads_run_freely_side_by_side(void **state) {
    simcudaLive live;
    (void)state;
    prepare("");
    OK(simcudaRunThreads(use_everything, arguments, THREADS));
    OK(cuCtxSynchronize());
    simcudaGetLive(&live);
    assert_int_equal(live.streams + live.events + live.mappings + live.extents + live.ranges, 0);
}

int main(void) {
#define SCHEDULE_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end_without_reports)
    const struct CMUnitTest tests[] = {
        SCHEDULE_TEST(one_seed_gives_one_interleaving),
        SCHEDULE_TEST(another_seed_gives_another_interleaving),
        SCHEDULE_TEST(threads_are_switched_at_calls),
        SCHEDULE_TEST(in_bursts_they_are_switched_less),
        SCHEDULE_TEST(the_mode_can_be_asked_for),
        SCHEDULE_TEST(a_thread_that_finds_a_lock_held_lets_its_owner_run),
        SCHEDULE_TEST(full_queues_and_waits_let_others_run),
        SCHEDULE_TEST(host_functions_take_part_in_the_schedule),
        SCHEDULE_TEST(a_registered_thread_can_run_threads_itself),
        SCHEDULE_TEST(threads_run_freely_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
