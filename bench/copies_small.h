// Small copies: how long they take with a synchronise, and how long only to issue.
#ifndef STREAMPOOL_BENCH_COPIES_SMALL_H
#define STREAMPOOL_BENCH_COPIES_SMALL_H

#include "copies.h"

// A part of the case `copy`. Returns 0 or the error's number.
int copies_small(struct bench *bench, struct copies *copies);

#endif
