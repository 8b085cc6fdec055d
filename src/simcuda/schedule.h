// Scheduled mode: of the registered threads, one runs; the others wait for their turn. Who is next
// is a seeded choice, made wherever a thread may be switched, so the seed decides the interleaving.
//
//   running is the registered thread that runs, or null when every registered thread is blocked
//   a thread that runs is RUNNABLE
#ifndef STREAMPOOL_SIMCUDA_SCHEDULE_H
#define STREAMPOOL_SIMCUDA_SCHEDULE_H

#include <pthread.h>
#include <stdbool.h>

#include "simcuda/thread.h"

// Registers a thread; it gets its first turn in sim_schedule_enter, which the thread itself calls.
void sim_schedule_add(struct sim_thread *thread);
void sim_schedule_enter(struct sim_thread *thread);
void sim_schedule_remove(struct sim_thread *thread);

// Any runnable thread may go on, this one too; any other one, if there is one (false: there is
// none).
void sim_schedule_point(struct sim_thread *thread);
bool sim_schedule_away(struct sim_thread *thread);
// The thread found a lock of the library held: its owner must run. Aborts when that goes on for
// ever.
void sim_schedule_lock_is_held(struct sim_thread *thread);

// This thread can't go on until sim_schedule_unblock makes it runnable; it returns when it has its
// turn again.
void sim_schedule_block(struct sim_thread *thread);
// The two halves, for a thread that waits by other means in between.
void sim_schedule_leave(struct sim_thread *thread);
void sim_schedule_unblock(struct sim_thread *thread);
// Whether no other registered thread can run.
bool sim_schedule_is_alone(const struct sim_thread *thread);
// Every thread that sleeps until the engine changes becomes runnable.
void sim_schedule_wake_sleepers(void);

// No thread is registered any more.
void sim_schedule_reset(void);

// The engine's lock as the scheduler needs it, to wait on a condition.
extern pthread_mutex_t sim_engine_mutex;

#endif
