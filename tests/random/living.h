// Whether free memory can be had: once nothing is pending, an allocation that fits must succeed.
//
// What fits is told by a plain ledger: the extents in which no byte of a live block lies, what the
// device has free, and the pool's limit. The library's own opinion of what is free is not asked.
#ifndef STREAMPOOL_TESTS_RANDOM_LIVING_H
#define STREAMPOOL_TESTS_RANDOM_LIVING_H

#include "random/world.h"

// Waits for all work, by calls of which the library may hear or not, and allocates as much as
// fits, or less. For programs of one thread whose pools may ask what is complete.
void living_look(struct thread *thread);

#endif
