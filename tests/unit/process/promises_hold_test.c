#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>

#include "api/interpose.h"
#include "order/resolve.h"
#include "region/held.h"
#include "region/lane.h"
#include "unit/fixture/pool.h"

// The lane of the only stream of a pool, whose end is promised to be told: while it holds that no
// stream captures, its frees record nothing, and whoever needs the memory finds out.

enum { DESTROY = poolPromiseStreamDestroy, BOTH = DESTROY | poolPromiseNoCapture };

static const size_t BIG = MIB(64); // more than any lane may hold back

static poolMemPool_t pool;
static CUstream a, b, unpromised;

static int setup(void **state) {
    sp_interpose_hold(BOTH);
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool_of_at_most(BIG);
    a = simulated_stream();
    b = simulated_stream();
    unpromised = simulated_stream();
    return poolDeviceSetMemPool(0, pool) == poolSuccess ? 0 : -1;
}

static bool has_ids(void) {
    return sp_driver->cuStreamGetId != NULL;
}

static uint64_t recorded(void) {
    return simcudaCallCount("cuEventRecord");
}

// Nobody knows who a default stream is.
static int promises_of(CUstream stream) {
    return stream == unpromised             ? poolPromiseNothing
           : stream <= CU_STREAM_PER_THREAD ? poolPromiseNoCapture
                                            : BOTH;
}

// Memory of a pool is freed here, and no other.
static poolError_t promised_free(void *pointer, CUstream stream) {
    bool is_foreign = false;
    return sp_interpose_free(pointer, stream, promises_of(stream), &is_foreign);
}

static void *allocate(CUstream stream) {
    void *pointer = NULL;
    assert_int_equal(sp_interpose_malloc(&pointer, BIG, stream, promises_of(stream)), poolSuccess);
    return pointer;
}

static void pair(CUstream stream) {
    assert_int_equal(promised_free(allocate(stream), stream), poolSuccess);
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
    assert_int_equal(promised_free(pointer, stream), poolSuccess);
    return pointer;
}

static void begin_capture(CUstream stream) {
    sp_interpose_hold(DESTROY);
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                     CUDA_SUCCESS);
}

static void end_capture(CUstream stream) {
    CUgraph graph;
    assert_int_equal(sp_driver->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
    sp_interpose_hold(BOTH);
}

// ------------------------------------------------------------------------------------ no capture

static void a_pair_on_a_promised_stream_records_nothing_however_large(void **state) {
    (void)state;
    pair(a);
    pair(a);
    uint64_t before = simcudaCallCount(NULL);
    pair(a);
    if (has_ids())
        assert_int_equal(simcudaCallCount(NULL), before);
}

static void a_pair_on_another_stream_records(void **state) {
    (void)state;
    assert_int_equal(recorded_by_pair(unpromised), 1);
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
    assert_int_equal(promised_free(freed, b), poolSuccess);
}

static void another_stream_waits_for_what_is_pending(void **state) {
    (void)state;
    void *freed = free_pending(a);
    uint64_t before = simcudaCallCount("cuStreamWaitEvent");
    assert_ptr_equal(allocate(b), freed);
    assert_true(simcudaCallCount("cuStreamWaitEvent") > before);
    simulated_finish(a);
    assert_int_equal(promised_free(freed, b), poolSuccess);
}

static void a_destroyed_stream_leaves_an_event(void **state) {
    (void)state;
    void *freed = free_pending(a);
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    assert_ptr_equal(allocate(b), freed);
    assert_int_equal(promised_free(freed, b), poolSuccess);
}

// --------------------------------------------------------------------------------------- captures

// It would be too late for it once the driver has begun the capture.
static void what_was_held_back_gets_its_event_before_a_capture_begins(void **state) {
    (void)state;
    free_pending(a);
    uint64_t before = recorded();
    sp_interpose_hold(DESTROY);
    if (has_ids())
        assert_int_equal(recorded(), before + 1);
    sp_interpose_hold(BOTH);
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
    assert_int_equal(promised_free(freed, b), poolSuccess);
}

// Nobody knows what captures then.
static void after_an_unseen_capture_each_pair_records(void **state) {
    (void)state;
    CUgraph graph;
    void *pointer;
    pair(a);
    assert_int_equal(
        sp_driver->cuStreamBeginCapture(unpromised, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
        CUDA_SUCCESS);
    assert_int_not_equal(sp_interpose_malloc(&pointer, BIG, unpromised, poolPromiseNothing),
                         poolSuccess);
    assert_int_equal(sp_driver->cuStreamEndCapture(unpromised, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
    sp_interpose_hold(BOTH);
    assert_int_equal(recorded_by_pair(a), 1);
}

// A stream may be known by the promise of another pool alone. When that ends, its lanes are open no
// more: it can't be borrowed for what they would hold back.
static void the_end_of_another_pools_promise_closes_lanes(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    fixture_set_flag(other, poolMemPoolAttrStreamPromises, poolPromiseStreamDestroy);
    fixture_free(fixture_malloc(other, 1000, unpromised), unpromised);
    if (has_ids())
        assert_int_equal(recorded_by_pair(unpromised), 0);
    fixture_set_flag(other, poolMemPoolAttrStreamPromises, poolPromiseNothing);
    assert_int_equal(recorded_by_pair(unpromised), 1);
}

// A promise of whatever pool has all streams forgotten when it ends.
static void a_stream_that_is_known_again_has_its_lane_open_again(void **state) {
    (void)state;
    poolMemPool_t other = fixture_pool();
    if (!has_ids())
        return;
    assert_int_equal(recorded_by_pair(a), 0);
    fixture_set_flag(other, poolMemPoolAttrStreamPromises, poolPromiseStreamDestroy);
    fixture_set_flag(other, poolMemPoolAttrStreamPromises, poolPromiseNothing);
    assert_int_equal(recorded_by_pair(a), 0);
    assert_int_equal(recorded_by_pair(b), 1);
    assert_int_equal(recorded_by_pair(a), 1);
}

// ---------------------------------------------------------------------------------- interleavings

// The stream is borrowed while a capture is about to begin, which waits for its return.
struct both {
    struct sp_stream *stream;
    _Atomic bool suspended;
};

static void *suspend(void *argument) {
    struct both *both = argument;
    sp_borrow_suspend();
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
    while (sp_borrow_is_allowed())
        continue;
    for (int i = 0; i < 1000; i++) // one that doesn't wait gets on meanwhile
        sched_yield();
    assert_false(atomic_load(&both.suspended));
    assert_false(sp_borrow_stream(fixture_stream(a), NULL, false));
    sp_borrow_end(both.stream);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(atomic_load(&both.suspended));
    sp_borrow_allow();
    assert_true(sp_borrow_stream(both.stream, NULL, false));
    sp_borrow_end(both.stream);
}

#define hold_test(function) cmocka_unit_test_setup_teardown(function, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        hold_test(a_pair_on_a_promised_stream_records_nothing_however_large),
        hold_test(a_pair_on_another_stream_records),
        hold_test(a_default_stream_records),
        hold_test(with_a_second_stream_in_the_pool_each_pair_records),
        hold_test(another_stream_gets_what_is_complete),
        hold_test(another_stream_waits_for_what_is_pending),
        hold_test(a_destroyed_stream_leaves_an_event),
        hold_test(what_was_held_back_gets_its_event_before_a_capture_begins),
        hold_test(beside_a_capture_each_pair_records),
        hold_test(nothing_is_asked_of_a_stream_that_captures),
        hold_test(the_end_of_another_pools_promise_closes_lanes),
        hold_test(a_stream_that_is_known_again_has_its_lane_open_again),
        hold_test(a_capture_waits_for_borrowers_and_lets_no_more_in),
        // Behind it the promise never holds again.
        hold_test(after_an_unseen_capture_each_pair_records),
    };
    return cmocka_run_group_tests_name("api/hold", tests, NULL, NULL);
}
