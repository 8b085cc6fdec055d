// A spread says where the figures of several runs lie.
#ifndef STREAMPOOL_CLI_SPREAD_H
#define STREAMPOOL_CLI_SPREAD_H

#include <stddef.h>

struct sp_spread {
    double median; // of an even number of values: half way between the two in the middle
    double least;
    double most;
    double mean;
};

// Returns the spread of the values, of which there is at least one, and sorts them.
struct sp_spread sp_spread_of(double *values, size_t count);

#endif
