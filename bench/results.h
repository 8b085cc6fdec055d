// The results of a run, kept to be written as JSON.
#ifndef STREAMPOOL_BENCH_RESULTS_H
#define STREAMPOOL_BENCH_RESULTS_H

#include "samples.h"

#include <stdbool.h>

enum { RESULT_TEXT = 48 };

struct result {
    const char *case_name;
    char label[RESULT_TEXT];
    const char *unit;
    const char *subject;
    size_t samples;
    double quartiles[5]; // least, first quartile, median, third quartile, most
    bool has_ratio;      // to CUDA's pool, or what else it is compared with
    struct ratio ratio;
};

struct results {
    struct result *list;
    size_t count;
    bool lost;          // one, for lack of host memory
    const char *device; // its name
    bool simulated;
};

// Adds the samples of a subject; `divisor` are those that it is compared with, or null.
// The texts but for the label must outlive the results.
void results_add(struct results *results, const struct result *result, struct samples *samples,
                 struct samples *divisor);

// Writes all to a file, or to standard output for "-". Says on standard error why it could not.
bool results_write(const struct results *results, const char *path);
void results_release(struct results *results);

#endif
