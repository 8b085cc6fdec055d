#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/biased_lock.h"

static struct sp_biased_lock lock;
static int guarded; // by lock

static struct sp_lock_owner *owner_of(struct sp_biased_lock *of) {
    return atomic_load(&of->owner);
}

static void take_in_a_row(struct sp_biased_lock *taken, int count) {
    for (int i = 0; i < count; i++) {
        sp_biased_lock_acquire(taken);
        sp_biased_lock_release(taken);
    }
}

enum { OFTEN = 20000 }; // more than any patience asks for

static void own(struct sp_biased_lock *owned) {
    take_in_a_row(owned, OFTEN);
    assert_ptr_equal(owner_of(owned), sp_this_thread);
}

static void start(pthread_t *thread, void *(*run)(void *), void *argument) {
    assert_int_equal(pthread_create(thread, NULL, run, argument), 0);
}

static void join(pthread_t thread) {
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static int enable(void **state) {
    (void)state;
    if (!sp_biased_lock_enable_all()) {
        print_message("skipped: this system has no membarrier\n");
        skip();
    }
    lock = (struct sp_biased_lock){0};
    guarded = 0;
    return 0;
}

// ------------------------------------------------------------------------------------------- alone

// The first test: later ones enable owners.
static void without_the_system_call_it_is_a_plain_lock(void **state) {
    (void)state;
    struct sp_biased_lock zeroed = {0};
    take_in_a_row(&zeroed, OFTEN);
    assert_null(owner_of(&zeroed));
    sp_biased_lock_acquire(&zeroed);
    assert_false(sp_lock_try(&zeroed.shared));
    sp_biased_lock_release(&zeroed);
    assert_true(sp_lock_try(&zeroed.shared));
}

static void who_takes_it_often_in_a_row_becomes_its_owner(void **state) {
    (void)state;
    take_in_a_row(&lock, 1);
    assert_null(owner_of(&lock));
    own(&lock);
    sp_biased_lock_acquire(&lock);
    assert_ptr_equal(atomic_load(&sp_this_thread->inside), &lock);
    assert_int_equal(atomic_load(&lock.shared.state), SP_LOCK_FREE);
    sp_biased_lock_release(&lock);
    assert_null(atomic_load(&sp_this_thread->inside));
}

static void a_thread_owns_many_locks(void **state) {
    (void)state;
    static struct sp_biased_lock locks[3];
    for (int i = 0; i < 3; i++)
        own(&locks[i]);
    for (int i = 0; i < 3; i++)
        assert_ptr_equal(owner_of(&locks[i]), sp_this_thread);
}

// ------------------------------------------------------------------------------------- the barrier

// Barriers that were asked for, and what the lock was then.
static struct {
    int count;
    struct sp_lock_owner *owner;
    bool shared_is_free;
} barriers;

static void watch_barrier(void) {
    barriers.count++;
    barriers.owner = owner_of(&lock);
    barriers.shared_is_free = atomic_load(&lock.shared.state) == SP_LOCK_FREE;
}

// The system calls of locks have so many arguments.
static int count_arguments(long number) {
    if (number == SYS_membarrier)
        return 3;
    return number == SYS_clock_nanosleep ? 4 : 6;
}

// In the place of the C library's, which it calls.
long syscall(long number, ...) {
    static long (*next)(long number, ...);
    long arguments[6] = {0};
    va_list list;
    va_start(list, number);
    for (int i = 0, count = count_arguments(number); i < count; i++)
        arguments[i] = va_arg(list, long);
    va_end(list);
    if (!next)
        *(void **)&next = dlsym(RTLD_NEXT, "syscall");
    if (number == SYS_membarrier && arguments[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED)
        watch_barrier();
    return next(number, arguments[0], arguments[1], arguments[2], arguments[3], arguments[4],
                arguments[5]);
}

// ---------------------------------------------------------------------------------------- together

static _Atomic bool had;

static void pass_time(int steps) {
    for (volatile int i = 0; i < steps; i++)
        ;
}

// Long enough to be seen inside together.
static void count_up_slowly(void) {
    int before = guarded;
    pass_time(4);
    guarded = before + 1;
}

static void *take_once(void *unused) {
    (void)unused;
    sp_biased_lock_acquire(&lock);
    atomic_store(&had, true);
    count_up_slowly();
    sp_biased_lock_release(&lock);
    return NULL;
}

static void another_thread_ends_the_ownership(void **state) {
    (void)state;
    pthread_t other;
    own(&lock);
    start(&other, take_once, NULL);
    join(other);
    assert_null(owner_of(&lock));
    take_in_a_row(&lock, 1);
    assert_null(owner_of(&lock));
    own(&lock);
}

// What the owner does behind it sees that it is none, and what it did before is seen.
static void the_barrier_comes_when_nobody_owns_the_lock_any_more(void **state) {
    (void)state;
    pthread_t other;
    own(&lock);
    barriers.count = 0;
    start(&other, take_once, NULL);
    join(other);
    assert_int_equal(barriers.count, 1);
    assert_null(barriers.owner);
    assert_false(barriers.shared_is_free);
}

static void another_thread_waits_until_the_owner_is_out(void **state) {
    (void)state;
    pthread_t other;
    own(&lock);
    atomic_store(&had, false);
    sp_biased_lock_acquire(&lock);
    start(&other, take_once, NULL);
    while (owner_of(&lock))
        sched_yield();
    for (int i = 0; i < 1000; i++)
        sched_yield();
    assert_false(atomic_load(&had));
    assert_int_equal(guarded, 0);
    sp_biased_lock_release(&lock);
    join(other);
    assert_true(atomic_load(&had));
}

// How often in a row until the caller owns it.
static int takes_until_owned(void) {
    int count = 0;
    while (!owner_of(&lock)) {
        take_in_a_row(&lock, 1);
        count++;
    }
    return count;
}

static int takes_after_an_end(void) {
    pthread_t other;
    start(&other, take_once, NULL);
    join(other);
    return takes_until_owned();
}

static void each_end_asks_for_more_up_to_a_limit(void **state) {
    (void)state;
    int first = takes_until_owned(), before = first;
    for (int i = 0; i < 10; i++) {
        int after = takes_after_an_end();
        assert_in_range(after, before - 1, 2 * before + 1);
        before = after;
    }
    assert_true(before > 2 * first);
    assert_in_range(takes_after_an_end(), before - 1, before + 1);
}

enum { THREADS = 4, ROUNDS = 60, BURST = 600 };

// Long enough a burst to become the owner in it, and no longer than the others need to get in
// between.
static void *count_up_in_bursts(void *unused) {
    (void)unused;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < BURST; i++) {
            sp_biased_lock_acquire(&lock);
            count_up_slowly();
            lock.patience = 0; // or the lock would be a plain one after the first rounds
            sp_biased_lock_release(&lock);
        }
        sched_yield();
    }
    return NULL;
}

static void many_threads_never_hold_it_together(void **state) {
    (void)state;
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        start(&threads[i], count_up_in_bursts, NULL);
    for (int i = 0; i < THREADS; i++)
        join(threads[i]);
    assert_int_equal(guarded, THREADS * ROUNDS * BURST);
}

static _Atomic bool done;

static void *take_now_and_then(void *count) {
    int *taken = count;
    while (!atomic_load(&done)) {
        take_once(NULL);
        ++*taken;
        pass_time(10000);
    }
    return NULL;
}

// The owner's store and load against the other's: what the barrier is for.
static void an_owner_at_work_loses_nothing_to_another_thread(void **state) {
    (void)state;
    enum { OWN_ROUNDS = 2000000 };
    pthread_t other;
    int taken = 0;
    atomic_store(&done, false);
    start(&other, take_now_and_then, &taken);
    for (int i = 0; i < OWN_ROUNDS; i++) {
        sp_biased_lock_acquire(&lock);
        count_up_slowly();
        lock.patience = 0;
        sp_biased_lock_release(&lock);
    }
    atomic_store(&done, true);
    join(other);
    assert_int_equal(guarded, OWN_ROUNDS + taken);
}

// ----------------------------------------------------------------------------------- on the way in

// The other thread ends the ownership at the moment when the owner has seen that it is one and
// hasn't said where it goes.
static struct {
    pthread_t other;
    _Atomic bool inside;
    _Atomic bool may_leave;
    int points; // at which threads could be switched
    bool contended;
} way;

static void *stay_inside(void *unused) {
    sp_biased_lock_acquire(&lock);
    atomic_store(&way.inside, true);
    while (!atomic_load(&way.may_leave))
        sched_yield();
    sp_biased_lock_release(&lock);
    return unused;
}

static void let_the_other_leave(void) {
    atomic_store(&way.may_leave, true);
    join(way.other);
}

static void interfere(int contended) {
    sp_lock_set_hook(NULL);
    if (contended) {
        way.contended = true;
        let_the_other_leave();
    } else if (++way.points != 2) {
        sp_lock_set_hook(interfere);
    } else {
        start(&way.other, stay_inside, NULL);
        while (!atomic_load(&way.inside))
            sched_yield();
        sp_lock_set_hook(interfere);
    }
}

static void an_owner_that_is_none_any_more_stays_outside(void **state) {
    (void)state;
    own(&lock);
    way.points = 0;
    sp_lock_set_hook(interfere);
    sp_biased_lock_acquire(&lock);
    sp_lock_set_hook(NULL);
    sp_biased_lock_release(&lock);
    if (!way.contended)
        let_the_other_leave();
    assert_true(way.contended);
}

// -------------------------------------------------------------------------------- threads that end

static struct sp_lock_owner *seen;

static void *own_and_end(void *unused) {
    (void)unused;
    take_in_a_row(&lock, OFTEN);
    seen = sp_this_thread;
    return NULL;
}

static void what_a_thread_owned_goes_to_the_next_one(void **state) {
    (void)state;
    pthread_t first, second;
    start(&first, own_and_end, NULL);
    join(first);
    struct sp_lock_owner *ended = seen;
    assert_ptr_equal(owner_of(&lock), ended);
    start(&second, own_and_end, NULL);
    join(second);
    assert_ptr_equal(seen, ended);
    take_once(NULL);
    assert_null(owner_of(&lock));
    assert_int_equal(guarded, 1);
}

// ------------------------------------------------------------------------------------------ crowds

// Has another thread find the lock held.
static void meet(void) {
    pthread_t other;
    sp_biased_lock_acquire_shared(&lock);
    start(&other, take_once, NULL);
    while (atomic_load(&lock.shared.state) != SP_LOCK_WAITED)
        sched_yield();
    sp_biased_lock_release_shared(&lock);
    join(other);
}

static void threads_that_meet_again_and_again_are_a_crowd_until_it_is_forgotten(void **state) {
    (void)state;
    for (int i = 0; i < 64 && !sp_biased_lock_is_contended(&lock); i++)
        meet();
    assert_true(sp_biased_lock_is_contended(&lock));
    take_in_a_row(&lock, OFTEN);
    assert_true(sp_biased_lock_is_contended(&lock));
    sp_biased_lock_acquire(&lock);
    sp_biased_lock_forget_contention(&lock);
    sp_biased_lock_release(&lock);
    assert_false(sp_biased_lock_is_contended(&lock));
}

static void to_find_it_free_counts_against_having_met(void **state) {
    (void)state;
    take_once(NULL); // nobody took it before
    atomic_store(&lock.contention, 200);
    for (int left = 199; left >= -10; left--) {
        sp_biased_lock_acquire_shared(&lock);
        assert_int_equal(atomic_load(&lock.contention), left > 0 ? left : 0);
        sp_biased_lock_release_shared(&lock);
    }
}

static void no_two_threads_have_one_number(void **state) {
    (void)state;
    pthread_t other;
    take_once(NULL);
    start(&other, own_and_end, NULL);
    join(other);
    assert_int_not_equal(sp_this_thread->number, 0);
    assert_int_not_equal(seen->number, 0);
    assert_int_not_equal(seen->number, sp_this_thread->number);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_the_system_call_it_is_a_plain_lock),
        cmocka_unit_test_setup(who_takes_it_often_in_a_row_becomes_its_owner, enable),
        cmocka_unit_test_setup(a_thread_owns_many_locks, enable),
        cmocka_unit_test_setup(another_thread_ends_the_ownership, enable),
        cmocka_unit_test_setup(the_barrier_comes_when_nobody_owns_the_lock_any_more, enable),
        cmocka_unit_test_setup(another_thread_waits_until_the_owner_is_out, enable),
        cmocka_unit_test_setup(each_end_asks_for_more_up_to_a_limit, enable),
        cmocka_unit_test_setup(many_threads_never_hold_it_together, enable),
        cmocka_unit_test_setup(an_owner_at_work_loses_nothing_to_another_thread, enable),
        cmocka_unit_test_setup(an_owner_that_is_none_any_more_stays_outside, enable),
        cmocka_unit_test_setup(what_a_thread_owned_goes_to_the_next_one, enable),
        cmocka_unit_test_setup(threads_that_meet_again_and_again_are_a_crowd_until_it_is_forgotten,
                               enable),
        cmocka_unit_test_setup(to_find_it_free_counts_against_having_met, enable),
        cmocka_unit_test_setup(no_two_threads_have_one_number, enable),
    };
    return cmocka_run_group_tests_name("biased_lock", tests, NULL, NULL);
}
