#include "cli/program/spread.h"

#include <stdlib.h>

static int compare(const void *a, const void *b) {
    const double *left = a, *right = b;
    return (*left > *right) - (*left < *right);
}

struct sp_spread sp_spread_of(double *values, size_t count) {
    qsort(values, count, sizeof *values, compare);
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
