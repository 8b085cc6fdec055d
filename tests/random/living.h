// Whether free memory can be had: an allocation that fits must succeed once nothing is pending, and
// before that if it may wait.
//
// What fits is told by a plain ledger: see support/room.h.
#ifndef STREAMPOOL_TESTS_RANDOM_LIVING_H
#define STREAMPOOL_TESTS_RANDOM_LIVING_H

#include "random/world.h"

// Allocates as much as fits, or less: once all work is done, which is waited for by calls of which
// the library may hear or not; or while work is pending, by an allocation that may wait on the
// host. For programs of one thread whose pools may ask what is complete.
void living_look(struct thread *thread);

#endif
