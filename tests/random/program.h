// One random program, run in the calling process.
#ifndef STREAMPOOL_TESTS_RANDOM_PROGRAM_H
#define STREAMPOOL_TESTS_RANDOM_PROGRAM_H

#include "random/totals.h"
#include "random/world.h"

// Returns when it is through; a failure ends the process.
void program_run(const struct plan *plan, struct totals *totals);

#endif
