// All modules of the engine share these: its one lock, its life, its configuration, the virtual
// clock, chance, and identities.
//
// The lock guards all state of the simulation: a driver call takes it in sim_call_begin and gives
// it back in sim_call_end (engine.h). Each module keeps its own state; every function of every
// module needs the lock held unless it says otherwise. What may be read without it is atomic: the
// life, the handles (slab.h), the mirrors of a stream's state (stream.h) and the counters.
//
// Life.  UNUSED until cuInit, then READY. FORKED in a forked child and GONE once the process exits:
//        from then on every call returns the driver's error for it and touches nothing.
#ifndef STREAMPOOL_SIMCUDA_COMMON_SHARED_H
#define STREAMPOOL_SIMCUDA_COMMON_SHARED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <streampool/simcuda.h>

#include "simcuda/common/random.h"

enum sim_life { SIM_UNUSED, SIM_READY, SIM_FORKED, SIM_GONE };

extern _Atomic int sim_life;
extern struct simcudaConfig sim_config;
extern uint64_t sim_now;             // the virtual clock, ns
extern struct sim_random sim_chance; // behind every seeded choice
extern uint64_t sim_activity;        // counts calls: while it stands still, the host is idle
extern pthread_mutex_t sim_mutex;    // the lock, for those who wait on a condition

// Set while the thread runs a function of a registered kernel (registered.h), with the lock held.
// To take the lock then would be to wait for itself, so the process aborts and says why.
extern _Thread_local bool sim_in_kernel;
// Returns whether the program is checked for mistakes. Needs the lock, or a configuration that
// stays.
static inline bool sim_checks(void) {
    return sim_config.onReport == simcudaOnReportCheck;
}

void sim_lock(void);
void sim_unlock(void);

// A number that was never given before in this process: identities of contexts, streams and events.
uint64_t sim_next_identity(void);

#endif
