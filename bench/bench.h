// What the cases of the bench share. A case measures all subjects in interleaved rounds, so that whatever
// drifts drifts for all, and prints one row for each of its settings.
#ifndef STREAMPOOL_BENCH_BENCH_H
#define STREAMPOOL_BENCH_BENCH_H

#include "samples.h"
#include "subject.h"

struct bench {
    struct subject subjects[SUBJECT_COUNT];
    int subject_count;
    int rounds;
    CUstream stream;
};

// Each returns 0, or the number of the error that ended it, with a line on standard error.
int case_pair(struct bench *bench);
int case_growth(struct bench *bench);

// Prints one row: the median of each subject with its least and most in `unit` (nanoseconds divided by
// `scale`), and the ratio of the medians with the ratios of the quartiles nearest to and farthest from each
// other.
void bench_print_row(const struct bench *bench, const char *setting, struct samples samples[SUBJECT_COUNT],
                     double scale);
void bench_print_head(const struct bench *bench, const char *title, const char *unit);

int bench_fail(const char *what, int error);

// "256 B", "32 MiB" into a buffer.
const char *bench_size_text(size_t size, char text[16]);

#endif
