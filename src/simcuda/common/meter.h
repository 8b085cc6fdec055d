// The meter tells what the driver calls of a thread cost: the virtual time that passed in them, and
// the host's time that they took. The host's clock is read only while somebody asked for it
// (sim_meter_run), at the beginning and at the end of each call (bridge.h).
//
// A pair of readings takes time, and only a part of it lies between the two. The rest is measured
// when the meter starts and added for each call, so that a caller who subtracts the host's time of
// his calls from a time of his own is left with what he did himself.
#ifndef STREAMPOOL_SIMCUDA_COMMON_METER_H
#define STREAMPOOL_SIMCUDA_COMMON_METER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

extern _Atomic bool sim_meter_runs;

// Reads the host's clock, in ns. Tests put a clock of their own here.
extern uint64_t (*sim_meter_clock)(void);

// Starts or stops the meter. Takes some hundred µs at a start.
void sim_meter_run(bool run);

// Adds the host's time since a reading to that of the calling thread.
void sim_meter_add(uint64_t begin);

static inline uint64_t sim_meter_begin(void) {
    return atomic_load_explicit(&sim_meter_runs, memory_order_relaxed) ? sim_meter_clock() : 0;
}

static inline void sim_meter_end(const uint64_t *begin) {
    if (*begin != 0)
        sim_meter_add(*begin);
}

// Meters the function from here to its return, whichever that is.
#define SIM_METER                                                                                  \
    __attribute__((cleanup(sim_meter_end), unused)) const uint64_t metered = sim_meter_begin()

#endif
