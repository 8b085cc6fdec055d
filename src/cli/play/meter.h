// A meter measures calls.
//
// On a GPU a call takes what the host's clock says. On the simulated driver it takes what its
// driver calls cost on an H200 by the driver's model, and what the host's clock says of the rest:
// the time around the call less the time that the simulation took. Where work is on the streams, a
// call takes what the driver's virtual clock says, with waits for work in it, and nothing else; so
// all times of a replay with work are the same in every run.
//
// Any number of threads may measure by an open meter.
#ifndef STREAMPOOL_CLI_METER_H
#define STREAMPOOL_CLI_METER_H

#include "cli/program/times.h"
#include "cli/program/work.h"

enum sp_time_base { SP_TIME_OF_HOST, SP_TIME_OF_MODEL_AND_HOST, SP_TIME_OF_VIRTUAL_CLOCK };

struct sp_meter {
    enum sp_time_base base;
    uint64_t clock_cost; // of reading the clock twice
    const struct sp_work *work;
    void *library; // of the simulated driver, where the base is the model and the host
    void (*meter_host)(int on);
    void (*thread_cost)(simcudaCost *cost);
};

// A moment is noted before the call. The thread that noted it takes the time behind the call.
struct sp_moment {
    uint64_t clock;
    simcudaCost driver;
};

struct sp_call_time {
    uint64_t ns;
    uint64_t modelled_ns; // of it; 0 but for SP_TIME_OF_MODEL_AND_HOST
};

// Returns by what clock a replay on this driver is measured, with or without work.
enum sp_time_base sp_meter_base(const struct sp_driver *driver, bool with_work);

// Opens a meter; work may be null. Returns the function that the simulated driver lacks, or null.
const char *sp_meter_open(struct sp_meter *meter, const struct sp_driver *driver,
                          const struct sp_work *work);
void sp_meter_close(struct sp_meter *meter);

static inline uint64_t sp_meter_now(const struct sp_meter *meter) {
    return meter->base == SP_TIME_OF_VIRTUAL_CLOCK ? sp_work_now(meter->work) : sp_clock_now();
}

static inline struct sp_moment sp_meter_begin(const struct sp_meter *meter) {
    struct sp_moment reading = {.clock = 0};
    if (meter->thread_cost)
        meter->thread_cost(&reading.driver);
    reading.clock = sp_meter_now(meter);
    return reading;
}

static inline struct sp_call_time sp_meter_end(const struct sp_meter *meter,
                                               const struct sp_moment *begin) {
    uint64_t end = sp_meter_now(meter);
    simcudaCost driver = begin->driver;
    if (meter->thread_cost)
        meter->thread_cost(&driver);
    uint64_t modelled = driver.modelled - begin->driver.modelled;
    uint64_t simulation = driver.host - begin->driver.host;
    uint64_t own = sp_clock_elapsed(begin->clock, end, meter->clock_cost + simulation);
    return (struct sp_call_time){.ns = modelled + own, .modelled_ns = modelled};
}

#endif
