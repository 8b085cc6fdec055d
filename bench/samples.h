// Samples of one quantity, and what is reported of them.
#ifndef STREAMPOOL_BENCH_SAMPLES_H
#define STREAMPOOL_BENCH_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>

enum { ROUNDS_MAX = 512, REPEATS_MAX = 5, SAMPLES_MAX = ROUNDS_MAX * REPEATS_MAX };

struct samples {
    double values[SAMPLES_MAX];
    size_t count;
};

// Of two quantities: that of the medians, and those of the quartiles nearest to and farthest from
// each other.
struct ratio {
    double low;
    double median;
    double high;
    bool is_known;
};

// Nanoseconds of a clock that never goes back.
double samples_clock(void);

// A sample beyond SAMPLES_MAX is left out.
void samples_add(struct samples *samples, double value);

// The value at a fraction of the sorted samples (0 the least, 0.5 the median, 1 the most); NAN
// where there is none.
double samples_at(struct samples *samples, double fraction);

// False when the divisor has quartiles of 0, or one of them has no samples.
bool samples_ratio(struct samples *samples, struct samples *divisor, struct ratio *ratio);

#endif
