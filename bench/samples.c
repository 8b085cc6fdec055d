#include "samples.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

double samples_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

void samples_add(struct samples *samples, double value) {
    if (samples->count < SAMPLES_MAX)
        samples->values[samples->count++] = value;
}

static int compare(const void *a, const void *b) {
    double left = *(const double *)a;
    double right = *(const double *)b;
    return left < right ? -1 : left > right;
}

double samples_at(struct samples *samples, double fraction) {
    if (samples->count == 0)
        return NAN;
    qsort(samples->values, samples->count, sizeof samples->values[0], compare);
    return samples->values[(size_t)(fraction * (double)(samples->count - 1) + 0.5)];
}

bool samples_ratio(struct samples *samples, struct samples *divisor, struct ratio *ratio) {
    if (samples->count == 0 || !(samples_at(divisor, 0.25) > 0))
        return false;
    *ratio = (struct ratio){
        .is_known = true,
        .low = samples_at(samples, 0.25) / samples_at(divisor, 0.75),
        .median = samples_at(samples, 0.5) / samples_at(divisor, 0.5),
        .high = samples_at(samples, 0.75) / samples_at(divisor, 0.25),
    };
    return true;
}
