// Threads of the library's own.
#ifndef STREAMPOOL_BASE_THREAD_H
#define STREAMPOOL_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

// Starts a thread that takes no signals, which are for the program's threads. False when the system
// has no thread to give.
bool sp_thread_start(pthread_t *thread, void *(*run)(void *), void *argument);

#endif
