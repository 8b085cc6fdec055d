#include "dropin/tally.h"

#include <pthread.h>

enum { SHARES = 16 };

static struct share { _Alignas(64) _Atomic uint64_t counts[SP_TALLY_COUNT]; } shares[SHARES];

// The upper bits of the product depend on all bits of the thread's address.
static struct share *own(void) {
    uint64_t thread = (uint64_t)(uintptr_t)pthread_self();
    return &shares[(thread * 0x9E3779B97F4A7C15 >> 32) % SHARES];
}

void sp_tally_count(enum sp_tally what, uint64_t number) {
    sp_add_relaxed(&own()->counts[what], number);
}

void sp_tally_call(CUresult result, enum sp_tally what, enum sp_tally calls, enum sp_tally time,
                   uint64_t began) {
    sp_tally_count(calls, 1);
    sp_tally_count(time, sp_time_now() - began);
    if (result == CUDA_SUCCESS && what != SP_TALLY_NOTHING)
        sp_tally_count(what, 1);
}

uint64_t sp_tally_sum(enum sp_tally what) {
    uint64_t sum = 0;
    for (int i = 0; i < SHARES; i++)
        sum += sp_load_relaxed(&shares[i].counts[what]);
    return sum;
}

void sp_tally_reset(void) {
    for (int i = 0; i < SHARES; i++) {
        for (int what = 0; what < SP_TALLY_COUNT; what++)
            sp_store_relaxed(&shares[i].counts[what], 0);
    }
}
