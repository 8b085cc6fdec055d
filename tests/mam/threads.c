#include "mam/threads.h"

#include <pthread.h>
#include <stdlib.h>

enum { THREADS_MAX = 16 };

void threads_run(void *(*function)(void *argument), void *argument, size_t count,
                 void (*mine)(void *argument), void *own) {
    pthread_t threads[THREADS_MAX];
    if (count > THREADS_MAX)
        abort();
    for (size_t i = 0; i < count; i++)
        if (pthread_create(&threads[i], NULL, function, argument) != 0)
            abort();
    if (mine)
        mine(own);
    for (size_t i = 0; i < count; i++)
        if (pthread_join(threads[i], NULL) != 0)
            abort();
}

void threads_run_one(void *(*function)(void *argument), void *argument) {
    threads_run(function, argument, 1, NULL, NULL);
}
