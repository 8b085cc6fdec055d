#include "simcuda/common/shared.h"

#include <stdlib.h>

#include "base/log.h"
#include "base/thread.h"

_Atomic int sim_life;
struct simcudaConfig sim_config;
uint64_t sim_now;
struct sim_random sim_chance;
uint64_t sim_activity;
pthread_mutex_t sim_mutex = PTHREAD_MUTEX_INITIALIZER;
_Thread_local bool sim_in_kernel;

static uint64_t last_identity;

// This is the state from before the thread took the lock.
static _Thread_local int cancel_state;

// Waits with the lock are cancellation points, and so are the reports that are written.
void sim_lock(void) {
    if (sim_in_kernel) {
        sp_log_write(
            "simulated driver: a function of a kernel calls what it may not call "
            "(simcudaRegisterKernel)");
        abort();
    }
    cancel_state = sp_cancel_hold();
    pthread_mutex_lock(&sim_mutex);
}

void sim_unlock(void) {
    pthread_mutex_unlock(&sim_mutex);
    sp_cancel_restore(&cancel_state);
}

uint64_t sim_next_identity(void) {
    return ++last_identity;
}
