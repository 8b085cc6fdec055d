// The engine's frame: its one lock, its life, its clock, and what each driver call does first and
// last.
//
// All state of the simulation is guarded by one lock, taken in sim_call_begin and given back in
// sim_call_end. Each module keeps its own state and says here nothing of it; every function of
// every module needs the lock held unless it says otherwise. What may be read without it is atomic:
// the life, the handles (slab.h), the mirrors of a stream's state (stream.h) and the counters.
//
// Life.  UNUSED until cuInit, then READY. FORKED in a forked child and GONE once the process exits:
//        from then on every call returns the driver's error for it and touches nothing.
#ifndef STREAMPOOL_SIMCUDA_ENGINE_H
#define STREAMPOOL_SIMCUDA_ENGINE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <streampool/simcuda.h>

#include "simcuda/entry.h"
#include "simcuda/random.h"

enum sim_life { SIM_UNUSED, SIM_READY, SIM_FORKED, SIM_GONE };

extern _Atomic int sim_life;
extern struct simcudaConfig sim_config;
extern uint64_t sim_now;             // the virtual clock, ns
extern struct sim_random sim_chance; // behind every seeded choice

void sim_lock(void);
void sim_unlock(void);

// A number that was never given before in this process: identities of contexts, streams and events.
uint64_t sim_next_identity(void);

// Sleeps until the engine's state changes from another thread (sim_changed). In scheduled mode
// others run meanwhile.
void sim_sleep(void);
void sim_changed(void);

// The lock again, for the host function thread's wait: it gives up after that many milliseconds of
// real time.
void sim_sleep_for(unsigned milliseconds);

// Counts calls of every kind: that it stands still shows that the host is idle.
uint64_t sim_activity(void);

// The beginning of a driver call. CUDA_SUCCESS: the lock is held, go on and end with sim_call_end.
// Anything else: return it. Refuses the call where the life, the API level, a host function or an
// injected fault says so; lets the scheduler switch threads, counts the call, advances the clock by
// its cost and lets work complete.
CUresult sim_call_begin(enum sim_entry entry);
// The end: returns the result, and gives back the lock.
CUresult sim_call_end(enum sim_entry entry, CUresult result);

// The beginning of a call that only reads atomic state or the thread's own. CUDA_SUCCESS: go on,
// nothing is held. Much cheaper than sim_call_begin, and does the same.
CUresult sim_query_begin(enum sim_entry entry);

// cuInit.
CUresult sim_engine_start(void);
// simcudaReset. Takes the lock itself.
CUresult sim_engine_reset(const struct simcudaConfig *config);

// A number made from the calls of all registered threads, their order and results.
uint64_t sim_trace_digest(void);

#endif
