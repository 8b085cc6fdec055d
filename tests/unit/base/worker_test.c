#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/worker.h"
#include "inside/worker.h"

// A task whose visits have the results of a script, and then that of its last line.
struct scripted {
    struct sp_task task;
    enum sp_worker_result script[4];
    unsigned length;
    _Atomic unsigned visits;
    _Atomic unsigned insisting;
    pthread_t visitor;
};

static enum sp_worker_result play(struct sp_task *task, bool insists) {
    struct scripted *scripted = SP_CONTAINER_OF(task, struct scripted, task);
    scripted->visitor = pthread_self();
    unsigned visit = atomic_fetch_add(&scripted->visits, 1);
    atomic_fetch_add(&scripted->insisting, insists);
    return scripted->script[visit < scripted->length ? visit : scripted->length - 1];
}

static struct scripted first, second;

static void script(struct scripted *scripted, unsigned length, const enum sp_worker_result *lines) {
    *scripted = (struct scripted){.length = length};
    for (unsigned i = 0; i < length; i++)
        scripted->script[i] = lines[i];
    sp_list_init(&scripted->task.link);
    scripted->task.visit = play;
}

#define SCRIPT(scripted, ...)                                                                      \
    script(scripted, sizeof((enum sp_worker_result[]){__VA_ARGS__}) / sizeof(int),                 \
           (enum sp_worker_result[]){__VA_ARGS__})

static int stop(void **state) {
    (void)state;
    inside_worker_stop();
    return 0;
}

static void call_and_rest(struct scripted *scripted) {
    assert_true(sp_worker_call(&scripted->task));
    inside_worker_rest();
}

static void a_chore_is_visited_by_another_thread_once_for_a_call(void **state) {
    (void)state;
    SCRIPT(&first, SP_WORKER_IDLE);
    call_and_rest(&first);
    assert_int_equal(first.visits, 1);
    assert_false(pthread_equal(first.visitor, pthread_self()));
    call_and_rest(&first);
    assert_int_equal(first.visits, 2);
}

static void a_chore_that_gets_on_is_visited_until_it_is_done(void **state) {
    (void)state;
    SCRIPT(&first, SP_WORKER_PROGRESS, SP_WORKER_PROGRESS, SP_WORKER_IDLE);
    call_and_rest(&first);
    assert_int_equal(first.visits, 3);
}

static void chores_take_turns(void **state) {
    (void)state;
    SCRIPT(&first, SP_WORKER_PROGRESS, SP_WORKER_PROGRESS, SP_WORKER_IDLE);
    SCRIPT(&second, SP_WORKER_PROGRESS, SP_WORKER_IDLE);
    assert_true(sp_worker_call(&first.task));
    call_and_rest(&second);
    assert_int_equal(first.visits, 3);
    assert_int_equal(second.visits, 2);
}

static void a_pending_chore_is_visited_again_once_the_worker_is_woken(void **state) {
    (void)state;
    SCRIPT(&first, SP_WORKER_PENDING, SP_WORKER_IDLE);
    call_and_rest(&first);
    assert_int_equal(first.visits, 1);
    sp_worker_wake();
    inside_worker_rest();
    assert_int_equal(first.visits, 2);
}

static enum sp_worker_result wake_during_visit(struct sp_task *task, bool insists) {
    sp_worker_wake();
    return play(task, insists);
}

static void a_wake_during_the_visit_is_not_lost(void **state) {
    (void)state;
    SCRIPT(&first, SP_WORKER_PENDING, SP_WORKER_IDLE);
    first.task.visit = wake_during_visit;
    call_and_rest(&first);
    assert_int_equal(first.visits, 2);
}

static void a_wake_with_nothing_to_do_starts_no_thread(void **state) {
    (void)state;
    SCRIPT(&first, SP_WORKER_IDLE);
    call_and_rest(&first);
    inside_worker_stop();
    sp_worker_wake();
    inside_worker_rest();
    assert_int_equal(first.visits, 1);
}

// No test measures time, so this one waits for as long as it takes.
static void await_visits(const struct scripted *scripted, unsigned visits) {
    const struct timespec moment = {.tv_nsec = 1000000};
    while (atomic_load(&scripted->visits) < visits)
        nanosleep(&moment, NULL);
}

static void a_chore_that_is_refused_is_tried_again_with_no_call(void **state) {
    (void)state;
    SCRIPT(&first, SP_WORKER_REFUSED, SP_WORKER_REFUSED, SP_WORKER_IDLE);
    assert_true(sp_worker_call(&first.task));
    await_visits(&first, 3);
    inside_worker_rest();
    assert_int_equal(first.visits, 3);
    assert_int_equal(first.insisting, 0);
}

static void a_chore_that_made_way_insists_after_the_pause(void **state) {
    (void)state;
    SCRIPT(&first, SP_WORKER_BUSY, SP_WORKER_IDLE);
    call_and_rest(&first);
    assert_int_equal(first.visits, 2);
    assert_int_equal(first.insisting, 1);
}

static enum sp_worker_result call_during_visit(struct sp_task *task, bool insists) {
    struct scripted *scripted = SP_CONTAINER_OF(task, struct scripted, task);
    if (atomic_load(&scripted->visits) == 0)
        sp_worker_call(task);
    return play(task, insists);
}

static void a_chore_that_is_called_for_during_its_visit_is_visited_again(void **state) {
    (void)state;
    SCRIPT(&first, SP_WORKER_IDLE);
    first.task.visit = call_during_visit;
    call_and_rest(&first);
    assert_int_equal(first.visits, 2);
}

static _Atomic bool lets_go;

static enum sp_worker_result hold_on(struct sp_task *task, bool insists) {
    const struct timespec moment = {.tv_nsec = 1000000};
    enum sp_worker_result result = play(task, insists);
    while (!atomic_load(&lets_go))
        nanosleep(&moment, NULL);
    return result;
}

static bool is_first(const struct sp_task *task) {
    return task == &first.task;
}

static bool is_second(const struct sp_task *task) {
    return task == &second.task;
}

static void *let_go(void *unused) {
    const struct timespec while_waited_for = {.tv_nsec = 20000000};
    nanosleep(&while_waited_for, NULL);
    atomic_store(&lets_go, true);
    return unused;
}

static void a_visit_that_matters_is_waited_for_and_no_other(void **state) {
    (void)state;
    pthread_t helper;
    SCRIPT(&first, SP_WORKER_IDLE);
    first.task.visit = hold_on;
    atomic_store(&lets_go, false);
    assert_true(sp_worker_call(&first.task));
    await_visits(&first, 1);
    sp_worker_await(is_second); // returns while the worker visits the first
    assert_false(atomic_load(&lets_go));
    assert_int_equal(pthread_create(&helper, NULL, let_go, NULL), 0);
    sp_worker_await(is_first);
    assert_true(atomic_load(&lets_go));
    pthread_join(helper, NULL);
}

static enum sp_worker_result await_itself(struct sp_task *task, bool insists) {
    sp_worker_await(is_first);
    return play(task, insists);
}

static void the_worker_does_not_wait_for_itself(void **state) {
    (void)state;
    SCRIPT(&first, SP_WORKER_IDLE);
    first.task.visit = await_itself;
    call_and_rest(&first);
    assert_int_equal(first.visits, 1);
}

// The worker ends after a second with nothing to do. Whether it has ended by then can't be seen,
// but a call and a wake find their way in either case.
static void a_worker_that_has_ended_is_started_again(void **state) {
    (void)state;
    const struct timespec longer_than_idle = {.tv_sec = 1, .tv_nsec = 300000000};
    SCRIPT(&first, SP_WORKER_PENDING, SP_WORKER_IDLE);
    call_and_rest(&first);
    nanosleep(&longer_than_idle, NULL);
    sp_worker_wake();
    await_visits(&first, 2);
    nanosleep(&longer_than_idle, NULL);
    call_and_rest(&first);
    assert_int_equal(first.visits, 3);
}

#define worker_test(function) cmocka_unit_test_teardown(function, stop)

int main(void) {
    const struct CMUnitTest tests[] = {
        worker_test(a_chore_is_visited_by_another_thread_once_for_a_call),
        worker_test(a_chore_that_gets_on_is_visited_until_it_is_done),
        worker_test(chores_take_turns),
        worker_test(a_pending_chore_is_visited_again_once_the_worker_is_woken),
        worker_test(a_wake_during_the_visit_is_not_lost),
        worker_test(a_wake_with_nothing_to_do_starts_no_thread),
        worker_test(a_chore_that_is_refused_is_tried_again_with_no_call),
        worker_test(a_chore_that_made_way_insists_after_the_pause),
        worker_test(a_chore_that_is_called_for_during_its_visit_is_visited_again),
        worker_test(a_visit_that_matters_is_waited_for_and_no_other),
        worker_test(the_worker_does_not_wait_for_itself),
        worker_test(a_worker_that_has_ended_is_started_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
