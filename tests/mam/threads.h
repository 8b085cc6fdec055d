// Threads of a test, which fail it if they can't be started.
#ifndef STREAMPOOL_TESTS_MAM_THREADS_H
#define STREAMPOOL_TESTS_MAM_THREADS_H

#include <stddef.h>

// Runs a function on a thread of its own, and waits for its end.
void threads_run_one(void *(*function)(void *argument), void *argument);

// Runs a function on `count` threads while the calling thread runs another one, and waits for all.
void threads_run(void *(*function)(void *argument), void *argument, size_t count,
                 void (*mine)(void *argument), void *own);

#endif
