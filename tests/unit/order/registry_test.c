// The registry: whose slots are used again, when, and by whom.
#include "order/registry.h"

#include "order/identity.h"
#include "order/resolve.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "unit/order/known.h"
#include "unit/outcomes.h"

static void a_gone_streams_event_is_asked_when_a_stream_comes(void **state) {
    (void)state;
    struct sp_stream *old = known_stream();
    uint64_t sequence = free_on(old);
    CUstream handle = old->handle;
    if (!old->identified)
        return;
    assert_done(sp_end_stream(old, handle));
    assert_false(is_complete(old, sequence));
    assert_ptr_equal(known_stream(), old);
    assert_true(is_complete(old, sequence));
}

// Without an event nobody can tell of them.
static void gone_streams_that_nobody_can_ask_stand_in_nobodys_way(void **state) {
    (void)state;
    enum { MUTE = 40, OTHERS = 200 };
    for (int i = 0; i < MUTE; i++) {
        struct sp_stream *mute = known_stream();
        free_on(mute);
        simulated_destroy(mute->handle);
        say_destroyed(mute);
    }
    for (int i = 0; i < OTHERS; i++) {
        struct sp_stream *stream = known_stream();
        free_on(stream);
        assert_done(sp_end_stream(stream, stream->handle));
    }
    assert_true(sp_stream_count() <= MUTE + 2);
    assert_done(sp_synchronize_context());
    uint32_t count = sp_stream_count();
    for (uint32_t i = 0; i < count; i++)
        known_stream();
    assert_int_equal(sp_stream_count(), count); // theirs are used again by now
}

// ----------------------------------------------------------------------------------------- threads

// What a thread does with its own default stream.
struct visit {
    bool remembers;
    CUcontext context;
    struct sp_stream *own;
    pthread_barrier_t *met, *ends; // null: it ends at once
};

static void *visit(void *argument) {
    struct visit *visit = argument;
    assert_int_equal(sp_driver->cuCtxSetCurrent(visit->context), CUDA_SUCCESS);
    visit->own = known(CU_STREAM_PER_THREAD);
    free_on(visit->own);
    assert_done(sp_mark_record(visit->own));
    if (visit->remembers)
        sp_stream_cache_add(visit->own, CU_STREAM_PER_THREAD);
    if (!visit->met)
        return NULL;
    pthread_barrier_wait(visit->met);
    pthread_barrier_wait(visit->ends);
    return NULL;
}

static void visit_and_end(struct visit *by) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, visit, by), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void threads_that_come_and_go_need_no_more_slots_than_there_are_at_a_time(void **state) {
    (void)state;
    enum { MANY = 200 };
    struct visit by = {.remembers = true, .context = simulated_context()};
    for (int i = 0; i < MANY; i++)
        visit_and_end(&by);
    assert_true(sp_stream_count() <= 2);
    assert_true(sp_progress_has_pending_events(by.own)); // of the last one nobody has asked
}

#ifndef DESTRUCTOR_ROUNDS
#define DESTRUCTOR_ROUNDS 2 // so once behind the library's own destructor
#endif
static pthread_key_t destructor_key;

static void use_own_stream_in_a_destructor(void *argument) {
    static _Thread_local int rounds;
    struct visit *visit = argument;
    assert_int_equal(sp_driver->cuCtxSetCurrent(visit->context), CUDA_SUCCESS);
    assert_done(sp_mark_record(known(CU_STREAM_PER_THREAD)));
    if (++rounds < DESTRUCTOR_ROUNDS)
        assert_int_equal(pthread_setspecific(destructor_key, visit), 0);
}

static void *visit_and_have_a_destructor(void *argument) {
    assert_int_equal(pthread_setspecific(destructor_key, argument), 0);
    return visit(argument);
}

static void what_a_threads_destructors_use_needs_no_more_slots_either(void **state) {
    (void)state;
    enum { MANY = 100 };
    assert_int_equal(pthread_key_create(&destructor_key, use_own_stream_in_a_destructor), 0);
    struct visit by = {.context = simulated_context()};
    for (int i = 0; i < MANY; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, visit_and_have_a_destructor, &by), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    assert_int_equal(pthread_key_delete(destructor_key), 0);
    assert_true(sp_stream_count() < MANY / 10);
}

static void a_threads_slot_is_none_of_a_created_streams(void **state) {
    (void)state;
    struct visit by = {.context = simulated_context()};
    visit_and_end(&by);
    assert_done(sp_synchronize_context());
    assert_ptr_not_equal(known_stream(), by.own);
    assert_ptr_equal(known(CU_STREAM_PER_THREAD), by.own);
}

// The thread keeps the list of its default streams.
static void forget_by_thread(void) {
    *sp_stream_cache = (struct sp_stream_cache){.defaults = sp_stream_cache->defaults};
}

// As in a destructor of the program's that comes behind the library's own.
static void a_threads_stream_that_is_named_again_is_not_gone(void **state) {
    (void)state;
    struct sp_stream *own = known(CU_STREAM_PER_THREAD);
    struct sp_stream_name name = sp_stream_name_of(own);
    assert_done(sp_synchronize_context());
    sp_registry_set_gone(own, &name);
    assert_true(atomic_load(&own->gone));
    forget_by_thread();
    assert_ptr_equal(known(CU_STREAM_PER_THREAD), own);
    assert_false(atomic_load(&own->gone));
    struct visit other = {.context = simulated_context()};
    visit_and_end(&other);
    assert_ptr_not_equal(other.own, own);
    assert_ptr_equal(known(CU_STREAM_PER_THREAD), own);
}

static void a_threads_stream_whose_slot_is_anothers_by_now_gets_one_of_its_own(void **state) {
    (void)state;
    struct sp_stream *own = known(CU_STREAM_PER_THREAD);
    struct sp_stream_name name = sp_stream_name_of(own);
    assert_done(sp_synchronize_context());
    sp_registry_set_gone(own, &name);
    forget_by_thread();
    struct visit other = {.context = simulated_context()};
    visit_and_end(&other);
    assert_ptr_equal(other.own, own);
    struct sp_stream *again = known(CU_STREAM_PER_THREAD);
    assert_true(sp_stream_has_name(again, &name));
}

static CUcontext new_context(void) {
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    return context;
}

static void end_context(CUcontext context) {
    assert_int_equal(sp_driver->cuCtxDestroy(context), CUDA_SUCCESS);
    while (sp_end_some_gone_contexts(NULL))
        ;
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
}

// A thread remembers its own default stream by a handle that all threads have.
static void what_a_living_thread_remembers_is_no_other_threads(void **state) {
    (void)state;
    pthread_t thread;
    pthread_barrier_t met, ends;
    pthread_barrier_init(&met, NULL, 2);
    pthread_barrier_init(&ends, NULL, 2);
    struct visit lives = {.remembers = true, .context = new_context(), .met = &met, .ends = &ends};
    assert_int_equal(pthread_create(&thread, NULL, visit, &lives), 0);
    pthread_barrier_wait(&met);
    end_context(lives.context);
    assert_true(is_complete(lives.own, atomic_load(&lives.own->freed)));
    struct visit other = {.context = simulated_context()};
    visit_and_end(&other);
    assert_ptr_not_equal(other.own, lives.own);
    pthread_barrier_wait(&ends);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_done(sp_synchronize_context());
    bool used[2] = {false, false};
    CUcontext contexts[2] = {new_context(), new_context()};
    for (int i = 0; i < 2; i++) { // elsewhere, for the other's slot is of this context
        struct visit later = {.context = contexts[i], .remembers = true};
        visit_and_end(&later);
        used[i] = later.own == lives.own;
    }
    assert_true(used[0] || used[1]);
    end_context(contexts[0]);
    end_context(contexts[1]);
    pthread_barrier_destroy(&met);
    pthread_barrier_destroy(&ends);
}

// ---------------------------------------------------------------------------------------- contexts

// Each context is destroyed by a call that says nothing to the library, and nothing is pending
// there.
static void contexts_that_come_and_go_need_no_more_slots_than_there_are_at_a_time(void **state) {
    (void)state;
    enum { MANY = 200 };
    struct sp_stream *here = known_stream();
    for (int i = 0; i < MANY; i++) {
        CUcontext context = new_context();
        struct sp_stream *there = known_stream();
        free_on(there);
        known(NULL);
        known(CU_STREAM_PER_THREAD);
        assert_done(sp_synchronize_context());
        assert_int_equal(sp_driver->cuCtxDestroy(context), CUDA_SUCCESS);
        assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    }
    assert_true(sp_stream_count() <= 1 + 3 * 17);
    while (sp_end_some_gone_contexts(NULL))
        ;
    assert_ptr_equal(known(here->handle), here);
}

// The device of a context is asked once.
static void a_context_that_is_known_is_not_entered_for_each_stream(void **state) {
    (void)state;
    known_stream();
    uint64_t entered = simcudaCallCount("cuCtxPushCurrent");
    known_stream();
    assert_int_equal(simcudaCallCount("cuCtxPushCurrent"), entered);
}

static void the_event_of_a_mark_that_outlives_its_context_is_not_recorded_again(void **state) {
    (void)state;
    CUcontext context = new_context();
    struct sp_stream *old = known_stream();
    free_on(old);
    struct sp_mark *mark = mark_on(old);
    end_context(context);
    context = new_context();
    struct sp_stream *young = known_stream();
    assert_ptr_equal(young, old);
    sp_mark_release(mark);
    uint64_t sequence = free_on(young);
    assert_done(sp_mark_record(young));
    assert_done(sp_poll_stream(young));
    assert_true(is_complete(young, sequence));
    end_context(context);
}

// ------------------------------------------------------------------------------------------- turns

enum { CROWD = 3 * SP_POLL_SOME };

static void pending_crowd(struct sp_stream *crowd[CROWD], uint64_t sequences[CROWD]) {
    for (int i = 0; i < CROWD; i++) {
        crowd[i] = known_stream();
        sequences[i] = free_behind_work_on(crowd[i]);
        assert_done(sp_mark_record(crowd[i]));
    }
}

static void streams_are_asked_by_turns(void **state) {
    (void)state;
    struct sp_stream *crowd[CROWD];
    uint64_t sequences[CROWD];
    pending_crowd(crowd, sequences);
    uint64_t asked = simcudaCallCount("cuEventQuery");
    assert_done(sp_poll_some_of(crowd[0], SP_POLL_SOME));
    uint64_t questions = simcudaCallCount("cuEventQuery") - asked;
    assert_true(questions >= SP_POLL_SOME && questions <= 2 * SP_POLL_SOME);
    for (int i = 0; i < CROWD; i++)
        simulated_finish(crowd[i]->handle);
    for (int i = 0; i < CROWD / SP_POLL_SOME; i++)
        assert_done(sp_poll_some_of(crowd[0], SP_POLL_SOME));
    for (int i = 0; i < CROWD; i++)
        assert_true(is_complete(crowd[i], sequences[i]));
    asked = simcudaCallCount("cuEventQuery");
    assert_done(sp_poll_some_of(crowd[0], SP_POLL_SOME));
    assert_int_equal(simcudaCallCount("cuEventQuery"), asked); // nobody is left
    uint64_t again = free_behind_work_on(crowd[0]);
    assert_done(sp_mark_record(crowd[0]));
    simulated_finish(crowd[0]->handle);
    assert_done(sp_poll_some_of(crowd[1], SP_POLL_SOME));
    assert_true(is_complete(crowd[0], again));
}

// The stream that was asked goes to the end, so each is asked in turn.
static void a_question_may_end_at_the_first_stream_that_is_busy(void **state) {
    (void)state;
    struct sp_stream *crowd[CROWD];
    uint64_t sequences[CROWD];
    pending_crowd(crowd, sequences);
    for (int i = 0; i < CROWD; i++) {
        uint64_t asked = simcudaCallCount("cuEventQuery");
        assert_done(sp_poll_some_of(crowd[0], 1));
        assert_in_range(simcudaCallCount("cuEventQuery") - asked, 1, 2);
    }
    simulated_finish(crowd[0]->handle);
    simulated_finish(crowd[1]->handle);
    simulated_finish(crowd[3]->handle);
    assert_done(sp_poll_some_of(crowd[0], 1));
    assert_true(is_complete(crowd[0], sequences[0]));
    assert_true(is_complete(crowd[1], sequences[1]));
    assert_false(is_complete(crowd[3], sequences[3])); // 2 is busy
    assert_done(sp_poll_some_of(crowd[0], 1));
    assert_true(is_complete(crowd[3], sequences[3]));
}

static void a_turn_asks_no_stream_of_another_context(void **state) {
    (void)state;
    struct sp_stream *crowd[CROWD];
    uint64_t sequences[CROWD];
    CUcontext context = new_context();
    pending_crowd(crowd, sequences);
    assert_int_equal(sp_driver->cuCtxSetCurrent(simulated_context()), CUDA_SUCCESS);
    struct sp_stream *here = known_stream();
    uint64_t asked = simcudaCallCount("cuEventQuery");
    for (int i = 0; i < CROWD; i++)
        assert_done(sp_poll_some_of(here, SP_POLL_SOME));
    assert_int_equal(simcudaCallCount("cuEventQuery"), asked);
    end_context(context);
}

static void news_tell_whose_they_are(void **state) {
    (void)state;
    uint32_t slot;
    struct sp_stream *stream = known_stream();
    uint64_t before = sp_progress_news(SP_FOUND);
    sp_progress_publish(stream, sp_progress_close(stream), SP_FOUND);
    assert_int_equal(sp_progress_news(SP_FOUND), before + 1);
    assert_true(sp_progress_news_of(SP_FOUND, before, &slot));
    assert_int_equal(slot, stream->slot);
    assert_false(sp_progress_news_of(SP_FOUND, before + 1, &slot)); // not yet
    for (int i = 0; i < 1024; i++)
        sp_progress_publish(stream, sp_progress_close(stream), SP_FOUND);
    assert_false(sp_progress_news_of(SP_FOUND, before, &slot)); // no longer
    assert_true(sp_progress_news_of(SP_FOUND, before + 1, &slot));
}

#define registry_test(function)                                                                    \
    cmocka_unit_test_setup_teardown(function, simulated_setup, simulated_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        registry_test(a_gone_streams_event_is_asked_when_a_stream_comes),
        registry_test(gone_streams_that_nobody_can_ask_stand_in_nobodys_way),
        registry_test(threads_that_come_and_go_need_no_more_slots_than_there_are_at_a_time),
        registry_test(what_a_threads_destructors_use_needs_no_more_slots_either),
        registry_test(a_threads_slot_is_none_of_a_created_streams),
        registry_test(a_threads_stream_that_is_named_again_is_not_gone),
        registry_test(a_threads_stream_whose_slot_is_anothers_by_now_gets_one_of_its_own),
        registry_test(what_a_living_thread_remembers_is_no_other_threads),
        registry_test(contexts_that_come_and_go_need_no_more_slots_than_there_are_at_a_time),
        registry_test(a_context_that_is_known_is_not_entered_for_each_stream),
        registry_test(the_event_of_a_mark_that_outlives_its_context_is_not_recorded_again),
        registry_test(streams_are_asked_by_turns),
        registry_test(a_question_may_end_at_the_first_stream_that_is_busy),
        registry_test(a_turn_asks_no_stream_of_another_context),
        registry_test(news_tell_whose_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
