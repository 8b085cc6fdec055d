#include "base/worker.h"

#include "base/thread.h"

#include <stdlib.h>

// The pauses after rounds that came to nothing, in nanoseconds.
#define PAUSE_MIN (SP_SECOND / 1024)
#define PAUSE_MAX SP_SECOND

// A thread with nothing to do for so long ends: a process whose own threads have all ended must not
// live on for this one.
#define IDLE_MAX SP_SECOND

// A process that ends waits so long for the last visit at most.
#define PATIENCE_AT_EXIT_S 2

struct sp_worker sp_worker = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .rested = PTHREAD_COND_INITIALIZER,
    .tasks = {&sp_worker.tasks, &sp_worker.tasks},
};

// -------------------------------------------------------------------------------- rounds and rests

static enum sp_worker_result round_locked(void) {
    enum sp_worker_result most = SP_WORKER_IDLE;
    size_t left = 0;
    SP_LIST_FOR_EACH(link, &sp_worker.tasks)
        left++;
    for (; left > 0 && !sp_worker.ending; left--) {
        struct sp_list *link = sp_list_pop_front(&sp_worker.tasks);
        struct sp_task *task = sp_worker.visited = SP_CONTAINER_OF(link, struct sp_task, link);
        bool insists = sp_worker.result == SP_WORKER_BUSY;
        pthread_mutex_unlock(&sp_worker.lock);
        enum sp_worker_result result = task->visit(task, insists);
        pthread_mutex_lock(&sp_worker.lock);
        sp_worker.visited = NULL;
        pthread_cond_broadcast(&sp_worker.rested);
        if (result != SP_WORKER_IDLE && sp_list_empty(link)) // else it was called for meanwhile
            sp_list_push_back(&sp_worker.tasks, link);
        most = result > most ? result : most;
    }
    return most;
}

// False when there was nothing to do for long.
static bool rest_locked(uint64_t pause) {
    bool goes_on = true, pauses = sp_worker.result != SP_WORKER_IDLE;
    uint64_t end = sp_time_now() + pause;
    sp_worker.resting = true;
    pthread_cond_broadcast(&sp_worker.rested);
    while (pauses && !sp_worker.ending)
        pauses = sp_thread_wait_until(&sp_worker.changed, &sp_worker.lock, end);
    if (sp_worker.result <= SP_WORKER_PENDING) {
        bool in_time = true;
        end = sp_time_now() + IDLE_MAX;
        while (!sp_worker.called && !sp_worker.ending && in_time)
            in_time = sp_thread_wait_until(&sp_worker.changed, &sp_worker.lock, end);
        goes_on = sp_worker.called || sp_worker.ending;
    }
    sp_worker.resting = false;
    return goes_on;
}

static void *run(void *unused) {
    uint64_t pause = PAUSE_MIN;
    bool goes_on = true;
    pthread_mutex_lock(&sp_worker.lock);
    while (goes_on && !sp_worker.ending) {
        sp_worker.called = false;
        sp_worker.result = round_locked();
        if (sp_worker.result == SP_WORKER_PROGRESS || sp_worker.result == SP_WORKER_IDLE)
            pause = PAUSE_MIN;
        if (sp_worker.result == SP_WORKER_PROGRESS)
            continue;
        goes_on = rest_locked(pause);
        pause = pause < PAUSE_MAX ? 2 * pause : pause;
    }
    if (!goes_on && !sp_worker.ending) { // nobody joins the thread then
        sp_worker.started = false;
        pthread_detach(pthread_self());
        pthread_cond_broadcast(&sp_worker.rested);
    }
    pthread_mutex_unlock(&sp_worker.lock);
    return unused;
}

// -------------------------------------------------------------------------------- its life and end

bool sp_worker_end(void) {
    pthread_mutex_lock(&sp_worker.lock);
    bool started = sp_worker.started;
    sp_worker.ending = true;
    pthread_cond_broadcast(&sp_worker.changed);
    pthread_mutex_unlock(&sp_worker.lock);
    return started;
}

// The handler is registered behind those of the driver, which was loaded before, so it runs first.
// A thread that called exit in the middle of a driver call may hold what a visit waits for, so
// there is a limit. A library that is linked into one that gets unloaded ends its thread here, too.
static void end_at_exit(void) {
    SP_UNCANCELLED;
    struct timespec until;
    if (sp_fork_is_child() || !sp_worker_end() || clock_gettime(CLOCK_REALTIME, &until) != 0)
        return;
    until.tv_sec += PATIENCE_AT_EXIT_S;
    pthread_timedjoin_np(sp_worker.thread, NULL, &until);
}

static bool start_locked(void) {
    if (sp_worker.started || sp_worker.ending)
        return !sp_worker.ending;
    if (!sp_worker.ready)
        sp_worker.ready = sp_thread_init_condition(&sp_worker.changed) && atexit(end_at_exit) == 0;
    sp_worker.started = sp_worker.ready && sp_thread_start(&sp_worker.thread, run, NULL);
    return sp_worker.started;
}

static void wake_locked(void) {
    if (sp_worker.called)
        return;
    sp_worker.called = true;
    pthread_cond_signal(&sp_worker.changed);
}

// ----------------------------------------------------------------------------------------- callers

bool sp_worker_call(struct sp_task *task) {
    pthread_mutex_lock(&sp_worker.lock);
    bool started = start_locked();
    if (started && sp_list_empty(&task->link))
        sp_list_push_back(&sp_worker.tasks, &task->link);
    if (started)
        wake_locked();
    pthread_mutex_unlock(&sp_worker.lock);
    return started;
}

// The thread may have ended since the tasks were put into the queue. The task that is visited is
// in no queue.
void sp_worker_wake(void) {
    pthread_mutex_lock(&sp_worker.lock);
    if ((sp_worker.visited || !sp_list_empty(&sp_worker.tasks)) && start_locked())
        wake_locked();
    pthread_mutex_unlock(&sp_worker.lock);
}

void sp_worker_await(bool (*matters)(const struct sp_task *task)) {
    SP_UNCANCELLED;
    pthread_mutex_lock(&sp_worker.lock);
    while (sp_worker.visited && matters(sp_worker.visited) && !sp_worker.ending &&
           !pthread_equal(pthread_self(), sp_worker.thread))
        pthread_cond_wait(&sp_worker.rested, &sp_worker.lock);
    pthread_mutex_unlock(&sp_worker.lock);
}
