#include "cli/program/times.h"

#include <stdlib.h>

static int compare_times(const void *a, const void *b) {
    const uint64_t *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

static uint64_t percentile(const struct sp_samples *samples, unsigned percent) {
    size_t rank = (samples->count * percent + 99) / 100;
    return samples->ns[rank - 1];
}

uint64_t sp_samples_sum(const struct sp_samples *samples) {
    uint64_t sum = 0;
    for (size_t i = 0; i < samples->count; i++)
        sum += samples->ns[i];
    return sum;
}

struct sp_times sp_times_of(struct sp_samples *samples) {
    if (samples->count == 0)
        return (struct sp_times){.mean = 0};
    qsort(samples->ns, samples->count, sizeof *samples->ns, compare_times);
    return (struct sp_times){
        .mean = (double)sp_samples_sum(samples) / (double)samples->count,
        .p50 = percentile(samples, 50),
        .p99 = percentile(samples, 99),
        .max = samples->ns[samples->count - 1],
    };
}

uint64_t sp_clock_cost(void) {
    enum { READS = 4001 };
    static uint64_t costs[READS];
    for (size_t i = 0; i < READS; i++) {
        uint64_t begin = sp_clock_now();
        costs[i] = sp_clock_now() - begin;
    }
    struct sp_samples samples = {costs, READS};
    return sp_times_of(&samples).p50;
}

static int compare_values(const void *a, const void *b) {
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

struct sp_spread sp_spread_of(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare_values);
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return (struct sp_spread){
        .median = (values[(count - 1) / 2] + values[count / 2]) / 2,
        .least = values[0],
        .most = values[count - 1],
        .mean = sum / (double)count,
    };
}
