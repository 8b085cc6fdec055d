// In scheduled mode one of the registered threads runs; the others wait for their turn. The next
// one is chosen by a seeded draw wherever a thread may be switched, so the seed decides the
// interleaving.
//
//   running is the registered thread that runs, or null when every registered thread is blocked
//   a thread that runs is RUNNABLE
#ifndef STREAMPOOL_SIMCUDA_QUEUE_SCHEDULE_H
#define STREAMPOOL_SIMCUDA_QUEUE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

#include "simcuda/common/thread.h"

// Registers a thread; it gets its first turn in sim_schedule_enter, which the thread itself calls.
void sim_schedule_add(struct sim_thread *thread);
void sim_schedule_enter(struct sim_thread *thread);
void sim_schedule_remove(struct sim_thread *thread);

// Lets a runnable thread go on, which may be this one.
void sim_schedule_point(struct sim_thread *thread);
// Lets another runnable thread go on. False when there is none.
bool sim_schedule_away(struct sim_thread *thread);
// The thread found a lock of the library held: its owner must run. Aborts when that goes on for
// ever.
void sim_schedule_lock_is_held(struct sim_thread *thread);

// Stops this thread, which can't go on until sim_schedule_unblock makes it runnable. Returns when
// it has its turn again.
void sim_schedule_block(struct sim_thread *thread);
// Makes the thread blocked and gives its turn away, for one that then waits by other means.
void sim_schedule_leave(struct sim_thread *thread);
// Makes the thread runnable again.
void sim_schedule_unblock(struct sim_thread *thread);
// Returns whether no other registered thread can run.
bool sim_schedule_is_alone(const struct sim_thread *thread);

// Sleeps until the engine's state changes from another thread (sim_changed). In scheduled mode
// others run meanwhile.
void sim_sleep(void);
void sim_changed(void);
// Gives up after that many milliseconds of real time; only for a thread that isn't registered, or
// while no other registered one can run.
void sim_sleep_for(unsigned milliseconds);

// Counts the host functions that are pending: only while there are any does a thread that `serves`
// go on because no other can.
extern uint64_t sim_pending_host_functions;

// No thread is registered any more.
void sim_schedule_reset(void);

#endif
