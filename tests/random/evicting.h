// Evictions: a pool gives its memory up under live blocks, and takes it again with what they held.
#ifndef STREAMPOOL_TESTS_RANDOM_EVICTING_H
#define STREAMPOOL_TESTS_RANDOM_EVICTING_H

#include "random/world.h"

// The operation: of one pool, in a program of one thread, once all work has ended.
void evicting_of_pool(struct thread *thread);

#endif
