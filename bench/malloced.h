// What malloc has handed out in this process.
#ifndef STREAMPOOL_BENCH_MALLOCED_H
#define STREAMPOOL_BENCH_MALLOCED_H

#include "bench.h"

// In bytes. False where the C library doesn't tell: glibc before 2.33 has no mallinfo2, and the
// numbers of its mallinfo are too small for what a bench allocates.
bool malloced_bytes(double *bytes);

// Says below the head of a case that this figure is left out, where it is.
void malloced_print_absence(const struct bench *bench);

#endif
