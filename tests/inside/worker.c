#include "inside/worker.h"

#include "base/worker.h"

static bool is_at_rest_locked(void) {
    return sp_worker.resting && !sp_worker.called && sp_worker.result != SP_WORKER_BUSY;
}

void inside_worker_rest(void) {
    pthread_mutex_lock(&sp_worker.lock);
    while (sp_worker.started && !is_at_rest_locked())
        pthread_cond_wait(&sp_worker.rested, &sp_worker.lock);
    pthread_mutex_unlock(&sp_worker.lock);
}

void inside_worker_stop(void) {
    if (sp_worker_end())
        pthread_join(sp_worker.thread, NULL);
    while (sp_list_pop_front(&sp_worker.tasks))
        ;
    sp_worker.started = false;
    sp_worker.ending = false;
    sp_worker.called = false;
    sp_worker.result = SP_WORKER_IDLE;
}
