#include "base/thread.h"

#include <errno.h>
#include <signal.h>

bool sp_thread_start(pthread_t *thread, void *(*run)(void *), void *argument) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(thread, NULL, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_setname_np(*thread, "streampool");
    return started;
}

// The number times two, and one more once the thread was asked whether it is the first time: static
// thread-local memory is scarce.
static _Thread_local uint64_t number;

uint64_t sp_thread_number(void) {
    static _Atomic uint64_t last;
    if (number < 2)
        number |= (atomic_fetch_add(&last, 1) + 1) << 1;
    return number >> 1;
}

bool sp_thread_is_first_time(void) {
    bool is_first = (number & 1) == 0;
    number |= 1;
    return is_first;
}

bool sp_thread_init_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made;
}

bool sp_thread_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t end) {
    SP_UNCANCELLED;
    struct timespec until = {(time_t)(end / SP_SECOND), (long)(end % SP_SECOND)};
    return pthread_cond_timedwait(condition, lock, &until) != ETIMEDOUT;
}

// ------------------------------------------------------------------------------------------- forks

_Atomic bool sp_forked;

static _Atomic bool *_Atomic cleared;

static void note_fork(void) {
    _Atomic bool *flag = sp_load_relaxed(&cleared);
    sp_store_relaxed(&sp_forked, true);
    if (flag)
        sp_store_relaxed(flag, false);
}

// glibc forgets the handler when the library that registered it is unloaded.
bool sp_fork_watch(void) {
    return pthread_atfork(NULL, NULL, note_fork) == 0;
}

void sp_fork_clear_in_child(_Atomic bool *flag) {
    sp_store_relaxed(&cleared, flag);
}
