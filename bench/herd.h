// A herd: the live blocks of one subject, all of one size, of which some that are drawn at random
// are freed and allocated again.
//
// The bench knows the blocks by a table of pointers, which is as large as a pool's own bookkeeping:
// to look up the ones that are drawn would cost each subject cache misses that are none of its own.
// So they are drawn ahead, to the front of the table, where the pairs that are timed walk over them
// in order.
#ifndef STREAMPOOL_BENCH_HERD_H
#define STREAMPOOL_BENCH_HERD_H

#include "subject.h"

struct herd {
    void **blocks; // null: not made
    size_t count;
    size_t size; // of a block
};

// Makes the table. It is written to, so that its pages are there before anything is measured.
int herd_make(struct herd *herd, size_t count, size_t size);

// Allocates the blocks.
int herd_fill(struct herd *herd, const struct subject *subject, CUstream stream);

// Frees so many blocks, each followed by a malloc, and gives the nanoseconds of one such pair.
int herd_pairs(struct herd *herd, const struct subject *subject, CUstream stream, size_t pairs,
               uint64_t seed, double *each);

// Frees all blocks that there are, and the table.
int herd_end(struct herd *herd, const struct subject *subject, CUstream stream);

#endif
