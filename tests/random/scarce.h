// Random programs in a process that has little of something that the library needs besides memory.
// The seed says of what.
#ifndef STREAMPOOL_TESTS_RANDOM_SCARCE_H
#define STREAMPOOL_TESTS_RANDOM_SCARCE_H

#include "random/program.h"

// Runs a program as program_run() does, in the process of its own that it has.
void scarce_run(const struct plan *asked, struct totals *totals);

#endif
