// The operations of a random program: one table says which there are, and each program how often it
// does what.
//
// What they do stands in blocks.h, ordering.h, renewal.h, settling.h, capture.h and reserved.h; any
// of them may meet a fault (faults.h).
#ifndef STREAMPOOL_TESTS_RANDOM_OPERATIONS_H
#define STREAMPOOL_TESTS_RANDOM_OPERATIONS_H

#include "random/world.h"

// Decides how often each operation comes: no two programs are alike in that, so that what one of
// them hardly ever does fills another.
void operations_weigh(struct world *world, struct numbers *numbers);

// Does one operation, or finds that what it chose can't be had now.
void operations_next(struct thread *thread);

// The thread ends: its per-thread stream hands its blocks over to others.
void operations_leave(struct thread *thread);

// With no other thread about: does the same for threads that left something behind; and frees
// everything.
void operations_adopt(struct thread *thread);
void operations_free_all(struct thread *thread);

#endif
