// Threads that hurry: none may get ahead of the slowest by more than it is allowed to, and all must
// come through.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cli/play/threads.h"

enum { OPERATIONS = 20000, THREADS_MAX = 300 };

struct crowd {
    struct sp_trace trace;
    struct sp_shares shares;
    struct sp_lead lead;
    atomic_bool over[OPERATIONS];
    _Atomic uint32_t too_early;
    _Atomic uint32_t next_thread;
};

static struct sp_trace_operation operations[OPERATIONS];

static void play(struct crowd *crowd, size_t i) {
    sp_lead_wait(&crowd->lead, i);
    if (i > SP_LEAD_MAX && !atomic_load(&crowd->over[i - SP_LEAD_MAX - 1]))
        atomic_fetch_add(&crowd->too_early, 1);
    if (i % 97 == 0)
        sched_yield();
    atomic_store(&crowd->over[i], true);
    sp_lead_done(&crowd->lead, i);
}

static void *play_share(void *argument) {
    struct crowd *crowd = argument;
    uint32_t thread = atomic_fetch_add(&crowd->next_thread, 1);
    for (size_t i = crowd->shares.begins[thread]; i < crowd->shares.begins[thread + 1]; i++)
        play(crowd, crowd->shares.operations[i]);
    return NULL;
}

static void begin_pass(struct crowd *crowd) {
    sp_lead_reset(&crowd->lead);
    atomic_store(&crowd->next_thread, 0);
    for (size_t i = 0; i < OPERATIONS; i++)
        atomic_store(&crowd->over[i], false);
}

static void play_pass(struct crowd *crowd, size_t threads) {
    static pthread_t list[THREADS_MAX];
    begin_pass(crowd);
    for (size_t i = 0; i < threads; i++)
        assert_int_equal(pthread_create(&list[i], NULL, play_share, crowd), 0);
    for (size_t i = 0; i < threads; i++)
        assert_int_equal(pthread_join(list[i], NULL), 0);
    assert_int_equal(atomic_load(&crowd->lead.behind), OPERATIONS);
    assert_int_equal(atomic_load(&crowd->too_early), 0);
}

static void play_with(size_t threads) {
    static struct crowd crowd;
    for (uint32_t i = 0; i < OPERATIONS; i++)
        operations[i].thread = (uint32_t)((i * UINT64_C(2654435761) >> 7) % threads);
    crowd.trace = (struct sp_trace){
        .operations = operations, .operation_count = OPERATIONS, .thread_count = threads};
    assert_true(sp_shares_open(&crowd.shares, &crowd.trace));
    assert_true(sp_lead_open(&crowd.lead, &crowd.trace));
    for (int pass = 0; pass < 2; pass++)
        play_pass(&crowd, threads);
    sp_lead_close(&crowd.lead);
    sp_shares_release(&crowd.shares);
}

static void no_thread_gets_too_far_ahead_and_all_come_through(void **state) {
    (void)state;
    static const size_t crowds[] = {1, 2, 3, 16, THREADS_MAX};
    for (size_t i = 0; i < sizeof crowds / sizeof crowds[0]; i++)
        play_with(crowds[i]);
}

// What the kernel says of a thread: R if it runs or would, S while it sleeps.
static char state_of(int thread) {
    char path[64], state = '?';
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
    fclose(file);
    return state;
}

struct hurried {
    struct sp_lead lead;
    _Atomic int thread; // the kernel's number
};

static void *play_the_last(void *argument) {
    struct hurried *hurried = argument;
    atomic_store(&hurried->thread, (int)syscall(SYS_gettid));
    sp_lead_wait(&hurried->lead, SP_LEAD_MAX + 1);
    return NULL;
}

// One that took turns with the others until it may go on would always run, and this test not end.
static void a_thread_that_is_too_far_ahead_sleeps(void **state) {
    (void)state;
    static struct hurried hurried;
    const struct sp_trace trace = {
        .operations = operations, .operation_count = SP_LEAD_MAX + 2, .thread_count = 2};
    pthread_t thread;
    for (size_t i = 0; i < trace.operation_count; i++)
        operations[i].thread = i == SP_LEAD_MAX + 1;
    assert_true(sp_lead_open(&hurried.lead, &trace));
    assert_int_equal(pthread_create(&thread, NULL, play_the_last, &hurried), 0);
    while (atomic_load(&hurried.thread) == 0 || state_of(atomic_load(&hurried.thread)) != 'S')
        sched_yield();
    sp_lead_done(&hurried.lead, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    sp_lead_close(&hurried.lead);
}

struct patient {
    struct sp_lead lead;
    atomic_bool begun;
    size_t behind; // when it had waited
};

static void *wait_for_all_before_the_last(void *argument) {
    struct patient *patient = argument;
    atomic_store(&patient->begun, true);
    sp_lead_wait_for_all(&patient->lead, 2);
    patient->behind = atomic_load(&patient->lead.behind);
    return NULL;
}

static void a_thread_can_wait_for_all_operations_before_its_own(void **state) {
    (void)state;
    static struct patient patient;
    const struct sp_trace trace = {
        .operations = operations, .operation_count = 3, .thread_count = 1};
    pthread_t thread;
    assert_true(sp_lead_open(&patient.lead, &trace));
    assert_int_equal(pthread_create(&thread, NULL, wait_for_all_before_the_last, &patient), 0);
    while (!atomic_load(&patient.begun))
        sched_yield();
    sp_lead_done(&patient.lead, 1);
    sched_yield();
    sp_lead_done(&patient.lead, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(patient.behind, 2);
    sp_lead_close(&patient.lead);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_thread_gets_too_far_ahead_and_all_come_through),
        cmocka_unit_test(a_thread_that_is_too_far_ahead_sleeps),
        cmocka_unit_test(a_thread_can_wait_for_all_operations_before_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
