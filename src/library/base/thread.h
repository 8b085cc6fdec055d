// Threads: those of the library's own, a number for each, and conditions that they wait for.
#ifndef STREAMPOOL_BASE_THREAD_H
#define STREAMPOOL_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

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

// Wait for a condition; the second one until a point in the time of sp_time_now(), and false once
// that is over. A thread that waits isn't cancelled.
void sp_thread_wait(pthread_cond_t *condition, pthread_mutex_t *lock);
bool sp_thread_wait_until(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t end);

#endif
