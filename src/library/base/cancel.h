// A thread of the program that was asked to end (pthread_cancel, deferred) ends at the next call of
// the C library that says so, such as a write, a wait or a sleep. In the library's code it would
// leave locks held, and memory that nobody knows of. So it must not end there:
//
//   each cancellation point stands in a scope with SP_UNCANCELLED, in a call of the driver that
//   sp_outcome_of_driver() makes, or is a system call by syscall(2), which is none
//
// The request stays, and ends the thread behind the library's call. These functions cost some
// nanoseconds, so the hot path has none of them: it makes no call that waits.
#ifndef STREAMPOOL_BASE_CANCEL_H
#define STREAMPOOL_BASE_CANCEL_H

#include <pthread.h>

// Returns the state to restore.
static inline int sp_cancel_hold(void) {
    int before;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

static inline void sp_cancel_restore(const int *before) {
    int held;
    pthread_setcancelstate(*before, &held);
}

// Holds until the end of the scope.
#define SP_UNCANCELLED                                                                             \
    __attribute__((cleanup(sp_cancel_restore), unused)) const int sp_uncancelled = sp_cancel_hold()

#endif
