// Scenarios that need a process of their own.
#ifndef STREAMPOOL_TESTS_COPY_PROCESS_H
#define STREAMPOOL_TESTS_COPY_PROCESS_H

#include "copy/fixture.h"

#include <stdio.h>
#include <unistd.h>

// Runs a scenario in a process of its own, which this one is forked to before it uses the driver.
// The scenario ends by exit(7). One that hangs is ended by its alarm.
void copy_in_process(void (*scenario)(void));

// Requires in such a process: cmocka is the parent's.
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, poolGetLastErrorDetail());  \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#endif
