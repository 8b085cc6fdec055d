// Statistics hold what a pool counts by itself, and how it stood when most was alive: every
// statistic and gauge of the public header.
#ifndef STREAMPOOL_CLI_STATISTICS_H
#define STREAMPOOL_CLI_STATISTICS_H

#include "cli/program/quantity.h"

#include <stdbool.h>
#include <stddef.h>
#include <streampool/lists.h>

#define SP_STATISTIC_INDEX(name, number, text) SP_STATISTIC_##name,
enum {
    STREAMPOOL_POOL_STATISTICS(SP_STATISTIC_INDEX) SP_STATISTIC_COUNTERS,
    SP_STATISTIC_BEFORE_GAUGES = SP_STATISTIC_COUNTERS - 1,
    STREAMPOOL_POOL_GAUGES(SP_STATISTIC_INDEX) SP_STATISTIC_COUNT
};
#undef SP_STATISTIC_INDEX

struct sp_statistics {
    bool known; // false: the allocator keeps none
    uint64_t values[SP_STATISTIC_COUNT];
};

// Returns the name that the library gives a statistic.
const char *sp_statistics_name(size_t statistic);

// Returns the unit of a statistic's number.
enum sp_unit sp_statistics_unit(size_t statistic);

// Makes all counters count anew.
void sp_statistics_reset(poolMemPool_t pool);

// Reads the gauges that can be read in the midst of a replay: all but those of the largest blocks.
poolError_t sp_statistics_read_gauges(poolMemPool_t pool, struct sp_statistics *statistics);

// Reads the counters and the gauges of the largest blocks, and notes whether all are known.
poolError_t sp_statistics_read_at_end(poolMemPool_t pool, struct sp_statistics *statistics);

#endif
