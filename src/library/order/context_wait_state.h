// The context waits that are under way, for context_wait.c, and for tests that wait for their end.
#ifndef STREAMPOOL_ORDER_CONTEXT_WAIT_STATE_H
#define STREAMPOOL_ORDER_CONTEXT_WAIT_STATE_H

#include "base/list.h"

#include <pthread.h>
#include <stdbool.h>

struct sp_context_waits {
    pthread_mutex_t lock;
    pthread_cond_t ended; // one of them; by the monotonic clock
    bool is_ready;        // `ended` is made, and the handler at exit registered
    struct sp_list under_way;
};

extern __attribute__((visibility("hidden"))) struct sp_context_waits sp_context_waits;

#endif
