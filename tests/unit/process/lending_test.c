#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "api/observe.h"
#include "order/borrow.h"
#include "order/captures.h"
#include "region/lane.h"
#include "region/unfenced.h"
#include "unit/fixture/pool.h"

// The lane of the only stream of a pool, which an observer has seen: while no capture is open its
// frees record nothing, and whoever needs the memory finds out.

static const size_t BIG = MIB(64); // more than any lane may hold back

static poolMemPool_t pool;
static CUstream a, b;

static CUstream create_seen(void) {
    CUstream stream = simulated_stream();
    sp_observe_created(stream, simulated_context(), 0);
    return stream;
}

static int setup(void **state) {
    sp_observe_all();
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool_of_at_most(BIG);
    a = create_seen();
    b = create_seen();
    return poolDeviceSetMemPool(0, pool) == poolSuccess ? 0 : -1;
}

// The next test's driver has other streams.
static int teardown(void **state) {
    struct sp_seen_place all = {simulated_context(), 0};
    unsigned bucket = 0;
    while (sp_seen_remove_of(&all, UINT64_MAX, &bucket))
        continue;
    return fixture_teardown(state);
}

// Of a test that leaves a capture counted forever.
static int teardown_of_doubt(void **state) {
    atomic_store(&sp_captures_open, 0);
    sp_borrow_resume_seen();
    return teardown(state);
}

static bool has_ids(void) {
    return sp_driver->cuStreamGetId != NULL;
}

static uint64_t recorded(void) {
    return simcudaCallCount("cuEventRecord");
}

// Memory of a pool is freed here, and no other.
static poolError_t observed_free(void *pointer, CUstream stream) {
    bool is_foreign = false;
    return sp_observe_free(pointer, stream, &is_foreign);
}

static void *allocate(CUstream stream) {
    void *pointer = NULL;
    assert_int_equal(sp_observe_malloc(&pointer, BIG, stream), poolSuccess);
    return pointer;
}

static void pair(CUstream stream) {
    assert_int_equal(observed_free(allocate(stream), stream), poolSuccess);
}

// The events that the second and later pairs of a stream record.
static uint64_t recorded_by_pair(CUstream stream) {
    pair(stream);
    uint64_t before = recorded();
    pair(stream);
    return recorded() - before;
}

// A block of the stream, freed with work in front of it.
static void *free_pending(CUstream stream) {
    void *pointer = allocate(stream);
    simulated_work(stream);
    assert_int_equal(observed_free(pointer, stream), poolSuccess);
    return pointer;
}

static bool answers_capture(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return sp_driver->cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void begin_capture(CUstream stream) {
    sp_observe_capture_begins(stream, NULL);
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                     CUDA_SUCCESS);
    sp_observe_capture_begun(stream, NULL);
}

static void end_capture(CUstream stream) {
    CUgraph graph;
    assert_int_equal(sp_driver->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    sp_observe_capture_ended(stream, NULL, answers_capture);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
}

// ------------------------------------------------------------------------------------ no capture

static void a_pair_on_a_seen_stream_records_nothing_however_large(void **state) {
    (void)state;
    pair(a);
    pair(a);
    uint64_t before = simcudaCallCount(NULL);
    pair(a);
    if (has_ids())
        assert_int_equal(simcudaCallCount(NULL), before);
}

static void a_pair_on_an_unseen_stream_records(void **state) {
    (void)state;
    CUstream unseen = simulated_stream();
    assert_int_equal(recorded_by_pair(unseen), 1);
    simulated_destroy(unseen);
}

static void a_default_stream_records(void **state) {
    (void)state;
    assert_int_equal(recorded_by_pair(NULL), 1);
    assert_int_equal(recorded_by_pair(CU_STREAM_PER_THREAD), 1);
}

// Among several streams memory is to be had as soon as it was freed.
static void with_a_second_stream_in_the_pool_each_pair_records(void **state) {
    (void)state;
    if (has_ids())
        assert_int_equal(recorded_by_pair(a), 0);
    assert_int_equal(recorded_by_pair(b), 1);
    assert_int_equal(recorded_by_pair(a), 1);
}

static void another_stream_gets_what_is_complete(void **state) {
    (void)state;
    void *freed = free_pending(a);
    simulated_finish(a);
    assert_ptr_equal(allocate(b), freed);
    assert_int_equal(observed_free(freed, b), poolSuccess);
}

static void another_stream_waits_for_what_is_pending(void **state) {
    (void)state;
    void *freed = free_pending(a);
    uint64_t before = simcudaCallCount("cuStreamWaitEvent");
    assert_ptr_equal(allocate(b), freed);
    assert_true(simcudaCallCount("cuStreamWaitEvent") > before);
    simulated_finish(a);
    assert_int_equal(observed_free(freed, b), poolSuccess);
}

static void a_destroyed_stream_leaves_an_event(void **state) {
    (void)state;
    void *freed = free_pending(a);
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    assert_ptr_equal(allocate(b), freed);
    assert_int_equal(observed_free(freed, b), poolSuccess);
}

// --------------------------------------------------------------------------------------- captures

// It would be too late for it once the driver has begun the capture.
static void what_was_held_back_gets_its_event_before_a_capture_begins(void **state) {
    (void)state;
    free_pending(a);
    uint64_t before = recorded();
    sp_observe_capture_begins(a, NULL);
    if (has_ids())
        assert_int_equal(recorded(), before + 1);
    sp_observe_capture_refused(a, NULL, answers_capture);
    simulated_finish(a);
}

static void beside_a_capture_each_pair_records(void **state) {
    (void)state;
    begin_capture(a);
    assert_int_equal(recorded_by_pair(b), 1);
    end_capture(a);
    assert_int_equal(recorded_by_pair(b), has_ids() ? 0 : 1);
}

// A record on a stream that captures would belong to the graph.
static void nothing_is_asked_of_a_stream_that_captures(void **state) {
    (void)state;
    void *freed = free_pending(a);
    begin_capture(a);
    uint64_t records = recorded();
    assert_ptr_equal(allocate(b), freed); // the event from before is behind it
    if (has_ids())
        assert_int_equal(recorded(), records);
    end_capture(a);
    simulated_finish(a);
    assert_int_equal(observed_free(freed, b), poolSuccess);
}

static void several_captures_end_in_any_order(void **state) {
    (void)state;
    CUstream c = create_seen();
    begin_capture(a);
    begin_capture(b);
    end_capture(a);
    assert_int_equal(recorded_by_pair(c), 1);
    end_capture(b);
    assert_int_equal(recorded_by_pair(c), has_ids() ? 0 : 1);
}

static void a_capture_that_ends_with_its_stream_opens_the_lanes_again(void **state) {
    (void)state;
    begin_capture(a);
    assert_int_equal(recorded_by_pair(b), 1);
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    simcudaReportClear(); // the driver may not be asked for that
    assert_int_equal(recorded_by_pair(b), has_ids() ? 0 : 1);
}

// Nobody knows what captures then.
static void after_an_unseen_capture_each_pair_records(void **state) {
    (void)state;
    CUstream unseen = simulated_stream();
    CUgraph graph;
    void *pointer;
    pair(a);
    assert_int_equal(sp_driver->cuStreamBeginCapture(unseen, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                     CUDA_SUCCESS);
    assert_int_not_equal(sp_observe_malloc(&pointer, BIG, unseen), poolSuccess);
    assert_int_equal(sp_driver->cuStreamEndCapture(unseen, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
    assert_int_equal(recorded_by_pair(a), 1);
}

// ------------------------------------------------------------------------------------
// interleavings

// The stream is borrowed while a capture is about to begin, which waits for its return.
struct both {
    struct sp_stream *stream;
    _Atomic bool suspended;
};

static void *suspend(void *argument) {
    struct both *both = argument;
    sp_borrow_suspend_seen();
    atomic_store(&both->suspended, true);
    return NULL;
}

static void a_capture_waits_for_borrowers_and_lets_no_more_in(void **state) {
    (void)state;
    pthread_t thread;
    pair(a);
    struct both both = {.stream = fixture_stream(a)};
    if (!has_ids())
        return;
    assert_true(sp_borrow_stream(both.stream, NULL, false));
    assert_int_equal(pthread_create(&thread, NULL, suspend, &both), 0);
    while (sp_borrow_may_take_seen())
        continue;
    for (int i = 0; i < 1000; i++) // one that doesn't wait gets on meanwhile
        sched_yield();
    assert_false(atomic_load(&both.suspended));
    assert_false(sp_borrow_stream(fixture_stream(a), NULL, false));
    sp_borrow_end(both.stream);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(atomic_load(&both.suspended));
    sp_borrow_resume_seen();
    assert_true(sp_borrow_stream(both.stream, NULL, false));
    sp_borrow_end(both.stream);
}

#define lending_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        lending_test(a_pair_on_a_seen_stream_records_nothing_however_large),
        lending_test(a_pair_on_an_unseen_stream_records),
        lending_test(a_default_stream_records),
        lending_test(with_a_second_stream_in_the_pool_each_pair_records),
        lending_test(another_stream_gets_what_is_complete),
        lending_test(another_stream_waits_for_what_is_pending),
        lending_test(a_destroyed_stream_leaves_an_event),
        lending_test(what_was_held_back_gets_its_event_before_a_capture_begins),
        lending_test(beside_a_capture_each_pair_records),
        lending_test(nothing_is_asked_of_a_stream_that_captures),
        lending_test(several_captures_end_in_any_order),
        lending_test(a_capture_that_ends_with_its_stream_opens_the_lanes_again),
        cmocka_unit_test_setup_teardown(after_an_unseen_capture_each_pair_records, setup,
                                        teardown_of_doubt),
        lending_test(a_capture_waits_for_borrowers_and_lets_no_more_in),
    };
    return cmocka_run_group_tests_name("process_lending", tests, NULL, NULL);
}
