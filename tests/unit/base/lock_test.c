#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/lock.h"

static struct sp_lock lock;
static int guarded; // by lock

enum { THREADS = 8, ROUNDS = 20000 };

static void *count_up(void *unused) {
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        sp_lock_acquire(&lock);
        guarded++;
        sp_lock_release(&lock);
    }
    return NULL;
}

static void *take_and_give_back(void *unused) {
    (void)unused;
    sp_lock_acquire(&lock);
    guarded++;
    sp_lock_release(&lock);
    return NULL;
}

static void zeroed_memory_is_a_free_lock(void **state) {
    (void)state;
    struct sp_lock zeroed = {0};
    assert_true(sp_lock_try(&zeroed));
    sp_lock_release(&zeroed);
}

static void a_held_lock_is_not_had_by_trying(void **state) {
    (void)state;
    lock = (struct sp_lock){0};
    sp_lock_acquire(&lock);
    assert_false(sp_lock_try(&lock));
    sp_lock_release(&lock);
    assert_true(sp_lock_try(&lock));
    sp_lock_release(&lock);
}

static void many_threads_never_hold_it_together(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    lock = (struct sp_lock){0};
    guarded = 0;
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_up, NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(guarded, THREADS * ROUNDS);
    assert_true(sp_lock_try(&lock));
    sp_lock_release(&lock);
}

static void who_sleeps_on_a_lock_has_it_when_its_holder_gives_way(void **state) {
    (void)state;
    pthread_t thread;
    lock = (struct sp_lock){0};
    guarded = 0;
    sp_lock_acquire(&lock);
    sp_lock_give_way(&lock); // to nobody
    assert_false(sp_lock_try(&lock));
    assert_int_equal(pthread_create(&thread, NULL, take_and_give_back, NULL), 0);
    while (guarded == 0) // he may not have come in time before
        sp_lock_give_way(&lock);
    assert_false(sp_lock_try(&lock));
    sp_lock_release(&lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(guarded, 1);
}

static void every_sleeper_is_woken_after_a_release(void **state) {
    (void)state;
    enum { SLEEPERS = 3 };
    pthread_t threads[SLEEPERS];
    lock = (struct sp_lock){0};
    guarded = 0;
    sp_lock_acquire(&lock);
    for (int i = 0; i < SLEEPERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, take_and_give_back, NULL), 0);
    while (atomic_load(&lock.state) != SP_LOCK_WAITED)
        sched_yield();
    sp_lock_release(&lock);
    for (int i = 0; i < SLEEPERS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(guarded, SLEEPERS);
}

static int contended_calls;
static int schedule_points;

// Gives the lock back at the third call, as a scheduler does that lets the owner run.
static void count_and_release(int contended) {
    if (!contended) {
        schedule_points++;
        return;
    }
    if (++contended_calls == 3)
        sp_lock_release(&lock);
}

static void with_a_hook_a_contended_acquire_asks_it_until_the_lock_is_free(void **state) {
    (void)state;
    lock = (struct sp_lock){0};
    sp_lock_acquire(&lock);
    contended_calls = 0;
    sp_lock_set_hook(count_and_release);
    sp_lock_acquire(&lock);
    sp_lock_set_hook(NULL);
    assert_int_equal(contended_calls, 3);
    assert_false(sp_lock_try(&lock));
    sp_lock_release(&lock);
}

static _Atomic pid_t waiter;

static void wait_for_another(int contended) {
    (void)contended;
    sched_yield();
}

static void *acquire_and_release(void *unused) {
    atomic_store(&waiter, gettid());
    sp_lock_acquire(&lock);
    sp_lock_release(&lock);
    return unused;
}

// The state of a thread stands behind its name, which is in brackets.
static bool sleeps(pid_t thread) {
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/self/task/%ld/stat", (long)thread);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = '\0';
    const char *name = strrchr(text, ')');
    return name && name[2] == 'S';
}

// A waiter of a higher priority that only ever yielded would keep the holder from running.
static void with_a_hook_who_waits_long_sleeps(void **state) {
    (void)state;
    pthread_t thread;
    lock = (struct sp_lock){0};
    sp_lock_acquire(&lock);
    atomic_store(&waiter, 0);
    sp_lock_set_hook(wait_for_another);
    assert_int_equal(pthread_create(&thread, NULL, acquire_and_release, NULL), 0);
    while (atomic_load(&waiter) == 0 || !sleeps(atomic_load(&waiter)))
        sched_yield();
    sp_lock_release(&lock);
    assert_int_equal(pthread_join(thread, NULL), 0);
    sp_lock_set_hook(NULL);
}

static void with_schedule_points_each_acquire_calls_the_hook_first(void **state) {
    (void)state;
#ifndef SP_SCHEDULE_POINTS
    skip();
#endif
    lock = (struct sp_lock){0};
    schedule_points = 0;
    contended_calls = 0;
    sp_lock_set_hook(count_and_release);
    for (int i = 0; i < 5; i++) {
        sp_lock_acquire(&lock);
        sp_lock_release(&lock);
    }
    sp_lock_set_hook(NULL);
    assert_int_equal(schedule_points, 5);
    assert_int_equal(contended_calls, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zeroed_memory_is_a_free_lock),
        cmocka_unit_test(a_held_lock_is_not_had_by_trying),
        cmocka_unit_test(many_threads_never_hold_it_together),
        cmocka_unit_test(who_sleeps_on_a_lock_has_it_when_its_holder_gives_way),
        cmocka_unit_test(every_sleeper_is_woken_after_a_release),
        cmocka_unit_test(with_a_hook_a_contended_acquire_asks_it_until_the_lock_is_free),
        cmocka_unit_test(with_a_hook_who_waits_long_sleeps),
        cmocka_unit_test(with_schedule_points_each_acquire_calls_the_hook_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
