#include "base/thread.h"

#include "base/time.h"

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

bool sp_condition_init(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(condition, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    return made;
}

bool sp_condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t end) {
    struct timespec until = {(time_t)(end / SP_SECOND), (long)(end % SP_SECOND)};
    return pthread_cond_timedwait(condition, lock, &until) != ETIMEDOUT;
}
