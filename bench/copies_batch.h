// Batches: many pieces that are copied together, from pinned and from pageable memory, and beside a
// kernel that leaves no multiprocessor free.
#ifndef STREAMPOOL_BENCH_COPIES_BATCH_H
#define STREAMPOOL_BENCH_COPIES_BATCH_H

#include "copies.h"

// A part of the case `copy`. Returns 0 or the error's number.
int copies_batch(struct bench *bench, struct copies *copies);

#endif
