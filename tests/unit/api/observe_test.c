#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "api/observe.h"
#include "fault/host_memory.h"
#include "order/captures.h"
#include "order/remember.h"
#include "unit/fixture/pool.h"

// What the driver is asked where an observer tells of streams and captures, as the drop-in does.

static poolMemPool_t pool;
static CUstream a;

// Removes it.
static CUstream any_seen(void) {
    unsigned bucket = 0;
    return sp_seen_remove_of(&(struct sp_seen_place){simulated_context(), 0}, UINT64_MAX, &bucket);
}

static CUstream create_seen(void) {
    CUstream stream = simulated_stream();
    sp_observe_created(stream, simulated_context(), 0);
    return stream;
}

static int setup(void **state) {
    sp_observe_all();
    if (fixture_setup(state) != 0)
        return -1;
    pool = fixture_pool();
    a = create_seen();
    return poolDeviceSetMemPool(0, pool) == poolSuccess ? 0 : -1;
}

// The next test's driver has other streams.
static int teardown(void **state) {
    while (any_seen())
        continue;
    bool captures = !sp_captures_are_none();
    atomic_store(&sp_captures_open, 0);
    return fixture_teardown(state) == 0 && !captures ? 0 : -1;
}

// Of a test that leaves a capture counted forever.
static int teardown_of_doubt(void **state) {
    atomic_store(&sp_captures_open, 0);
    return teardown(state);
}

static bool has_ids(void) {
    return sp_driver->cuStreamGetId != NULL;
}

// Memory of a pool is freed here, and no other.
static poolError_t observed_free(void *pointer, CUstream stream) {
    bool is_foreign = false;
    return sp_observe_free(pointer, stream, &is_foreign);
}

static void *allocate(size_t size, CUstream stream) {
    void *pointer = NULL;
    assert_int_equal(sp_observe_malloc(&pointer, size, stream), poolSuccess);
    return pointer;
}

static void pair(size_t size, CUstream stream) {
    assert_int_equal(observed_free(allocate(size, stream), stream), poolSuccess);
}

static void pair_of_pool(size_t size, CUstream stream) {
    void *pointer = NULL;
    assert_int_equal(sp_observe_malloc_from_pool(&pointer, size, pool, stream), poolSuccess);
    assert_int_equal(observed_free(pointer, stream), poolSuccess);
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

// Of the second and later pairs of a size.
static struct calls calls_of(void (*make_pair)(size_t size, CUstream stream), CUstream stream) {
    for (int warm = 0; warm < 2; warm++)
        make_pair(1000, stream);
    struct calls before = count_calls();
    make_pair(1000, stream);
    return calls_since(before);
}

static void require_asked(CUstream stream) {
    struct calls calls = calls_of(pair, stream);
    assert_int_equal(calls.captures, 2);
    assert_int_equal(calls.identities, 2);
}

static void require_known(CUstream stream) {
    struct calls calls = calls_of(pair, stream);
    assert_int_equal(calls.captures + calls.identities, 0);
}

// Where the driver has no ids, a chain of events takes their place, and stays.
static void a_pair_on_a_seen_stream_makes_no_call(void **state) {
    (void)state;
    struct calls of_current = calls_of(pair, a), of_pool = calls_of(pair_of_pool, a);
    assert_int_equal(of_current.captures + of_pool.captures, 0);
    assert_int_equal(of_current.identities + of_pool.identities, 0);
    if (has_ids())
        assert_int_equal(of_current.all + of_pool.all, 0);
}

static void an_unseen_stream_is_asked_for(void **state) {
    (void)state;
    CUstream unseen = simulated_stream();
    require_asked(unseen);
    require_known(a);
    require_asked(unseen);
    simulated_destroy(unseen);
}

// The public calls are a program's own, which the observer has no part in.
static void the_public_calls_ask_as_ever(void **state) {
    (void)state;
    void *pointer = NULL;
    pair(1000, a);
    struct calls before = count_calls();
    assert_int_equal(poolMallocAsync(&pointer, 1000, a), poolSuccess);
    assert_int_equal(poolFreeAsync(pointer, a), poolSuccess);
    assert_int_equal(calls_since(before).captures, 2);
}

// The driver may know it.
static void memory_of_no_pool_is_left_to_the_caller(void **state) {
    (void)state;
    bool is_foreign = false;
    void *pointer = allocate(1000, a);
    sp_fail(poolErrorUnknown, "of before");
    assert_int_equal(sp_observe_free(&is_foreign, a, &is_foreign), poolErrorInvalidValue);
    assert_true(is_foreign);
    assert_string_equal(poolGetLastErrorDetail(), "of before");
    assert_int_equal(sp_observe_free(pointer, a, &is_foreign), poolSuccess);
    assert_false(is_foreign);
    assert_int_equal(sp_observe_free(pointer, a, &is_foreign), poolErrorInvalidValue);
    assert_false(is_foreign);
    assert_int_equal(sp_observe_free(NULL, a, &is_foreign), poolSuccess);
    assert_false(is_foreign);
}

static void a_default_stream_is_asked_who_it_is_alone(void **state) {
    (void)state;
    static CUstream const defaults[] = {NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    for (int i = 0; i < 3; i++) {
        struct calls calls = calls_of(pair, defaults[i]);
        assert_int_equal(calls.captures, 0);
        assert_int_equal(calls.identities, 2);
    }
}

// Synchronises, queries, records and waits cost no more than the driver's own call.
static void other_calls_on_a_seen_stream_ask_nothing(void **state) {
    (void)state;
    CUevent event;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    pair(1000, a);
    struct calls before = count_calls();
    assert_int_equal(poolStreamQuery(a), poolSuccess);
    assert_int_equal(poolEventRecord(event, a), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(a, event, 0), poolSuccess);
    assert_int_equal(poolStreamSynchronize(a), poolSuccess);
    struct calls calls = calls_since(before);
    assert_int_equal(calls.captures + calls.identities, 0);
    assert_int_equal(poolEventDestroy(event), poolSuccess);
}

// --------------------------------------------------------------------------------- ends of streams

static void require_another_stream(const struct sp_stream *old) {
    if (has_ids())
        assert_ptr_not_equal(fixture_stream(a), old);
}

// Memory that the destroyed one's work may still use isn't given to the new one.
static void a_handle_that_comes_back_is_another_stream(void **state) {
    (void)state;
    void *pointer = allocate(1000, a);
    const struct sp_stream *old = fixture_stream(a);
    simulated_work(a);
    assert_int_equal(observed_free(pointer, a), poolSuccess);
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    assert_ptr_equal(create_seen(), a);
    void *young = allocate(1000, a);
    assert_int_equal(young != pointer, has_ids());
    require_another_stream(old);
    require_known(a);
    assert_int_equal(observed_free(young, a), poolSuccess);
}

static void a_stream_that_was_made_unseen_at_the_handle_is_asked_for(void **state) {
    (void)state;
    pair(1000, a);
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    assert_ptr_equal(simulated_stream(), a);
    require_asked(a);
}

// Of a stream that was destroyed unseen nobody knows, until its handle is made again.
static void a_handle_that_is_made_again_ends_the_old_stream(void **state) {
    (void)state;
    void *pointer = allocate(1000, a);
    const struct sp_stream *old = fixture_stream(a);
    simulated_work(a);
    assert_int_equal(observed_free(pointer, a), poolSuccess);
    simulated_destroy(a);
    assert_ptr_equal(create_seen(), a);
    void *young = allocate(1000, a);
    assert_int_equal(young != pointer, has_ids());
    require_another_stream(old);
    assert_int_equal(observed_free(young, a), poolSuccess);
}

static void a_stream_whose_destruction_failed_is_asked_for(void **state) {
    (void)state;
    pair(1000, a);
    simcudaFailCall("cuStreamDestroy", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_not_equal(poolStreamDestroy(a), poolSuccess);
    require_asked(a);
}

// The library isn't told of ends that come before its first use, but by the observer.
static void an_end_before_the_first_call_is_told_by_the_observer(void **state) {
    (void)state;
    uint64_t before = sp_observe_now();
    sp_observe_stream_ends(a);
    simulated_destroy(a);
    sp_observe_stream_ended(a, before);
    assert_ptr_equal(simulated_stream(), a);
    require_asked(a);
}

static void *use_in_thread(void *stream) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    require_known(stream);
    return NULL;
}

static void every_thread_knows_a_seen_stream(void **state) {
    (void)state;
    pthread_t thread;
    pair(1000, a);
    assert_int_equal(pthread_create(&thread, NULL, use_in_thread, a), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

// A promise that ends makes threads forget handles, which are known by observation yet.
static void the_end_of_a_promise_leaves_what_is_seen(void **state) {
    (void)state;
    CUstream promised = simulated_stream();
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises, poolPromiseStreamDestroy);
    struct calls calls = calls_of(pair, promised);
    assert_int_equal(calls.captures, 2);
    assert_int_equal(calls.identities, 0);
    require_known(a);
    fixture_set_flag(pool, poolMemPoolAttrStreamPromises, poolPromiseNothing);
    require_asked(promised);
    require_known(a);
}

static CUstream made_up(uintptr_t number) {
    return (CUstream)(16 * number); // NOLINT(performance-no-int-to-ptr)
}

// A million streams leave nothing behind, neither here nor among the slots.
static void streams_that_come_and_go_take_no_memory(void **state) {
    (void)state;
    sp_observe_stream_ends(a);
    for (uintptr_t i = 1; i <= 1000 * 1000; i++) {
        CUstream stream = made_up(i);
        sp_observe_created(stream, simulated_context(), 0);
        sp_observe_stream_ends(stream);
    }
    assert_null(any_seen());
}

// -------------------------------------------------------------------------------- ends of contexts

static void streams_end_with_their_context(void **state) {
    (void)state;
    CUcontext other = (CUcontext)state; // any address
    CUstream elsewhere = simulated_stream(), nowhere = simulated_stream(), later;
    sp_observe_created(elsewhere, other, 1);
    sp_observe_created(nowhere, NULL, -1);
    uint64_t before = sp_observe_now();
    later = create_seen();
    require_known(a);
    require_known(elsewhere);
    require_known(nowhere);
    sp_observe_streams_ended(simulated_context(), -1, before);
    require_asked(a);
    require_asked(nowhere); // may have been one of it
    require_known(elsewhere);
    require_known(later); // has got a handle of the context's, if any
    sp_observe_streams_ended(NULL, 1, sp_observe_now());
    require_asked(elsewhere);
    require_known(later);
}

static void many_streams_end_at_once(void **state) {
    CUcontext other = (CUcontext)state; // any address
    for (uintptr_t i = 1; i <= 20 * 1000; i++)
        sp_observe_created(made_up(i), i % 2 ? other : simulated_context(), -1);
    sp_observe_streams_ended(other, -1, sp_observe_now());
    for (uintptr_t i = 1; i <= 20 * 1000; i++)
        assert_int_equal(sp_seen_has(made_up(i)), i % 2 == 0);
}

// ---------------------------------------------------------------------------------------- captures

static bool captures(CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return sp_driver->cuStreamIsCapturing(stream, &status) == CUDA_SUCCESS &&
           status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static CUresult begin_capture(CUstream stream) {
    sp_observe_capture_begins(stream, simulated_context());
    CUresult result = sp_driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    if (result == CUDA_SUCCESS)
        sp_observe_capture_begun(stream, simulated_context());
    else
        sp_observe_capture_refused(stream, simulated_context(), captures);
    return result;
}

static CUresult end_capture(CUstream stream) {
    CUgraph graph = NULL;
    CUresult result = sp_driver->cuStreamEndCapture(stream, &graph);
    sp_observe_capture_ended(stream, simulated_context(), captures);
    if (graph)
        sp_driver->cuGraphDestroy(graph);
    return result;
}

static void require_refused(CUstream stream) {
    void *pointer = NULL;
    assert_int_equal(sp_observe_malloc(&pointer, 1000, stream), poolErrorStreamCaptureUnsupported);
}

// The stream is still known by its handle: to ask a capturing one who it is would end the capture.
static void while_a_capture_is_open_every_call_asks(void **state) {
    (void)state;
    CUstream other = create_seen();
    require_known(a);
    assert_int_equal(begin_capture(other), CUDA_SUCCESS);
    struct calls calls = calls_of(pair, a);
    assert_int_equal(calls.captures, 2);
    assert_int_equal(calls.identities, 0);
    require_refused(other);
    assert_int_equal(end_capture(other), CUDA_SUCCESS);
    require_known(a);
    require_known(other);
}

// Through an event the capture spreads to a stream on which none has begun.
static void a_capture_that_spreads_is_felt_where_it_gets(void **state) {
    (void)state;
    CUstream origin = create_seen();
    CUevent event;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    pair(1000, a);
    assert_int_equal(begin_capture(origin), CUDA_SUCCESS);
    assert_int_equal(poolEventRecord(event, origin), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(a, event, 0), poolSuccess);
    require_refused(a);
    assert_int_equal(poolEventRecord(event, a), poolSuccess);
    assert_int_equal(poolStreamWaitEvent(origin, event, 0), poolSuccess);
    assert_int_equal(end_capture(origin), CUDA_SUCCESS);
    require_known(a);
    assert_int_equal(poolEventDestroy(event), poolSuccess);
}

static void *end_elsewhere(void *stream) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_int_equal(end_capture(stream), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
    return NULL;
}

static void an_end_by_the_wrong_thread_ends_nothing(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(begin_capture(a), CUDA_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, end_elsewhere, a), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    require_refused(a);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
    require_known(a);
}

static void a_begin_that_fails_leaves_what_is_open(void **state) {
    (void)state;
    simcudaFailCall("cuStreamBeginCapture", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_equal(begin_capture(a), CUDA_ERROR_UNKNOWN);
    assert_true(sp_captures_are_none());
    assert_int_equal(begin_capture(a), CUDA_SUCCESS);
    assert_int_equal(begin_capture(a), CUDA_ERROR_ILLEGAL_STATE);
    require_refused(a);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
    assert_true(sp_captures_are_none());
    assert_int_equal(begin_capture(NULL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    assert_true(sp_captures_are_none());
}

// Two threads begin one at a time: the one that the driver refuses comes back first, or last.
static void a_begin_that_is_under_way_is_counted(void **state) {
    (void)state;
    sp_observe_capture_begins(a, NULL);
    sp_observe_capture_begins(a, NULL);
    sp_observe_capture_refused(a, NULL, captures);
    assert_false(sp_captures_are_none());
    sp_observe_capture_refused(a, NULL, captures);
    assert_true(sp_captures_are_none());
}

static bool begin_meanwhile(CUstream stream) {
    assert_int_equal(begin_capture(stream), CUDA_SUCCESS);
    return false;
}

static void a_begin_while_the_driver_is_asked_is_counted(void **state) {
    (void)state;
    sp_observe_capture_begins(a, NULL);
    sp_observe_capture_refused(a, NULL, begin_meanwhile);
    require_refused(a);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
    assert_true(sp_captures_are_none());
}

static void a_capture_ends_with_its_stream(void **state) {
    (void)state;
    CUstream other = create_seen();
    assert_int_equal(begin_capture(a), CUDA_SUCCESS);
    simcudaFailCall("cuStreamDestroy", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_not_equal(poolStreamDestroy(a), poolSuccess);
    assert_false(sp_captures_are_none());
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    assert_true(sp_captures_are_none());
    require_known(other);
    simcudaReportClear();
}

static void a_capture_ends_with_its_context(void **state) {
    (void)state;
    CUcontext other = (CUcontext)state; // any address
    CUstream stream = made_up(1);
    sp_observe_created(stream, other, 0);
    sp_observe_capture_begins(stream, NULL);
    sp_observe_capture_begun(stream, NULL);
    sp_observe_captures_ended(simulated_context(), sp_observe_now());
    assert_false(sp_captures_are_none());
    uint64_t before = sp_observe_now();
    sp_observe_capture_begins(CU_STREAM_PER_THREAD, other);
    sp_observe_captures_ended(other, before);
    assert_int_equal(atomic_load(&sp_captures_open), 1); // began after the end did
    sp_observe_captures_ended(other, sp_observe_now());
    assert_true(sp_captures_are_none());
}

static void *capture_on_its_own(void *unused) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_int_equal(begin_capture(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    assert_int_equal(atomic_load(&sp_captures_open), 2);
    assert_int_equal(end_capture(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    assert_int_equal(atomic_load(&sp_captures_open), 1);
    return unused;
}

static void threads_capture_on_their_own_default_streams(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(begin_capture(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    assert_int_equal(pthread_create(&thread, NULL, capture_on_its_own, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    require_refused(CU_STREAM_PER_THREAD);
    assert_int_equal(end_capture(CU_STREAM_PER_THREAD), CUDA_SUCCESS);
    assert_true(sp_captures_are_none());
}

static void without_host_memory_a_new_stream_is_asked_for(void **state) {
    (void)state;
    uint64_t failed;
    CUstream stream = simulated_stream();
    host_memory_enter(1, true);
    sp_observe_created(stream, simulated_context(), 0);
    host_memory_leave(&failed);
    assert_int_equal(failed, 1);
    require_asked(stream);
    sp_observe_created(stream, simulated_context(), 0);
    require_known(stream);
}

// Nobody finds its end then.
static void without_host_memory_a_capture_is_counted_for_good(void **state) {
    (void)state;
    uint64_t failed;
    host_memory_enter(1, true);
    assert_int_equal(begin_capture(a), CUDA_SUCCESS);
    host_memory_leave(&failed);
    assert_int_equal(failed, 1);
    require_refused(a);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
    assert_int_equal(calls_of(pair, a).captures, 2);
}

// A stream that captures while no capture has been told of shows that some begin unseen.
static void after_an_unseen_capture_every_call_asks(void **state) {
    (void)state;
    CUstream unseen = simulated_stream();
    CUgraph graph;
    require_known(a);
    assert_int_equal(sp_driver->cuStreamBeginCapture(unseen, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
                     CUDA_SUCCESS);
    require_refused(unseen);
    assert_int_equal(sp_driver->cuStreamEndCapture(unseen, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
    assert_int_equal(calls_of(pair, a).captures, 2);
    assert_int_equal(calls_of(pair, NULL).captures, 2);
}

#define observe_test(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        observe_test(a_pair_on_a_seen_stream_makes_no_call),
        observe_test(an_unseen_stream_is_asked_for),
        observe_test(the_public_calls_ask_as_ever),
        observe_test(memory_of_no_pool_is_left_to_the_caller),
        observe_test(a_default_stream_is_asked_who_it_is_alone),
        observe_test(other_calls_on_a_seen_stream_ask_nothing),
        observe_test(a_handle_that_comes_back_is_another_stream),
        observe_test(a_stream_that_was_made_unseen_at_the_handle_is_asked_for),
        observe_test(a_handle_that_is_made_again_ends_the_old_stream),
        observe_test(a_stream_whose_destruction_failed_is_asked_for),
        observe_test(an_end_before_the_first_call_is_told_by_the_observer),
        observe_test(every_thread_knows_a_seen_stream),
        observe_test(the_end_of_a_promise_leaves_what_is_seen),
        observe_test(streams_that_come_and_go_take_no_memory),
        observe_test(streams_end_with_their_context),
        observe_test(many_streams_end_at_once),
        observe_test(while_a_capture_is_open_every_call_asks),
        observe_test(a_capture_that_spreads_is_felt_where_it_gets),
        observe_test(an_end_by_the_wrong_thread_ends_nothing),
        observe_test(a_begin_that_fails_leaves_what_is_open),
        observe_test(a_begin_that_is_under_way_is_counted),
        observe_test(a_begin_while_the_driver_is_asked_is_counted),
        observe_test(a_capture_ends_with_its_stream),
        observe_test(a_capture_ends_with_its_context),
        observe_test(threads_capture_on_their_own_default_streams),
        observe_test(without_host_memory_a_new_stream_is_asked_for),
        cmocka_unit_test_setup_teardown(without_host_memory_a_capture_is_counted_for_good, setup,
                                        teardown_of_doubt),
        cmocka_unit_test_setup_teardown(after_an_unseen_capture_every_call_asks, setup,
                                        teardown_of_doubt),
    };
    return cmocka_run_group_tests_name("api/observe", tests, NULL, NULL);
}
