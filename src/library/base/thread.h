// Threads of the library's own, and waiting by the monotonic clock.
#ifndef STREAMPOOL_BASE_THREAD_H
#define STREAMPOOL_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

// Starts a thread that takes no signals: those are for the program's threads. False when the system
// has none to give.
bool sp_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

// A condition that is waited for until a point in the time of sp_time_now(). Making one fails
// without memory; waiting returns false once the time is over.
bool sp_condition_init(pthread_cond_t *condition);
bool sp_condition_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t end);

#endif
