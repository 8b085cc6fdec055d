// Little address space: the process may map hardly more than it has mapped, so that allocations of
// host memory and reservations of addresses fail. The simulated driver takes its own host memory
// beyond the limit.
//
// For programs of one thread. The library has none of its own then: libc ends a process that has no
// memory for the thread-local state with which the thread's first call of the driver begins.
#ifndef STREAMPOOL_TESTS_RANDOM_SPACE_H
#define STREAMPOOL_TESTS_RANDOM_SPACE_H

#include "random/numbers.h"

// While there are descriptors yet.
void space_prepare(void);

// From here to space_give_back() there is little.
void space_take(struct numbers *numbers);
void space_give_back(void);

#endif
