#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "fault/host_memory.h"
#include "order/identity.h"
#include "order/registry.h"
#include "order/resolve.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"

// ---------------------------------------------------------------------------------------- identity

static void one_stream_has_one_slot_and_another_one_another(void **state) {
    (void)state;
    CUstream a = simulated_stream();
    CUstream b = simulated_stream();
    struct sp_stream *first = known(a);
    assert_ptr_equal(known(a), first);
    assert_ptr_not_equal(known(b), first);
    assert_int_not_equal(known(b)->slot, first->slot);
    assert_ptr_equal(known(a), first);
    assert_ptr_equal(first->context, simulated_context());
    assert_int_equal(first->device, 0);
}

static void the_null_stream_and_the_legacy_stream_are_one(void **state) {
    (void)state;
    assert_ptr_equal(known(NULL), known(CU_STREAM_LEGACY));
    assert_ptr_not_equal(known(NULL), known(CU_STREAM_PER_THREAD));
}

static void *resolve_per_thread_stream(void *context) {
    struct sp_stream *stream = NULL;
    if (sp_driver->cuCtxSetCurrent(context) == CUDA_SUCCESS)
        sp_resolve_stream(CU_STREAM_PER_THREAD, &stream);
    return stream;
}

static void each_thread_has_a_per_thread_stream_of_its_own(void **state) {
    (void)state;
    struct sp_stream *here = known(CU_STREAM_PER_THREAD);
    pthread_t thread;
    void *there = NULL;
    assert_int_equal(pthread_create(&thread, NULL, resolve_per_thread_stream, simulated_context()),
                     0);
    assert_int_equal(pthread_join(thread, &there), 0);
    assert_non_null(there);
    assert_ptr_not_equal(there, here);
    assert_ptr_equal(known(CU_STREAM_PER_THREAD), here);
}

static void many_streams_keep_their_slots(void **state) {
    (void)state;
    enum { MANY = 700 };
    static CUstream handles[MANY];
    static struct sp_stream *streams[MANY];
    for (int i = 0; i < MANY; i++) {
        handles[i] = simulated_stream();
        streams[i] = known(handles[i]);
    }
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(known(handles[i]), streams[i]);
}

static void a_default_stream_needs_a_current_context_and_a_users_stream_does_not(void **state) {
    (void)state;
    struct sp_stream *stream = NULL;
    CUstream a = simulated_stream();
    assert_int_equal(sp_driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    assert_true(sp_outcome_lacks_context(sp_resolve_stream(NULL, &stream)));
    assert_true(sp_outcome_lacks_context(sp_resolve_stream(CU_STREAM_LEGACY, &stream)));
    assert_true(sp_outcome_lacks_context(sp_resolve_stream(CU_STREAM_PER_THREAD, &stream)));
    assert_ptr_equal(known(a)->context, simulated_context());
    free_on(known(a));
    assert_done(sp_mark_record(known(a)));
    CUcontext current = simulated_context();
    assert_int_equal(sp_driver->cuCtxGetCurrent(&current), CUDA_SUCCESS);
    assert_null(current); // what was pushed was popped
}

static void a_stream_that_can_not_be_described_is_not_registered(void **state) {
    (void)state;
    static const char *const calls[] = {"cuStreamGetCtx", "cuCtxPushCurrent", "cuCtxGetDevice"};
    struct sp_stream *stream = NULL;
    CUstream a = simulated_stream();
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_of_driver(sp_resolve_stream(a, &stream), CUDA_ERROR_UNKNOWN);
        assert_int_equal(simcudaFailCount(), i + 1);
    }
    CUcontext current = NULL;
    assert_int_equal(sp_driver->cuCtxGetCurrent(&current), CUDA_SUCCESS);
    assert_ptr_equal(current, simulated_context());
    known(a);
}

static void a_stream_without_host_memory_is_not_registered(void **state) {
    (void)state;
    uint64_t failed = 0;
    struct sp_outcome outcome = sp_outcome_done();
    known_stream(); // its context is known from here on
    for (int i = 0; i < 1 << 20 && sp_is_done(outcome); i++) {
        struct sp_stream *stream = NULL;
        CUstream handle = simulated_stream();
        host_memory_enter(1, true);
        outcome = sp_resolve_stream(handle, &stream);
        host_memory_leave(&failed);
        if (!sp_is_done(outcome)) {
            assert_cause(outcome, SP_NO_HOST_MEMORY);
            known(handle);
        }
    }
    assert_int_equal(failed, 1);
}

static enum sp_stream_kind kind_of(const struct sp_stream *stream) {
    return (enum sp_stream_kind)atomic_load(&stream->kind);
}

static void a_stream_is_what_its_flags_say(void **state) {
    (void)state;
    assert_int_equal(kind_of(known(NULL)), SP_STREAM_LEGACY);
    assert_int_equal(kind_of(known(CU_STREAM_LEGACY)), SP_STREAM_LEGACY);
    assert_int_equal(kind_of(known(CU_STREAM_PER_THREAD)), SP_STREAM_BLOCKING);
    assert_int_equal(kind_of(known(simulated_blocking_stream())), SP_STREAM_BLOCKING);
    assert_int_equal(kind_of(known(simulated_stream())), SP_STREAM_NON_BLOCKING);
}

static void streams_of_two_contexts_are_told_apart(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *here = known(NULL);
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *there = known(NULL);
    assert_ptr_not_equal(here, there);
    assert_ptr_equal(there->context, context);
    assert_true(sp_stream_is_of(there, context, there->context_id));
    assert_false(sp_stream_is_of(there, here->context, here->context_id));
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    assert_ptr_equal(known(NULL), here);
}

static uint64_t stream_questions(void) {
    return simcudaCallCount("cuStreamGetId");
}

static void the_legacy_stream_is_told_by_its_context(void **state) {
    (void)state;
    if (!sp_identity_has_ids())
        return;
    struct sp_stream *here = known(NULL);
    uint64_t before = stream_questions();
    assert_ptr_equal(known(NULL), here);
    assert_ptr_equal(known(CU_STREAM_LEGACY), here);
    assert_int_equal(stream_questions(), before);
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *there = known(NULL);
    assert_ptr_not_equal(there, here);
    assert_int_equal(stream_questions(), before + 1);
    assert_ptr_equal(known(NULL), there);
    assert_int_equal(stream_questions(), before + 1);
    simcudaFailCall("cuCtxGetId", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_ptr_equal(known(NULL), there); // then the stream is asked for
    assert_int_equal(stream_questions(), before + 2);
    uint64_t id = there->context_id;
    assert_int_equal(sp_driver->cuCtxDestroy(context), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *later = known(NULL); // even if the new context has the handle of the old one
    assert_int_not_equal(later->context_id, id);
    assert_ptr_equal(later, there); // whose stream has ended, so its slot is used again
    assert_ptr_not_equal(later, here);
}

static void whoever_goes_from_context_to_context_asks_once_a_call(void **state) {
    (void)state;
    if (!sp_identity_has_ids())
        return;
    enum { ROUNDS = 10 };
    CUcontext contexts[2] = {simulated_context()};
    assert_int_equal(sp_driver->cuCtxCreate(&contexts[1], 0, 0), CUDA_SUCCESS);
    uint64_t before = 0;
    for (int i = 0; i < ROUNDS + 2; i++) {
        if (i == 2)
            before = simcudaCallCount("cuCtxGetId") + simcudaCallCount("cuStreamGetId");
        assert_int_equal(sp_driver->cuCtxSetCurrent(contexts[i % 2]), CUDA_SUCCESS);
        known(NULL);
    }
    assert_int_equal(simcudaCallCount("cuCtxGetId") + simcudaCallCount("cuStreamGetId") - before,
                     ROUNDS);
}

static void *destroy_elsewhere(void *context) {
    return sp_driver->cuCtxDestroy(context) == CUDA_SUCCESS ? context : NULL;
}

static void the_legacy_stream_of_a_context_that_another_thread_destroyed_is_nobody(void **state) {
    (void)state;
    if (!sp_identity_has_ids()) // there it is reported, as the misuse that it is
        return;
    CUcontext context = NULL;
    struct sp_stream *stream = NULL;
    pthread_t thread;
    void *destroyed = NULL;
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    known(NULL);
    assert_int_equal(pthread_create(&thread, NULL, destroy_elsewhere, context), 0);
    assert_int_equal(pthread_join(thread, &destroyed), 0);
    assert_ptr_equal(destroyed, context);
    assert_false(sp_is_done(sp_resolve_stream(NULL, &stream)));
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

// ----------------------------------------------------------------------------------------- capture

static void begin_capture(CUstream stream, CUstreamCaptureMode mode) {
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream, mode), CUDA_SUCCESS);
}

static CUresult end_capture(CUstream stream) {
    CUgraph graph = NULL;
    CUresult error = sp_driver->cuStreamEndCapture(stream, &graph);
    if (graph)
        sp_driver->cuGraphDestroy(graph);
    return error;
}

static void a_capturing_stream_is_told_from_others(void **state) {
    (void)state;
    CUstream a = simulated_blocking_stream();
    CUstream b = simulated_stream();
    assert_done(sp_resolve_capture(a));
    begin_capture(a, CU_STREAM_CAPTURE_MODE_GLOBAL);
    assert_cause(sp_resolve_capture(a), SP_CAPTURES);
    assert_done(sp_resolve_capture(b));
    assert_of_driver(sp_resolve_capture(NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    known(b);
    assert_int_equal(end_capture(a), CUDA_SUCCESS);
    assert_done(sp_resolve_capture(a));
    known(a);
}

// ---------------------------------------------------------------------- recycled handles and slots

// A stream is destroyed, and the next one has its handle.
static CUstream recycle(CUstream old) {
    simulated_destroy(old);
    CUstream stream = simulated_stream();
    assert_ptr_equal(stream, old);
    return stream;
}

// An identified stream at the handle of another is another; an anonymous one can't be told from it.
static void a_recycled_handle_is_another_stream_where_the_driver_can_tell(void **state) {
    (void)state;
    CUstream handle = simulated_stream();
    struct sp_stream *old = known(handle);
    free_behind_work_on(old);
    struct sp_stream *young = known(recycle(handle));
    assert_int_equal(young != old, old->identified);
    assert_int_equal(atomic_load(&old->gone), old->identified);
}

static void the_slot_of_a_gone_stream_is_used_again_once_all_of_it_is_complete(void **state) {
    (void)state;
    struct sp_stream *old = known_stream();
    uint64_t sequence = free_behind_work_on(old);
    CUstream handle = old->handle;
    if (!old->identified)
        return;
    simulated_destroy(handle);
    say_destroyed(old);
    struct sp_stream *meanwhile = known_stream();
    assert_ptr_not_equal(meanwhile, old);
    uint32_t count = sp_stream_count();
    assert_done(sp_synchronize_context());
    struct sp_stream *young = known_stream();
    assert_ptr_equal(young, old);
    assert_int_equal(sp_stream_count(), count);
    assert_true(young->first > sequence);
    assert_true(is_complete(young, sequence));
    assert_false(atomic_load(&young->gone));
    assert_false(is_complete(young, free_on(young)));
}

static void a_used_slot_starts_with_an_empty_clock_and_no_marks(void **state) {
    (void)state;
    struct sp_mark *mark = NULL;
    struct sp_stream *before = known_stream();
    struct sp_stream *old = known_stream();
    if (!old->identified)
        return;
    uint64_t sequence = free_behind_work_on(before);
    assert_done(sp_mark_stream(before, &mark));
    assert_done(sp_mark_wait(old, mark));
    sp_mark_release(mark);
    free_on(old);
    assert_done(sp_mark_record(old));
    assert_true(runs_after(old, before, sequence));
    simulated_finish(before->handle);
    assert_complete(sp_synchronize_query, old, old->handle);
    simulated_destroy(old->handle);
    say_destroyed(old);
    struct sp_stream *young = known_stream();
    assert_ptr_equal(young, old);
    assert_false(runs_after(young, before, sequence));
    assert_null(sp_mark_covering(young, 0));
}

static void a_stream_that_is_destroyed_here_is_marked_first_and_then_gone(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    uint64_t sequence = free_behind_work_on(stream);
    assert_done(sp_end_stream(stream, stream->handle));
    assert_int_equal(atomic_load(&stream->gone), stream->identified);
    struct sp_mark *mark = sp_mark_covering(stream, sequence);
    assert_non_null(mark);
    sp_mark_release(mark);
}

static void a_stream_that_the_driver_keeps_is_not_gone(void **state) {
    (void)state;
    struct sp_stream *stream = known_stream();
    simcudaFailCall("cuStreamDestroy", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_of_driver(sp_end_stream(stream, stream->handle), CUDA_ERROR_LAUNCH_FAILED);
    assert_false(atomic_load(&stream->gone));
    assert_done(sp_end_stream(NULL, stream->handle)); // as if it captured
    assert_false(atomic_load(&stream->gone));
}

static void a_gone_stream_of_another_context_keeps_its_slot(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *old = known_stream();
    simulated_destroy(old->handle);
    say_destroyed(old);
    assert_done(sp_synchronize_context());
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *elsewhere = known(simulated_blocking_stream());
    assert_ptr_not_equal(elsewhere, old);
    assert_ptr_equal(old->context, simulated_context());
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

static void streams_that_come_and_go_need_no_more_slots_than_there_are_at_a_time(void **state) {
    (void)state;
    enum { MANY = 1000 };
    for (int i = 0; i < MANY; i++) {
        struct sp_stream *stream = known_stream();
        free_on(stream);
        assert_done(sp_mark_record(stream));
        assert_done(sp_synchronize_stream(stream, stream->handle));
        simulated_destroy(stream->handle);
        say_destroyed(stream);
    }
    assert_true(sp_stream_count() <= 2);
    assert_true(live_events() <= 2 * (SP_STREAM_MARKS + 2));
}

// The reset ends the context's work and takes its events along; what comes next has the same
// handle.
static void a_context_at_the_handle_of_an_earlier_one_shows_that_that_one_has_ended(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *old = known_stream();
    uint64_t sequence = free_behind_work_on(old);
    assert_done(sp_mark_record(old));
    assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_ptr_equal(context, simulated_context());
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
    assert_done(sp_poll_current_context()); // asks no event of before
    struct sp_stream *young = known_stream();
    assert_ptr_equal(young, old); // the slot, with numbers of its own
    assert_true(young->first > sequence);
    assert_true(is_complete(old, sequence));
    assert_true(is_synchronized(old, sequence));
    assert_null(sp_mark_covering(old, 0));
    free_on(young);
    assert_done(sp_mark_record(young));
}

static struct sp_stream *known_in_new_context(CUcontext *context) {
    assert_int_equal(sp_driver->cuCtxCreate(context, 0, 0), CUDA_SUCCESS);
    struct sp_stream *stream = known_stream();
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    return stream;
}

static void destroy_context(CUcontext context) {
    assert_int_equal(sp_driver->cuCtxDestroy(context), CUDA_SUCCESS);
}

static void the_frees_of_a_destroyed_context_are_complete_once_it_was_asked(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *here = known_stream();
    struct sp_stream *there = known_in_new_context(&context);
    uint64_t of_here = free_behind_work_on(here);
    uint64_t of_there = free_on(there);
    assert_done(sp_mark_record(there));
    assert_false(sp_end_gone_contexts(here));
    destroy_context(context);
    assert_false(is_complete(there, of_there));
    assert_true(sp_end_gone_contexts(here));
    assert_true(is_synchronized(there, of_there));
    assert_false(is_complete(here, of_here));
    assert_false(sp_end_gone_contexts(here));
}

static void what_was_freed_before_a_reset_is_complete_though_the_handle_lives_on(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *old = known_stream();
    uint64_t sequence = free_behind_work_on(old);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    assert_ptr_equal(context, simulated_context());
    assert_true(sp_end_gone_contexts(NULL));
    assert_true(is_complete(old, sequence));
}

static void each_context_with_frees_pending_is_asked_once(void **state) {
    (void)state;
    enum { CONTEXTS = 3, STREAMS = 4 };
    struct sp_stream *here = known_stream();
    CUcontext contexts[CONTEXTS];
    free_behind_work_on(here);
    for (int i = 0; i < CONTEXTS; i++) {
        assert_int_equal(sp_driver->cuCtxCreate(&contexts[i], 0, 0), CUDA_SUCCESS);
        for (int j = 0; j < STREAMS; j++)
            free_on(known_stream());
    }
    uint64_t asked = simcudaCallCount(context_question());
    assert_false(sp_end_gone_contexts(here));
    assert_int_equal(simcudaCallCount(context_question()), asked + CONTEXTS);
    for (int i = 0; i < CONTEXTS; i++)
        destroy_context(contexts[i]);
    assert_true(sp_end_gone_contexts(here));
    assert_int_equal(simcudaCallCount(context_question()), asked + 2 * CONTEXTS);
    assert_false(sp_end_gone_contexts(here));
    assert_int_equal(simcudaCallCount(context_question()), asked + 2 * CONTEXTS);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

static void more_contexts_than_a_pass_remembers_are_all_ended(void **state) {
    (void)state;
    enum { CONTEXTS = 40 };
    CUcontext contexts[CONTEXTS];
    struct sp_stream *streams[CONTEXTS];
    for (int i = 0; i < CONTEXTS; i++) {
        streams[i] = known_in_new_context(&contexts[i]);
        free_on(streams[i]);
    }
    assert_false(sp_end_gone_contexts(NULL));
    for (int i = 0; i < CONTEXTS; i += 2)
        destroy_context(contexts[i]);
    assert_true(sp_end_gone_contexts(NULL));
    for (int i = 0; i < CONTEXTS; i++)
        assert_int_equal(is_complete(streams[i], 1), i % 2 == 0);
}

static void a_context_that_the_driver_can_not_tell_of_is_taken_for_alive(void **state) {
    (void)state;
    CUcontext context = NULL;
    struct sp_stream *there = known_in_new_context(&context);
    uint64_t sequence = free_on(there);
    destroy_context(context);
    simcudaFailCall(context_question(), 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_false(sp_end_gone_contexts(NULL));
    assert_false(is_complete(there, sequence));
    assert_true(sp_end_gone_contexts(NULL));
    assert_true(is_complete(there, sequence));
}

#define stream_test(function)                                                                      \
    cmocka_unit_test_setup_teardown(function, simulated_setup, simulated_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        stream_test(one_stream_has_one_slot_and_another_one_another),
        stream_test(the_null_stream_and_the_legacy_stream_are_one),
        stream_test(each_thread_has_a_per_thread_stream_of_its_own),
        stream_test(many_streams_keep_their_slots),
        stream_test(a_default_stream_needs_a_current_context_and_a_users_stream_does_not),
        stream_test(a_stream_that_can_not_be_described_is_not_registered),
        stream_test(a_stream_without_host_memory_is_not_registered),
        stream_test(a_stream_is_what_its_flags_say),
        stream_test(streams_of_two_contexts_are_told_apart),
        stream_test(the_legacy_stream_is_told_by_its_context),
        stream_test(the_legacy_stream_of_a_context_that_another_thread_destroyed_is_nobody),
        stream_test(whoever_goes_from_context_to_context_asks_once_a_call),
        stream_test(a_capturing_stream_is_told_from_others),
        stream_test(a_recycled_handle_is_another_stream_where_the_driver_can_tell),
        stream_test(the_slot_of_a_gone_stream_is_used_again_once_all_of_it_is_complete),
        stream_test(a_used_slot_starts_with_an_empty_clock_and_no_marks),
        stream_test(a_stream_that_is_destroyed_here_is_marked_first_and_then_gone),
        stream_test(a_stream_that_the_driver_keeps_is_not_gone),
        stream_test(a_gone_stream_of_another_context_keeps_its_slot),
        stream_test(streams_that_come_and_go_need_no_more_slots_than_there_are_at_a_time),
        stream_test(a_context_at_the_handle_of_an_earlier_one_shows_that_that_one_has_ended),
        stream_test(the_frees_of_a_destroyed_context_are_complete_once_it_was_asked),
        stream_test(what_was_freed_before_a_reset_is_complete_though_the_handle_lives_on),
        stream_test(each_context_with_frees_pending_is_asked_once),
        stream_test(more_contexts_than_a_pass_remembers_are_all_ended),
        stream_test(a_context_that_the_driver_can_not_tell_of_is_taken_for_alive),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
