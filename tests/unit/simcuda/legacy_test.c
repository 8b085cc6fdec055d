// The legacy default stream and the blocking streams of its context, per-thread ones among them:
// what a question of each looks at, and what the host knows after it.
#include <pthread.h>

#include "unit/simcuda/fixture.h"

#define LONG (1000 * MS)

static CUstream a, b;

static int begin_legacy(void **state) {
    begin(state);
    a = make_stream();
    b = make_stream();
    return 0;
}

static CUevent record(unsigned flags, CUstream stream) {
    CUevent event;
    OK(cuEventCreate(&event, flags));
    OK(cuEventRecord(event, stream));
    return event;
}

static CUevent record_plain(CUstream stream) {
    return record(CU_EVENT_DISABLE_TIMING, stream);
}

static void expect_pending(CUevent event) {
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
}

// A question of the stream says that it is idle, and a synchronise waits for nothing.
static void expect_idle(CUstream stream) {
    uint64_t pending = simcudaPendingAll();
    OK(cuStreamQuery(stream));
    OK(cuStreamSynchronize(stream));
    assert_true(pending > 0);
    assert_int_equal(simcudaPendingAll(), pending);
}

// A question of the stream says that it is busy, and a synchronise waits for all work that takes
// time.
static void expect_busy(CUstream stream) {
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(stream));
    simcudaAdvance(0);
    assert_int_equal(simcudaPendingAll(), 0);
}

static void on_both_kinds(void (*promise)(CUstream blocking)) {
    promise(a);
    OK(cuCtxSynchronize());
    promise(CU_STREAM_PER_THREAD);
    OK(cuCtxSynchronize());
}

static void nothing(void *argument) {
    (void)argument;
}

// ------------------------------------------------------------------- questions of blocking streams

static void idle_beside_legacy(CUstream blocking) {
    spin(NULL, LONG);
    expect_idle(blocking);
}

static void an_idle_blocking_stream_does_not_see_the_legacy_streams_work(void **state) {
    (void)state;
    on_both_kinds(idle_beside_legacy);
}

static void a_plain_record_is_not_seen(CUstream blocking) {
    spin(NULL, LONG);
    CUevent first = record_plain(blocking), second = record_plain(blocking);
    expect_idle(blocking);
    expect_pending(first);
    expect_pending(second);
}

static void a_plain_record_is_pending_and_its_stream_passes_for_idle(void **state) {
    (void)state;
    on_both_kinds(a_plain_record_is_not_seen);
}

static void a_timing_record_is_seen(CUstream blocking) {
    spin(NULL, LONG);
    expect_pending(record(CU_EVENT_DEFAULT, blocking));
    expect_busy(blocking);
}

static void a_record_with_timing_is_seen_by_its_stream(void **state) {
    (void)state;
    on_both_kinds(a_timing_record_is_seen);
}

static void a_blocking_sync_record_is_seen(CUstream blocking) {
    spin(NULL, LONG);
    expect_pending(record(CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC, blocking));
    record_plain(blocking);
    expect_busy(blocking);
}

static void a_record_with_blocking_synchronisation_is_seen_by_its_stream(void **state) {
    (void)state;
    on_both_kinds(a_blocking_sync_record_is_seen);
}

static void a_complete_wait_is_not_seen(CUstream blocking) {
    CUevent complete = record_plain(NULL);
    spin(NULL, LONG);
    OK(cuStreamWaitEvent(blocking, complete, 0));
    OK(cuStreamWaitEvent(blocking, make_event(), 0));
    expect_idle(blocking);
}

static void a_wait_for_an_event_that_is_complete_or_never_recorded_is_not_seen(void **state) {
    (void)state;
    on_both_kinds(a_complete_wait_is_not_seen);
}

static void a_pending_wait_is_seen(CUstream blocking) {
    spin(NULL, LONG);
    OK(cuStreamWaitEvent(blocking, record_plain(NULL), 0));
    expect_busy(blocking);
}

static void a_wait_for_a_pending_event_is_seen(void **state) {
    (void)state;
    on_both_kinds(a_pending_wait_is_seen);
}

static void its_own_pending_wait_is_seen(CUstream blocking) {
    spin(NULL, LONG);
    OK(cuStreamWaitEvent(blocking, record_plain(blocking), 0));
    expect_busy(blocking);
}

static void a_wait_of_a_stream_for_its_own_pending_event_is_seen(void **state) {
    (void)state;
    on_both_kinds(its_own_pending_wait_is_seen);
}

static void work_is_seen(CUstream blocking) {
    spin(NULL, LONG);
    spin(blocking, US);
    expect_busy(blocking);
    spin(NULL, LONG);
    OK(cuLaunchHostFunc(blocking, nothing, NULL));
    record_plain(blocking);
    expect_busy(blocking);
}

static void work_behind_the_legacy_streams_is_seen_also_before_a_plain_record(void **state) {
    (void)state;
    on_both_kinds(work_is_seen);
}

static void a_plain_record_behind_the_streams_own_work_does_not_hide_it(void **state) {
    (void)state;
    spin(a, LONG);
    record_plain(a);
    expect_busy(a);
}

static void a_blocking_stream_does_not_see_another(void **state) {
    (void)state;
    spin(a, LONG);
    expect_idle(b);
    expect_idle(CU_STREAM_PER_THREAD);
}

static void a_non_blocking_stream_that_waits_for_a_plain_record_is_held(void **state) {
    CUstream stream = make_non_blocking_stream();
    (void)state;
    spin(NULL, LONG);
    OK(cuStreamWaitEvent(stream, record_plain(a), 0));
    expect_busy(stream);
}

static void an_event_stays_pending_though_its_stream_is_destroyed(void **state) {
    (void)state;
    spin(NULL, LONG);
    CUevent event = record_plain(a);
    OK(cuStreamDestroy_v2(a));
    expect_pending(event);
    OK(cuEventSynchronize(event));
    assert_int_equal(simcudaPending(NULL), 0);
}

// ------------------------------------------------------------------ questions of the legacy stream

static void the_idle_legacy_stream_sees_work_of_blocking_streams(void **state) {
    (void)state;
    spin(a, LONG);
    expect_busy(NULL);
    spin(CU_STREAM_PER_THREAD, LONG);
    expect_busy(CU_STREAM_LEGACY);
}

static void *spin_in_thread(void *argument) {
    OK(cuCtxSetCurrent(argument));
    spin(CU_STREAM_PER_THREAD, LONG);
    return NULL;
}

static void the_legacy_stream_sees_the_work_of_a_thread_that_has_ended(void **state) {
    pthread_t thread;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, spin_in_thread, current_context()), 0);
    pthread_join(thread, NULL);
    expect_busy(NULL);
}

static void
the_legacy_stream_sees_the_work_of_a_destroyed_stream_whose_handle_is_another_s(void **state) {
    (void)state;
    spin(a, LONG);
    OK(cuStreamDestroy_v2(a));
    assert_ptr_equal(make_stream(), a);
    expect_busy(NULL);
}

static void the_legacy_stream_and_non_blocking_streams_do_not_see_each_other(void **state) {
    CUstream stream = make_non_blocking_stream();
    (void)state;
    spin(stream, LONG);
    record_plain(NULL);
    expect_idle(NULL);
    OK(cuCtxSynchronize());
    spin(NULL, LONG);
    record_plain(stream);
    expect_idle(stream);
}

static void the_legacy_stream_does_not_see_another_contexts_streams(void **state) {
    CUcontext other;
    (void)state;
    spin(a, LONG);
    OK(cuCtxCreate_v2(&other, 0, 0));
    expect_idle(NULL);
    OK(cuCtxDestroy_v2(other));
}

static void polls_of_the_legacy_stream_end_after_the_patience(void **state) {
    unsigned polls = 1;
    (void)state;
    become("completion=latest,patience=50");
    spin(make_stream(), LONG);
    spin(make_stream(), LONG);
    while (cuStreamQuery(NULL) == CUDA_ERROR_NOT_READY)
        polls++;
    assert_int_equal(polls, 50);
}

// ------------------------------------------------------------------------------------------ chains

static void
two_blocking_streams_are_ordered_by_the_legacy_streams_action_between_them(void **state) {
    (void)state;
    spin(a, LONG);
    OK(cuEventQuery(record_plain(b)));
    expect_pending(record_plain(NULL));
    expect_idle(b);
    expect_pending(record_plain(b));
}

// ----------------------------------------------------------------------------- what the host knows

static struct memory memory;

static int begin_knowledge(void **state) {
    begin_legacy(state);
    memory = map_memory(GRANULE);
    return 0;
}

static int end_knowledge(void **state) {
    OK(cuCtxSynchronize());
    unmap_memory(memory);
    return end_without_reports(state);
}

static void write_on(CUstream stream) {
    touch(stream, "writer", memory.address, 4096, simcudaAccessWrite);
}

static void settle(void) {
    simcudaAdvance(LONG);
    assert_int_equal(simcudaPendingAll(), 0);
}

static void a_synchronise_of_the_legacy_stream_vouches_for_blocking_streams(void **state) {
    (void)state;
    write_on(a);
    OK(cuStreamSynchronize(NULL));
    write_on(b);
    OK(cuStreamSynchronize(NULL));
    write_on(CU_STREAM_PER_THREAD);
    settle();
}

static void a_query_of_the_legacy_stream_vouches_for_streams_that_are_gone(void **state) {
    (void)state;
    write_on(a);
    settle();
    OK(cuStreamDestroy_v2(a));
    OK(cuStreamQuery(NULL));
    write_on(b);
    settle();
}

static void a_query_of_the_busy_legacy_stream_vouches_for_nothing(void **state) {
    (void)state;
    write_on(a);
    settle();
    spin(CU_STREAM_PER_THREAD, LONG);
    FAILS(cuStreamQuery(NULL), CUDA_ERROR_NOT_READY);
    write_on(b);
    settle();
    expect_report("race");
}

static void a_question_of_the_legacy_stream_does_not_vouch_for_non_blocking_streams(void **state) {
    (void)state;
    write_on(make_non_blocking_stream());
    settle();
    OK(cuStreamSynchronize(NULL));
    write_on(b);
    settle();
    expect_report("race");
}

static void a_synchronise_past_a_plain_record_does_not_vouch_for_the_legacy_stream(void **state) {
    CUstream stream = make_non_blocking_stream();
    (void)state;
    write_on(NULL);
    record_plain(a);
    settle();
    OK(cuStreamSynchronize(a));
    OK(cuStreamQuery(a));
    write_on(stream);
    settle();
    expect_report("race");
}

static void a_synchronise_behind_a_seen_record_vouches_for_the_legacy_stream(void **state) {
    CUstream stream = make_non_blocking_stream();
    (void)state;
    write_on(NULL);
    record(CU_EVENT_DISABLE_TIMING | CU_EVENT_BLOCKING_SYNC, a);
    OK(cuStreamSynchronize(a));
    write_on(stream);
    settle();
}

// The driver looked at the event when the wait was called.
static void a_synchronise_vouches_for_a_complete_wait_and_not_for_the_legacy_stream(void **state) {
    CUstream first = make_non_blocking_stream(), second = make_non_blocking_stream();
    CUstream other = make_non_blocking_stream();
    (void)state;
    touch(first, "first", memory.address, 8, simcudaAccessWrite);
    OK(cuStreamWaitEvent(second, record_plain(first), 0));
    touch(second, "second", memory.address + 8, 8, simcudaAccessWrite);
    CUevent complete = record_plain(second);
    settle();
    touch(NULL, "legacy", memory.address + 16, 8, simcudaAccessWrite);
    OK(cuStreamWaitEvent(a, complete, 0));
    settle();
    OK(cuStreamSynchronize(a));
    touch(other, "other", memory.address, 16, simcudaAccessWrite);
    settle();
    expect_no_report();
    touch(other, "other", memory.address + 16, 8, simcudaAccessWrite);
    settle();
    expect_report("race");
}

int main(void) {
#define LEGACY_TEST(test)    cmocka_unit_test_setup_teardown(test, begin_legacy, end_without_reports)
#define KNOWLEDGE_TEST(test) cmocka_unit_test_setup_teardown(test, begin_knowledge, end_knowledge)
    const struct CMUnitTest tests[] = {
        LEGACY_TEST(an_idle_blocking_stream_does_not_see_the_legacy_streams_work),
        LEGACY_TEST(a_plain_record_is_pending_and_its_stream_passes_for_idle),
        LEGACY_TEST(a_record_with_timing_is_seen_by_its_stream),
        LEGACY_TEST(a_record_with_blocking_synchronisation_is_seen_by_its_stream),
        LEGACY_TEST(a_wait_for_an_event_that_is_complete_or_never_recorded_is_not_seen),
        LEGACY_TEST(a_wait_for_a_pending_event_is_seen),
        LEGACY_TEST(a_wait_of_a_stream_for_its_own_pending_event_is_seen),
        LEGACY_TEST(work_behind_the_legacy_streams_is_seen_also_before_a_plain_record),
        LEGACY_TEST(a_plain_record_behind_the_streams_own_work_does_not_hide_it),
        LEGACY_TEST(a_blocking_stream_does_not_see_another),
        LEGACY_TEST(a_non_blocking_stream_that_waits_for_a_plain_record_is_held),
        LEGACY_TEST(an_event_stays_pending_though_its_stream_is_destroyed),
        LEGACY_TEST(the_idle_legacy_stream_sees_work_of_blocking_streams),
        LEGACY_TEST(the_legacy_stream_sees_the_work_of_a_thread_that_has_ended),
        LEGACY_TEST(
            the_legacy_stream_sees_the_work_of_a_destroyed_stream_whose_handle_is_another_s),
        LEGACY_TEST(the_legacy_stream_and_non_blocking_streams_do_not_see_each_other),
        LEGACY_TEST(the_legacy_stream_does_not_see_another_contexts_streams),
        LEGACY_TEST(polls_of_the_legacy_stream_end_after_the_patience),
        LEGACY_TEST(two_blocking_streams_are_ordered_by_the_legacy_streams_action_between_them),
        KNOWLEDGE_TEST(a_synchronise_of_the_legacy_stream_vouches_for_blocking_streams),
        KNOWLEDGE_TEST(a_query_of_the_legacy_stream_vouches_for_streams_that_are_gone),
        KNOWLEDGE_TEST(a_query_of_the_busy_legacy_stream_vouches_for_nothing),
        KNOWLEDGE_TEST(a_question_of_the_legacy_stream_does_not_vouch_for_non_blocking_streams),
        KNOWLEDGE_TEST(a_synchronise_past_a_plain_record_does_not_vouch_for_the_legacy_stream),
        KNOWLEDGE_TEST(a_synchronise_behind_a_seen_record_vouches_for_the_legacy_stream),
        KNOWLEDGE_TEST(a_synchronise_vouches_for_a_complete_wait_and_not_for_the_legacy_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
