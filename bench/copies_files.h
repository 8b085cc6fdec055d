// Files: from the page cache or the disk to the device, and back into the page cache.
#ifndef STREAMPOOL_BENCH_COPIES_FILES_H
#define STREAMPOOL_BENCH_COPIES_FILES_H

#include "copies.h"

// Rounds that are enough: a disk takes a second or more for a sample.
enum { COPIES_FILES_ROUNDS = 5 };

// A part of the case `copy`. Returns 0 or the error's number.
int copies_files(struct bench *bench, struct copies *copies);

#endif
