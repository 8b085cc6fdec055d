#include "base/thread.h"

#include "base/atomic.h"

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
