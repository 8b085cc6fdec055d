// Copies that are given to a stream that is held: who waits.
#ifndef STREAMPOOL_BENCH_COPIES_BEHIND_H
#define STREAMPOOL_BENCH_COPIES_BEHIND_H

#include "copies.h"

// Rounds that are enough: where something waits, it takes the whole hold.
enum { COPIES_BEHIND_ROUNDS = 5 };

// A part of the case `copy`. Returns 0 or the error's number.
int copies_behind(struct bench *bench, struct copies *copies);

#endif
