#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/identity.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"

// A stream with pending work is destroyed, and the next one has its handle.
static CUstream recycle(CUstream old) {
    simulated_destroy(old);
    CUstream stream = simulated_stream();
    assert_ptr_equal(stream, old);
    return stream;
}

static void frees_between_two_records_share_a_number_unless_each_records_itself(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t records = simcudaCallCount("cuEventRecord");
    uint64_t first = free_on(stream);
    uint64_t second = free_on(stream);
    assert_int_equal(second, stream->identified ? first : first + 1);
    assert_int_equal(simcudaCallCount("cuEventRecord"), stream->identified ? records : records + 2);
    assert_done(sp_mark_record(stream));
    assert_true(free_on(stream) > second);
}

static void a_free_of_an_identified_stream_calls_no_driver(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t calls = simcudaCallCount(NULL);
    free_on(stream);
    sp_identity_before_reuse(stream);
    assert_int_equal(simcudaCallCount(NULL) == calls, stream->identified);
}

static void a_free_point_that_fails_is_an_error_and_leaves_no_event(void **state) {
    (void)state;
    static const char *const calls[] = {"cuCtxPushCurrent", "cuEventCreate"};
    uint64_t sequence = 0;
    struct sp_stream *stream = known_stream();
    if (stream->identified)
        return;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_of_driver(sp_identity_at_free(stream, &sequence), CUDA_ERROR_UNKNOWN);
        assert_int_equal(live_events(), 0);
    }
    simcudaFailCall("cuStreamWaitEvent", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_of_driver(sp_identity_at_free(stream, &sequence), CUDA_ERROR_UNKNOWN);
    simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_of_driver(sp_identity_at_free(stream, &sequence), CUDA_ERROR_UNKNOWN);
    assert_done(sp_poll_stream(stream));
    assert_int_equal(sp_progress_completed(stream), 0);
    assert_int_equal(live_events(), 1);
    assert_true(free_on(stream) > 0);
}

static void a_new_stream_at_an_old_handle_knows_nothing_of_the_old_ones_work(void **state) {
    (void)state;
    CUstream handle = simulated_stream();
    struct sp_stream *old = known(handle);
    simulated_work(handle);
    uint64_t sequence = free_on(old);
    handle = recycle(handle);
    struct sp_stream *young = known(handle);
    assert_done(sp_synchronize_stream(young, handle));
    assert_complete(sp_synchronize_query, young, handle);
    assert_false(is_complete(old, sequence));
}

static void a_record_on_a_recycled_handle_completes_no_free_of_the_old_stream(void **state) {
    (void)state;
    CUstream handle = simulated_stream();
    struct sp_stream *old = known(handle);
    simulated_work(handle);
    uint64_t sequence = free_on(old);
    handle = recycle(handle);
    struct sp_stream *young = known(handle);
    assert_done(sp_mark_record(young));
    assert_done(sp_poll_stream(young));
    assert_false(is_complete(old, sequence));
}

static void taking_memory_through_a_recycled_handle_waits_for_the_old_streams_work(void **state) {
    (void)state;
    CUstream handle = simulated_stream();
    struct sp_stream *old = known(handle);
    free_behind_work_on(old);
    handle = recycle(handle);
    struct sp_stream *young = known(handle);
    assert_done(sp_identity_before_reuse(young));
    assert_int_equal(sp_driver->cuStreamQuery(handle),
                     young->identified ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

// The order of the old stream holds for the young one only because that one waits for the chain
// first.
static void a_recycled_handle_that_keeps_the_old_ones_order_waits_for_it(void **state) {
    (void)state;
    CUstream handle = simulated_stream();
    struct sp_stream *a = known_stream();
    struct sp_stream *old = known(handle);
    uint64_t sequence = free_behind_work_on(a);
    order_behind(old, a);
    handle = recycle(handle);
    struct sp_stream *young = known(handle);
    assert_done(sp_identity_before_reuse(young));
    assert_int_equal(runs_after(young, a, sequence), !young->identified);
    assert_int_equal(sp_driver->cuStreamQuery(handle),
                     young->identified ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

// A name under which there ever was a non-blocking stream counts as one.
static void a_recycled_handle_is_blocking_only_if_it_always_was(void **state) {
    (void)state;
    CUstream handle = simulated_blocking_stream();
    struct sp_stream *old = known(handle);
    free_on(old);
    assert_int_equal(atomic_load(&old->kind), SP_STREAM_BLOCKING);
    handle = recycle(handle);
    struct sp_stream *young = known(handle);
    free_on(young);
    assert_int_equal(atomic_load(&young->kind), SP_STREAM_NON_BLOCKING);
    simulated_destroy(handle);
    assert_ptr_equal(simulated_blocking_stream(), handle);
    young = known(handle);
    free_on(young);
    assert_int_equal(atomic_load(&young->kind),
                     young->identified ? SP_STREAM_BLOCKING : SP_STREAM_NON_BLOCKING);
}

// Whoever takes memory there is ordered as what it is, which may not be what the old one was.
static void taking_memory_through_a_recycled_handle_looks_at_its_kind(void **state) {
    (void)state;
    CUstream handle = simulated_blocking_stream();
    free_on(known(handle));
    handle = recycle(handle);
    struct sp_stream *young = known(handle);
    assert_done(sp_identity_before_reuse(young));
    assert_int_equal(atomic_load(&young->kind), SP_STREAM_NON_BLOCKING);
}

struct free_of_thread {
    struct sp_stream *stream;
    struct sp_outcome outcome;
};

static void free_in_thread(void *argument) {
    struct free_of_thread *thread = argument;
    uint64_t sequence = 0;
    sp_driver->cuCtxSetCurrent(simulated_context());
    thread->outcome = sp_identity_at_free(thread->stream, &sequence);
}

static void threads_that_free_on_a_stream_at_once_have_one_chain(void **state) {
    (void)state;
    enum { THREADS = 3, ROUNDS = 40 };
    for (int round = 0; round < ROUNDS; round++) {
        struct sp_stream *stream = known_stream();
        struct free_of_thread threads[THREADS];
        void *arguments[THREADS];
        uint64_t before = live_events();
        for (int i = 0; i < THREADS; i++) {
            threads[i] = (struct free_of_thread){stream, sp_outcome_of(SP_NO_EVENT)};
            arguments[i] = &threads[i];
        }
        assert_int_equal(simcudaRunThreads(free_in_thread, arguments, THREADS), CUDA_SUCCESS);
        for (int i = 0; i < THREADS; i++)
            assert_done(threads[i].outcome);
        assert_int_equal(live_events(), before + !stream->identified);
    }
}

static int setup_scheduled(void **state) {
    (void)state;
    return simulated_begin("mode=scheduled,seed=3,burst=2");
}

#define chain_test(function)                                                                       \
    cmocka_unit_test_setup_teardown(function, simulated_setup, simulated_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        chain_test(frees_between_two_records_share_a_number_unless_each_records_itself),
        chain_test(a_free_of_an_identified_stream_calls_no_driver),
        chain_test(a_free_point_that_fails_is_an_error_and_leaves_no_event),
        chain_test(a_new_stream_at_an_old_handle_knows_nothing_of_the_old_ones_work),
        chain_test(a_record_on_a_recycled_handle_completes_no_free_of_the_old_stream),
        chain_test(taking_memory_through_a_recycled_handle_waits_for_the_old_streams_work),
        chain_test(a_recycled_handle_that_keeps_the_old_ones_order_waits_for_it),
        chain_test(a_recycled_handle_is_blocking_only_if_it_always_was),
        chain_test(taking_memory_through_a_recycled_handle_looks_at_its_kind),
        cmocka_unit_test_setup_teardown(threads_that_free_on_a_stream_at_once_have_one_chain,
                                        setup_scheduled, simulated_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
