// Scenarios that need a process of their own.
#ifndef STREAMPOOL_TESTS_COPY_PROCESS_H
#define STREAMPOOL_TESTS_COPY_PROCESS_H

#include "copy/fixture.h"

#include <stdio.h>
#include <unistd.h>

// Runs a scenario in a process of its own, which this one is forked to before it uses the driver.
// The scenario ends by exit(7). One that hangs is ended by its alarm.
void copy_in_process(void (*scenario)(void));

// Defines a test that does so, and names it in the list of tests. There it stands before all that
// use the driver. Both are for lists of scenarios, SCENARIOS(COPY_PROCESS_TEST).
#define COPY_PROCESS_TEST(scenario)                                                                \
    static void process_##scenario(void **state) {                                                 \
        (void)state;                                                                               \
        copy_in_process(scenario);                                                                 \
    }
#define COPY_PROCESS_ENTRY(scenario) cmocka_unit_test(process_##scenario),

// Requires in such a process: cmocka is the parent's.
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, poolGetLastErrorDetail());  \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

#endif
