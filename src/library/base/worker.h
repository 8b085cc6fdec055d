// The worker: the library's own thread, which does what no call waits for.
//
// A process has one. It is started when there is something to do, sleeps when there is nothing, and
// ends when it has slept for a while: it keeps no process alive whose other threads have ended. It
// has a queue of tasks. In a *round* it visits each task in turn, and leaves in the queue those
// that have more to do. Each visit does a little, so that other threads never wait for it long.
//
//   - After a round that came to nothing the worker pauses, each time twice as long. Even what is
//     new waits for the end of the pause, so that no program can keep the worker busy with nothing.
//   - It holds no lock while it sleeps or pauses, and takes none of another module while it holds
//     its own. So a task may be called for with any lock held.
//   - It ends before the driver's own end at exit, and a forked child has none.
#ifndef STREAMPOOL_BASE_WORKER_H
#define STREAMPOOL_BASE_WORKER_H

#include "base/list.h"

#include <pthread.h>
#include <stdbool.h>

// The result of a visit. That of a round is the last of these that one of its visits had.
enum sp_worker_result {
    SP_WORKER_IDLE,    // nothing is left to do
    SP_WORKER_PENDING, // nothing can be done until somebody calls sp_worker_wake()
    SP_WORKER_REFUSED, // the driver refuses what is to be done
    SP_WORKER_BUSY,    // other threads use what the task needs
    SP_WORKER_PROGRESS
};

// A task stands in the struct that it is about, which must stay as long as the worker may visit
// it. `insists` says that the last round had the result SP_WORKER_BUSY: the visit need make way no
// longer.
struct sp_task {
    struct sp_list link; // in the queue; guarded by the worker's lock
    enum sp_worker_result (*visit)(struct sp_task *task, bool insists);
};

// Puts the task into the queue, if it isn't there, and starts or wakes the worker. False when the
// thread can't be started. A task that is called for during its visit is visited again.
bool sp_worker_call(struct sp_task *task);

// Has the worker visit the tasks that are in the queue: those that are pending may go on.
void sp_worker_wake(void);

// Waits until the worker visits no task that `matters`, which is asked with the worker's lock
// held. Returns at once for the worker itself. No lock is held.
void sp_worker_await(bool (*matters)(const struct sp_task *task));

// The state, for worker.c, and for tests that wait for the worker or end it.
struct sp_worker {
    pthread_mutex_t lock;
    pthread_cond_t changed; // `called` or `ending` was set; by the monotonic clock
    pthread_cond_t rested;
    bool ready; // `changed` is made, and the handler at exit registered
    bool started;
    bool ending;
    bool called; // there is something new since the round began
    bool resting;
    struct sp_task *visited;      // at this moment, or null
    enum sp_worker_result result; // of the last round
    pthread_t thread;
    struct sp_list tasks; // the queue
};

extern __attribute__((visibility("hidden"))) struct sp_worker sp_worker;

// Tells the thread to end. True when there is one, which is to be joined.
bool sp_worker_end(void);

#endif
