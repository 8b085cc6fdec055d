#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/interpose.h"
#include "unit/fixture/pool.h"

// What the driver is asked in calls that make promises of their own, as far as these hold.

enum { DESTROY = poolPromiseStreamDestroy, BOTH = DESTROY | poolPromiseNoCapture };

static poolMemPool_t pool;
static CUstream a;

static int setup(void **state) {
    if (fixture_setup(state) != 0)
        return -1;
    sp_interpose_hold(BOTH);
    pool = fixture_pool();
    a = simulated_stream();
    return poolDeviceSetMemPool(0, pool) == poolSuccess ? 0 : -1;
}

static int teardown(void **state) {
    sp_interpose_set_destroy(NULL, false);
    return fixture_teardown(state);
}

static bool has_ids(void) {
    return sp_driver->cuStreamGetId != NULL;
}

// Memory of a pool is freed here, and no other.
static void give_back(void *pointer, CUstream stream, int promises) {
    bool is_foreign;
    assert_int_equal(sp_interpose_free(pointer, stream, promises, &is_foreign), poolSuccess);
}

static void *allocate(CUstream stream, int promises) {
    void *pointer = NULL;
    assert_int_equal(sp_interpose_malloc(&pointer, 1000, stream, promises), poolSuccess);
    return pointer;
}

static void pair(CUstream stream, int promises) {
    give_back(allocate(stream, promises), stream, promises);
}

static void pair_of_pool(CUstream stream, int promises) {
    void *pointer = NULL;
    assert_int_equal(sp_interpose_malloc_from_pool(&pointer, 1000, pool, stream, promises),
                     poolSuccess);
    give_back(pointer, stream, promises);
}

struct calls {
    uint64_t all;
    uint64_t captures;
    uint64_t identities;
};

static struct calls count_calls(void) {
    return (struct calls){simcudaCallCount(NULL), simcudaCallCount("cuStreamIsCapturing"),
                          simcudaCallCount("cuStreamGetId") + simcudaCallCount("cuCtxGetId") +
                              simcudaCallCount("cuStreamGetCtx") +
                              simcudaCallCount("cuCtxGetCurrent")};
}

static struct calls calls_since(struct calls before) {
    struct calls after = count_calls();
    return (struct calls){after.all - before.all, after.captures - before.captures,
                          after.identities - before.identities};
}

// Of the second and later pairs.
static struct calls calls_of(void (*make_pair)(CUstream stream, int promises), CUstream stream,
                             int promises) {
    for (int warm = 0; warm < 2; warm++)
        make_pair(stream, promises);
    struct calls before = count_calls();
    make_pair(stream, promises);
    return calls_since(before);
}

static void require_asked(CUstream stream, int promises, uint64_t captures, uint64_t identities) {
    struct calls calls = calls_of(pair, stream, promises);
    assert_int_equal(calls.captures, captures);
    assert_int_equal(calls.identities, identities);
}

// Where the driver has no ids, a chain of events takes their place, and stays.
static void a_promised_pair_makes_no_call(void **state) {
    (void)state;
    struct calls of_current = calls_of(pair, a, BOTH), of_pool = calls_of(pair_of_pool, a, BOTH);
    assert_int_equal(of_current.captures + of_pool.captures, 0);
    assert_int_equal(of_current.identities + of_pool.identities, 0);
    if (has_ids())
        assert_int_equal(of_current.all + of_pool.all, 0);
}

static void what_is_not_promised_is_asked(void **state) {
    (void)state;
    require_asked(a, poolPromiseNothing, 2, 2);
    require_asked(a, DESTROY, 2, 0);
    require_asked(a, poolPromiseNoCapture, 0, 2);
    require_asked(a, poolPromiseNothing, 2, 2);
    require_asked(NULL, BOTH, 0, 2);
}

// Whatever the calls promise.
static void a_promise_counts_while_it_holds(void **state) {
    (void)state;
    require_asked(a, BOTH, 0, 0);
    sp_interpose_hold(DESTROY);
    require_asked(a, BOTH, 2, 0);
    require_asked(NULL, poolPromiseNoCapture, 2, 2);
    sp_interpose_hold(poolPromiseNothing);
    require_asked(a, BOTH, 2, 2);
    sp_interpose_hold(BOTH);
    require_asked(a, BOTH, 0, 0);
}

static void require_order_calls_asked(CUevent event, int terms, uint64_t captures,
                                      uint64_t identities) {
    struct calls before = count_calls();
    int outer = sp_interpose_set_terms(terms);
    assert_int_equal(poolStreamQuery(a), poolSuccess);
    assert_int_equal(poolEventRecord(event, a), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(a, event, 0), poolSuccess);
    assert_int_equal(poolStreamSynchronize(a), poolSuccess);
    assert_int_equal(sp_interpose_set_terms(outer), terms);
    struct calls calls = calls_since(before);
    assert_int_equal(calls.captures, captures);
    if (has_ids() || identities == 0)
        assert_int_equal(calls.identities, identities);
}

// Synchronises, queries, records and waits.
static void calls_on_terms_ask_nothing_that_is_promised(void **state) {
    (void)state;
    CUevent event;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    pair(a, BOTH);
    require_order_calls_asked(event, SP_INTERPOSE_DEMANDS | BOTH, 0, 0);
    require_order_calls_asked(event, DESTROY, 2, 0);
    require_order_calls_asked(event, SP_INTERPOSE_DEMANDS, 2, 4);
    assert_int_equal(poolEventDestroy(event), poolSuccess);
}

// The driver may know it.
static void memory_of_no_pool_is_left_to_the_caller(void **state) {
    (void)state;
    bool is_foreign = false;
    void *pointer = allocate(a, BOTH);
    sp_fail(poolErrorUnknown, "of before");
    assert_int_equal(sp_interpose_free(&is_foreign, a, BOTH, &is_foreign), poolErrorInvalidValue);
    assert_true(is_foreign);
    assert_string_equal(poolGetLastErrorDetail(), "of before");
    assert_int_equal(sp_interpose_free(pointer, a, BOTH, &is_foreign), poolSuccess);
    assert_false(is_foreign);
    assert_int_equal(sp_interpose_free(pointer, a, BOTH, &is_foreign), poolErrorInvalidValue);
    assert_false(is_foreign);
    assert_int_equal(sp_interpose_free(NULL, a, BOTH, &is_foreign), poolSuccess);
    assert_false(is_foreign);
}

static void a_forgotten_handle_is_asked_for_once(void **state) {
    (void)state;
    pair(a, BOTH);
    sp_interpose_forget(a);
    struct calls before = count_calls();
    pair(a, BOTH);
    assert_true(calls_since(before).identities > 0);
    require_asked(a, BOTH, 0, 0);
}

// ------------------------------------------------------------------------------------------
// destroy

static int destroyed_in_front, destroyed_behind;

static CUresult in_front(CUstream stream) {
    destroyed_in_front++;
    return sp_driver->cuStreamDestroy(stream);
}

static CUresult behind(CUstream stream) {
    destroyed_behind++;
    return sp_driver->cuStreamDestroy(stream);
}

static void streams_are_destroyed_by_who_stands_in(void **state) {
    (void)state;
    sp_interpose_set_destroy(in_front, false);
    assert_int_equal(poolStreamDestroy(simulated_stream()), poolSuccess);
    assert_int_equal(destroyed_in_front, 1);
    sp_interpose_set_destroy(behind, true);
    sp_interpose_set_destroy(in_front, false);
    assert_int_equal(poolStreamDestroy(simulated_stream()), poolSuccess);
    assert_int_equal(destroyed_in_front, 1);
    assert_int_equal(destroyed_behind, 1);
}

// A stream that captures while none is said to shows that some begin unseen.
static void after_an_unseen_capture_every_call_asks(void **state) {
    (void)state;
    CUstream unseen = simulated_stream();
    CUgraph graph;
    void *pointer = NULL;
    require_asked(a, BOTH, 0, 0);
    assert_int_equal(sp_driver->cuStreamBeginCapture(unseen, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                     CUDA_SUCCESS);
    assert_int_equal(sp_interpose_malloc(&pointer, 1000, unseen, poolPromiseNothing),
                     poolErrorStreamCaptureUnsupported);
    assert_int_equal(sp_driver->cuStreamEndCapture(unseen, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
    require_asked(a, BOTH, 2, 0);
    sp_interpose_hold(BOTH);
    require_asked(a, BOTH, 2, 0);
    require_asked(NULL, poolPromiseNoCapture, 2, 2);
}

#define interpose_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        interpose_test(a_promised_pair_makes_no_call),
        interpose_test(what_is_not_promised_is_asked),
        interpose_test(a_promise_counts_while_it_holds),
        interpose_test(calls_on_terms_ask_nothing_that_is_promised),
        interpose_test(memory_of_no_pool_is_left_to_the_caller),
        interpose_test(a_forgotten_handle_is_asked_for_once),
        interpose_test(streams_are_destroyed_by_who_stands_in),
        // Behind it the promise never holds again.
        interpose_test(after_an_unseen_capture_every_call_asks),
    };
    return cmocka_run_group_tests_name("api/interpose", tests, NULL, NULL);
}
