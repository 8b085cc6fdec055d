#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "order/identity.h"
#include "order/resolve.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"

static void a_synchronise_completes_all_frees_before_it(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    struct sp_stream *other = known_stream();
    simulated_work(stream->handle);
    uint64_t sequence = free_on(stream);
    uint64_t of_other = free_on(other);
    assert_done(sp_synchronize_stream(stream, stream->handle));
    assert_true(is_complete(stream, sequence));
    assert_false(is_complete(other, of_other));
    assert_false(is_complete(stream, free_on(stream)));
}

static void a_synchronise_that_fails_completes_nothing(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_on(stream);
    simcudaFailCall("cuStreamSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_of_driver(sp_synchronize_stream(stream, stream->handle), CUDA_ERROR_LAUNCH_FAILED);
    simcudaFailCall("cuCtxSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_of_driver(sp_synchronize_context(), CUDA_ERROR_LAUNCH_FAILED);
    assert_false(is_complete(stream, sequence));
}

static void a_query_completes_the_frees_before_it_when_nothing_is_pending(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    simulated_work(stream->handle);
    uint64_t sequence = free_on(stream);
    assert_pending(sp_synchronize_query, stream, stream->handle);
    assert_false(is_complete(stream, sequence));
    simulated_finish(stream->handle);
    assert_complete(sp_synchronize_query, stream, stream->handle);
    assert_true(is_complete(stream, sequence));
}

static void
a_contexts_synchronise_completes_the_frees_of_all_its_streams_and_no_others(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *a = known_stream();
    struct sp_stream *gone = known_stream();
    simulated_work(a->handle);
    uint64_t of_a = free_on(a);
    uint64_t of_gone = free_on(gone);
    simulated_destroy(gone->handle);
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *elsewhere = known_stream();
    uint64_t of_elsewhere = free_on(elsewhere);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_done(sp_synchronize_context());
    assert_true(is_complete(a, of_a));
    assert_true(is_complete(gone, of_gone));
    assert_false(is_complete(elsewhere, of_elsewhere));
}

static void without_host_memory_a_contexts_synchronise_waits_and_teaches_nothing(void **state) {
    (void)state;
    uint64_t failed = 0;
    struct sp_stream *stream = known_stream();
    simulated_work(stream->handle);
    uint64_t sequence = free_on(stream);
    host_memory_enter(1, true);
    struct sp_outcome outcome = sp_synchronize_context();
    host_memory_leave(&failed);
    assert_int_equal(failed, 1);
    assert_done(outcome);
    assert_int_equal(simcudaPending(stream->handle), 0);
    assert_false(is_complete(stream, sequence));
}

static void a_synchronise_completes_what_the_stream_runs_after(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t before = free_behind_work_on(a);
    order_behind(b, a);
    uint64_t after = free_behind_work_on(a);
    assert_done(sp_synchronize_stream(b, b->handle));
    assert_int_equal(is_complete(a, before),
                     b->identified); // of an anonymous stream its chain alone is evidence
    assert_false(is_complete(a, after));
}

static void a_synchronise_that_fails_completes_nothing_of_what_the_stream_runs_after(void **state) {
    (void)state;
    struct sp_stream *a = known_stream();
    struct sp_stream *b = known_stream();
    uint64_t sequence = free_behind_work_on(a);
    order_behind(b, a);
    simcudaFailCall("cuStreamSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_of_driver(sp_synchronize_stream(b, b->handle), CUDA_ERROR_LAUNCH_FAILED);
    simcudaFailCall("cuStreamQuery", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    bool complete;
    assert_of_driver(sp_synchronize_query(b, b->handle, &complete), CUDA_ERROR_LAUNCH_FAILED);
    assert_false(is_complete(a, sequence));
}

// What a question was lucky to find is not what a synchronise shows: a deterministic pool takes the
// latter alone.
static void a_query_is_no_synchronise(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_on(stream);
    assert_done(sp_mark_record(stream));
    assert_complete(sp_synchronize_query, stream, stream->handle);
    assert_done(sp_poll_stream(stream));
    assert_true(is_complete(stream, sequence));
    assert_false(is_synchronized(stream, sequence));
    assert_done(sp_synchronize_stream(stream, stream->handle));
    assert_true(is_synchronized(stream, sequence));
}

static void a_synchronise_completes_nothing_that_was_freed_while_it_waited(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t before = free_behind_work_on(stream);
    uint64_t end = sp_anonymous_chain_end(stream); // as the synchronise begins
    uint64_t meanwhile = free_on(stream);
    assert_int_equal(end, stream->identified ? 0 : before);
    if (stream->identified)
        return;
    simulated_finish(stream->handle);
    assert_done(sp_anonymous_confirm(stream, end, false));
    assert_true(is_synchronized(stream, before));
    assert_false(is_synchronized(stream, meanwhile));
}

// What the chain tells of an earlier stream depends on how fast the device was.
static void
a_synchronise_at_a_handle_that_was_destroyed_here_says_nothing_certain_of_the_old_stream(
    void **state) {
    (void)state;
    CUstream handle = simulated_stream();
    struct sp_stream *old = known(handle);
    sp_progress_set_strict(old); // so its slot is not used again
    uint64_t sequence = free_on(old);
    assert_done(sp_end_stream(old, handle));
    assert_ptr_equal(simulated_stream(), handle);
    struct sp_stream *young = known(handle);
    assert_done(sp_synchronize_stream(young, handle));
    assert_false(is_synchronized(old, sequence));
    assert_true(is_complete(old, sequence)); // its event was asked when the young one came
    uint64_t anew = free_on(young);
    assert_done(sp_synchronize_stream(young, handle));
    assert_true(is_synchronized(young, anew));
    assert_int_equal(is_synchronized(old, sequence), !old->identified);
}

static void a_chain_that_can_not_be_asked_is_an_error_and_publishes_nothing(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_on(stream);
    if (stream->identified)
        return;
    simcudaFailCall("cuEventQuery", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_of_driver(sp_anonymous_confirm(stream, sequence, false), CUDA_ERROR_UNKNOWN);
    assert_false(is_synchronized(stream, sequence));
    assert_done(sp_anonymous_confirm(stream, sequence, false));
    assert_true(is_synchronized(stream, sequence));
}

static void a_contexts_synchronise_is_a_synchronise(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_behind_work_on(stream);
    assert_done(sp_synchronize_context());
    assert_true(is_complete(stream, sequence));
    assert_true(is_synchronized(stream, sequence));
}

#define synchronize_test(function)                                                                 \
    cmocka_unit_test_setup_teardown(function, simulated_setup, simulated_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        synchronize_test(a_synchronise_completes_all_frees_before_it),
        synchronize_test(a_synchronise_that_fails_completes_nothing),
        synchronize_test(a_query_completes_the_frees_before_it_when_nothing_is_pending),
        synchronize_test(
            a_contexts_synchronise_completes_the_frees_of_all_its_streams_and_no_others),
        synchronize_test(without_host_memory_a_contexts_synchronise_waits_and_teaches_nothing),
        synchronize_test(a_synchronise_completes_what_the_stream_runs_after),
        synchronize_test(a_synchronise_that_fails_completes_nothing_of_what_the_stream_runs_after),
        synchronize_test(a_query_is_no_synchronise),
        synchronize_test(a_synchronise_completes_nothing_that_was_freed_while_it_waited),
        synchronize_test(
            a_synchronise_at_a_handle_that_was_destroyed_here_says_nothing_certain_of_the_old_stream),
        synchronize_test(a_chain_that_can_not_be_asked_is_an_error_and_publishes_nothing),
        synchronize_test(a_contexts_synchronise_is_a_synchronise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
