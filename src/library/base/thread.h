// Threads: those of the library's own, and a number for each.
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

#endif
