// Counting the basic blocks of the library that the calling thread enters: see growth.c.
#ifndef STREAMPOOL_TESTS_GROWTH_COUNT_H
#define STREAMPOOL_TESTS_GROWTH_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#include <streampool/streampool.h>

extern _Thread_local uint64_t growth_entered; // so far
extern _Thread_local bool growth_counts;      // or else nothing is counted

// Makes a call of the library, whose basic blocks are counted, and returns what it returns.
#define COUNTED(call)                                                                              \
    __extension__({                                                                                \
        growth_counts = true;                                                                      \
        poolError_t error_ = (call);                                                               \
        growth_counts = false;                                                                     \
        error_;                                                                                    \
    })

#endif
