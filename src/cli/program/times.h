// These functions read the clock, tell what reading it costs, and sum up what was measured.
#ifndef STREAMPOOL_CLI_TIMES_H
#define STREAMPOOL_CLI_TIMES_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

struct sp_samples {
    uint64_t *ns;
    size_t count;
};

struct sp_times {
    double mean;
    uint64_t p50;
    uint64_t p99;
    uint64_t max;
};

static inline uint64_t sp_clock_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Returns by how much two reads of the clock in a row differ, in ns: the median of many pairs.
// Every measured time has this cost in it.
uint64_t sp_clock_cost(void);

// Returns the difference of two reads without that cost, never below 0.
static inline uint64_t sp_clock_elapsed(uint64_t begin, uint64_t end, uint64_t cost) {
    uint64_t raw = end - begin;
    return raw > cost ? raw - cost : 0;
}

// Returns the figures of the samples, and sorts them. A percentile is the smallest sample that at
// least so many per cent of all samples don't exceed. All figures of no sample are 0.
struct sp_times sp_times_of(struct sp_samples *samples);

uint64_t sp_samples_sum(const struct sp_samples *samples);

// A spread says where the figures of several runs lie.
struct sp_spread {
    double median; // of an even number of values: half way between the two in the middle
    double least;
    double most;
    double mean;
};

// Returns the spread of the values, of which there is at least one, and sorts them.
struct sp_spread sp_spread_of(double *values, size_t count);

#endif
