// Threads: those of the library's own, a number for each, and conditions that they wait for. The
// clock by which they wait. How a thread of the program is kept from ending in the library, and how
// a forked child, which has one thread, is told from the process that loaded the driver.
#ifndef STREAMPOOL_BASE_THREAD_H
#define STREAMPOOL_BASE_THREAD_H

#include "base/atomic.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

// A thread of the program that was asked to end (pthread_cancel, deferred) ends at the next call of
// the C library that says so, such as a write, a wait or a sleep. In the library's code it would
// leave locks held, and memory that nobody knows of. So it must not end there:
//
//   each cancellation point stands in a scope with SP_UNCANCELLED, in a call of the driver that
//   sp_outcome_of_driver() makes, or is a system call by syscall(2), which is none
//
// The request stays, and ends the thread behind the library's call. These functions cost some
// nanoseconds, so the hot path has none of them: it makes no call that waits.

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

#define SP_SECOND ((uint64_t)1000000000)

// Returns the time on the host's clock: nanoseconds that only grow, from an arbitrary beginning.
static inline uint64_t sp_time_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SP_SECOND + (uint64_t)time.tv_nsec;
}

// Starts a thread that takes no signals, which are for the program's threads. False when the system
// has no thread to give.
bool sp_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

// Returns a number for the calling thread, the program's or the library's, that is never another
// thread's: the system gives the number of a thread that has ended to a new one.
uint64_t sp_thread_number(void);

// Returns true where the calling thread has not called it before. For one caller alone: the
// recorder, which writes one default stream for each thread.
bool sp_thread_is_first_time(void);

// Makes a condition for sp_thread_wait_until(). False without memory.
bool sp_thread_init_condition(pthread_cond_t *condition);

// Waits for a condition until a point in the time of sp_time_now(). False once that is over. A
// thread that waits isn't cancelled.
bool sp_thread_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t end);

// ------------------------------------------------------------------------------------------- forks
//
// The driver's state does not survive a fork: a child that touches the device through its parent's
// state gets errors at best. So code that is about to touch the device asks sp_fork_is_child()
// first. The functions are thread safe.

// Begins to watch for forks, before the driver is loaded. It is called once. A child that was
// forked before is a process like any other. False when there is no host memory for the handler.
bool sp_fork_watch(void);

// True in a forked child. Only the handler of sp_fork_watch() writes the variable.
extern _Atomic bool sp_forked;
static inline bool sp_fork_is_child(void) {
    return sp_load_relaxed(&sp_forked);
}

// Has a flag cleared in each child that is forked from now on, so that a hot path which looks at
// the flag needs no second look. There is one such flag.
void sp_fork_clear_in_child(_Atomic bool *flag);

#endif
