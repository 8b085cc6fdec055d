// A picture of the case `mam`: the time of a malloc and a free against the size, and against the
// number of live blocks, a line for each subject. Both axes are logarithmic.
#ifndef STREAMPOOL_BENCH_CHART_H
#define STREAMPOOL_BENCH_CHART_H

#include "results.h"

// Writes it to a file. False when the case is not among the results, or the file can't be written;
// standard error says why.
bool chart_write(const struct results *results, const char *path);

#endif
