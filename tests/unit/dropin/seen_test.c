#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>

#include "fault/host_memory.h"
#include "order/resolve.h"
#include "unit/dropin/noted.h"

// Which streams are known by their handles where the drop-in's notes are taken, and what the driver
// is asked.

static void pair_of_pool(size_t size, CUstream stream) {
    void *pointer = NULL;
    assert_int_equal(
        sp_interpose_malloc_from_pool(&pointer, size, pool, stream, sp_seen_promises(stream)),
        poolSuccess);
    assert_int_equal(noted_free(pointer, stream), poolSuccess);
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

// The public calls are a program's own, in which the drop-in has no part.
static void the_public_calls_ask_as_ever(void **state) {
    (void)state;
    void *pointer = NULL;
    pair(1000, a);
    struct calls before = count_calls();
    assert_int_equal(poolMallocAsync(&pointer, 1000, a), poolSuccess);
    assert_int_equal(poolFreeAsync(pointer, a), poolSuccess);
    assert_int_equal(calls_since(before).captures, 2);
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
    assert_int_equal(noted_free(pointer, a), poolSuccess);
    assert_int_equal(poolStreamDestroy(a), poolSuccess);
    assert_ptr_equal(create_seen(), a);
    void *young = allocate(1000, a);
    assert_int_equal(young != pointer, has_ids());
    require_another_stream(old);
    require_known(a);
    assert_int_equal(noted_free(young, a), poolSuccess);
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
    assert_int_equal(noted_free(pointer, a), poolSuccess);
    simulated_destroy(a);
    assert_ptr_equal(create_seen(), a);
    void *young = allocate(1000, a);
    assert_int_equal(young != pointer, has_ids());
    require_another_stream(old);
    assert_int_equal(noted_free(young, a), poolSuccess);
}

static void a_stream_whose_destruction_failed_is_asked_for(void **state) {
    (void)state;
    pair(1000, a);
    simcudaFailCall("cuStreamDestroy", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    assert_int_not_equal(poolStreamDestroy(a), poolSuccess);
    require_asked(a);
}

// Nothing is destroyed through the library before its first use.
static void an_end_before_the_first_call_is_noted(void **state) {
    (void)state;
    uint64_t before = sp_captures_now();
    sp_seen_ends(a);
    simulated_destroy(a);
    sp_captures_end_of_stream(a, before);
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

// A promise that ends makes threads forget handles, which are known by what is seen yet.
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

// A million streams leave nothing behind, neither here nor among the slots.
static void streams_that_come_and_go_take_no_memory(void **state) {
    (void)state;
    sp_seen_ends(a);
    for (uintptr_t i = 1; i <= 1000 * 1000; i++) {
        CUstream stream = made_up(i);
        sp_seen_created(stream, simulated_context(), 0);
        sp_seen_ends(stream);
    }
    assert_int_equal(sp_seen_promises(made_up(1)), poolPromiseNothing);
}

// -------------------------------------------------------------------------------- ends of contexts

static void streams_end_with_their_context(void **state) {
    (void)state;
    CUcontext other = (CUcontext)state; // any address
    CUstream elsewhere = simulated_stream(), nowhere = simulated_stream(), later;
    sp_seen_created(elsewhere, other, 1);
    sp_seen_created(nowhere, NULL, -1);
    uint64_t before = sp_captures_now();
    later = create_seen();
    require_known(a);
    require_known(elsewhere);
    require_known(nowhere);
    sp_seen_context_ended(simulated_context(), -1, before);
    require_asked(a);
    require_asked(nowhere); // may have been one of it
    require_known(elsewhere);
    require_known(later); // has got a handle of the context's, if any
    sp_seen_context_ended(NULL, 1, sp_captures_now());
    require_asked(elsewhere);
    require_known(later);
}

static void many_streams_end_at_once(void **state) {
    CUcontext other = (CUcontext)state; // any address
    for (uintptr_t i = 1; i <= 20 * 1000; i++)
        sp_seen_created(made_up(i), i % 2 ? other : simulated_context(), -1);
    sp_seen_context_ended(other, -1, sp_captures_now());
    for (uintptr_t i = 1; i <= 20 * 1000; i++)
        assert_int_equal((sp_seen_promises(made_up(i)) & poolPromiseStreamDestroy) != 0,
                         i % 2 == 0);
}

// A call that is under way in another thread believes what was promised when it began.
static poolError_t late_pair(size_t size, CUstream stream, int promises) {
    void *pointer = NULL;
    bool is_foreign = false;
    assert_int_equal(sp_interpose_malloc_from_pool(&pointer, size, pool, stream, promises),
                     poolSuccess);
    return sp_interpose_free(pointer, stream, promises, &is_foreign);
}

static bool is_borrowed(struct sp_stream *stream) {
    bool is_borrowed = sp_borrow_stream(stream, NULL, false);
    if (is_borrowed)
        sp_borrow_end(stream);
    return is_borrowed;
}

// The end of one context of the device makes the streams of all unseen, and this one lives on.
static void a_stream_that_a_late_call_remembers_is_forgotten_before_its_context_ends(void **state) {
    (void)state;
    CUcontext other, popped;
    CUstream stream = NULL;
    if (!has_ids()) // no stream is ever borrowed
        return;
    assert_int_equal(sp_driver->cuCtxCreate(&other, 0, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxPopCurrent(&popped), CUDA_SUCCESS);
    sp_seen_created(stream, other, 0);
    int promises = sp_seen_promises(stream);
    sp_seen_context_ended(NULL, 0, sp_seen_context_ends());
    assert_int_equal(sp_seen_promises(stream), poolPromiseNothing);
    assert_int_equal(late_pair(1000, stream, promises), poolSuccess);
    struct sp_stream *remembered = fixture_stream(stream);
    assert_true(is_borrowed(remembered));
    uint64_t before = sp_seen_context_ends();
    assert_int_equal(sp_driver->cuCtxDestroy(other), CUDA_SUCCESS);
    sp_seen_context_ended(other, -1, before);
    assert_false(is_borrowed(remembered));
}

static void a_stream_that_lives_on_leaves_its_memory_to_others(void **state) {
    (void)state;
    const size_t size = MIB(64); // more than may be held back
    poolMemPool_t full = fixture_pool_of_at_most(size);
    void *pointer = NULL;
    assert_int_equal(sp_interpose_malloc_from_pool(&pointer, size, full, a, sp_seen_promises(a)),
                     poolSuccess);
    simulated_work(a);
    assert_int_equal(noted_free(pointer, a), poolSuccess);
    sp_seen_context_ended(NULL, 0, sp_seen_context_ends());
    simulated_finish(a);
    CUstream other = simulated_stream();
    uint64_t waits = simcudaCallCount("cuCtxSynchronize") + simcudaCallCount("cuStreamWaitEvent");
    assert_ptr_equal(fixture_malloc(full, size, other), pointer);
    assert_int_equal(simcudaCallCount("cuCtxSynchronize") + simcudaCallCount("cuStreamWaitEvent"),
                     waits);
    fixture_free(pointer, other);
}

// ------------------------------------------------------------------------------------- host memory

static void without_host_memory_a_new_stream_is_asked_for(void **state) {
    (void)state;
    uint64_t failed;
    CUstream stream = simulated_stream();
    host_memory_enter(1, true);
    sp_seen_created(stream, simulated_context(), 0);
    host_memory_leave(&failed);
    assert_int_equal(failed, 1);
    require_asked(stream);
    sp_seen_created(stream, simulated_context(), 0);
    require_known(stream);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        // Memory of streams that have ended is used again, so it comes first.
        noted_test(without_host_memory_a_new_stream_is_asked_for),
        noted_test(a_pair_on_a_seen_stream_makes_no_call),
        noted_test(an_unseen_stream_is_asked_for),
        noted_test(the_public_calls_ask_as_ever),
        noted_test(a_default_stream_is_asked_who_it_is_alone),
        noted_test(a_handle_that_comes_back_is_another_stream),
        noted_test(a_stream_that_was_made_unseen_at_the_handle_is_asked_for),
        noted_test(a_handle_that_is_made_again_ends_the_old_stream),
        noted_test(a_stream_whose_destruction_failed_is_asked_for),
        noted_test(an_end_before_the_first_call_is_noted),
        noted_test(every_thread_knows_a_seen_stream),
        noted_test(the_end_of_a_promise_leaves_what_is_seen),
        noted_test(streams_that_come_and_go_take_no_memory),
        noted_test(streams_end_with_their_context),
        noted_test(many_streams_end_at_once),
        noted_test(a_stream_that_a_late_call_remembers_is_forgotten_before_its_context_ends),
        noted_test(a_stream_that_lives_on_leaves_its_memory_to_others),
    };
    return cmocka_run_group_tests_name("dropin/seen", tests, NULL, NULL);
}
