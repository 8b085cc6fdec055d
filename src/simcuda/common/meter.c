#include "simcuda/common/meter.h"

#include <stdlib.h>
#include <time.h>

#include "simcuda/common/thread.h"

enum { TRIES = 2001 };

static uint64_t read_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

_Atomic bool sim_meter_runs;
uint64_t (*sim_meter_clock)(void) = read_clock;

static _Atomic uint64_t outside; // what metering a call takes before and behind its readings

void sim_meter_add(uint64_t begin) {
    uint64_t passed = sim_meter_clock() - begin;
    sim_thread_self()->host += passed + atomic_load_explicit(&outside, memory_order_relaxed);
}

static int compare(const void *a, const void *b) {
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

// An empty call is metered once from within and once from around it. The time around it has a pair
// of readings of its own in it, which is as long as the one within.
static uint64_t try_outside(void) {
    sim_thread_self()->host = 0;
    uint64_t begin = sim_meter_clock();
    sim_meter_add(sim_meter_clock());
    uint64_t around = sim_meter_clock() - begin;
    uint64_t within = sim_thread_self()->host;
    return around > 2 * within ? around - 2 * within : 0;
}

static uint64_t measure_outside(void) {
    uint64_t tries[TRIES];
    uint64_t host = sim_thread_self()->host;
    for (size_t i = 0; i < TRIES; i++)
        tries[i] = try_outside();
    sim_thread_self()->host = host;
    qsort(tries, TRIES, sizeof tries[0], compare);
    return tries[TRIES / 2];
}

// Two threads that start it at once measure the same.
void sim_meter_run(bool run) {
    if (run && !atomic_load(&sim_meter_runs)) {
        atomic_store(&outside, 0);
        atomic_store(&outside, measure_outside());
    }
    atomic_store(&sim_meter_runs, run);
}
