// Captures: the pool's calls are refused in one, and the block that they named stays what it is.
#ifndef STREAMPOOL_TESTS_RANDOM_CAPTURE_H
#define STREAMPOOL_TESTS_RANDOM_CAPTURE_H

#include "random/world.h"

// Where a capture is allowed by what was promised, and felt by nobody else.
void capture_enter(struct thread *thread);

#endif
