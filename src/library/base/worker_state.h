// The state of the worker, for worker.c, and for tests that wait for the worker or end it.
#ifndef STREAMPOOL_BASE_WORKER_STATE_H
#define STREAMPOOL_BASE_WORKER_STATE_H

#include "base/worker.h"

#include <pthread.h>

struct sp_worker {
    pthread_mutex_t lock;
    pthread_cond_t changed; // `called` or `ending` was set; by the monotonic clock
    pthread_cond_t rested;
    bool ready; // `changed` is made, and the handler at exit registered
    bool started;
    bool ending;
    bool called; // there is something new since the round began
    bool resting;
    struct sp_chore *visited;     // at this moment, or null
    enum sp_worker_result result; // of the last round
    pthread_t thread;
    struct sp_list chores; // the queue
};

extern __attribute__((visibility("hidden"))) struct sp_worker sp_worker;

// Tells the thread to end. True when there is one, which is to be joined.
bool sp_worker_end(void);

#endif
