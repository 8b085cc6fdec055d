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
    double at; // the setting as a number, in the unit of the case; 0: it is none
    const char *subject;
    size_t samples;
    double quartiles[5]; // least, first quartile, median, third quartile, most
    double p99;
    struct ratio to_reference; // CUDA's pool, or what else it is compared with
    struct ratio to_floor;
};

struct results {
    struct result *list;
    size_t count;
    bool lost;          // one, for lack of host memory
    const char *device; // its name
    const char *library, *build, *defaults;
    bool simulated;
};

// Adds the samples of a subject. The texts but for the label must outlive the results.
void results_add(struct results *results, const struct result *result, struct samples *samples);

// Writes all to a file, or to standard output for "-". Says on standard error why it could not.
bool results_write(const struct results *results, const char *path);
void results_release(struct results *results);

#endif
