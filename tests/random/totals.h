// What the pools of all programs have counted, by name; in memory that the programs' processes
// share.
#ifndef STREAMPOOL_TESTS_RANDOM_TOTALS_H
#define STREAMPOOL_TESTS_RANDOM_TOTALS_H

#include <stdbool.h>
#include <stdint.h>

#include <streampool/lists.h>

enum totals_index {
#define TOTALS_INDEX(name, number, text) TOTALS_##name,
    STREAMPOOL_POOL_STATISTICS(TOTALS_INDEX)
#undef TOTALS_INDEX
        TOTALS_COUNT
};

struct totals {
    _Atomic uint64_t programs;
    _Atomic uint64_t operations; // begun, of the programs that have ended or of the one that runs
    _Atomic uint64_t statistics[TOTALS_COUNT];
};

// Null without memory.
struct totals *totals_open(void);

void totals_add_pool(struct totals *totals, poolMemPool_t pool);
void totals_print(const struct totals *totals);

// The index of a statistic, or TOTALS_COUNT when there is none of that name.
enum totals_index totals_find(const char *name);
const char *totals_name(enum totals_index index);

#endif
