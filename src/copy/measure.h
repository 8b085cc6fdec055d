// Finds the settings with which copies are fastest on this machine.
//
// It measures with the first large copy that waits for its stream: a piece of it is copied many
// times, each time with other settings and another piece, before the copy itself is made. They are
// the same bytes at the same place in the stream's order, so nobody sees it, and no other memory is
// needed.
#ifndef STREAMPOOL_COPY_MEASURE_H
#define STREAMPOOL_COPY_MEASURE_H

#include "copy/transfer.h"

// So many bytes are copied each time, of a copy that has several pieces of that size: those of the
// last one are in the host's caches. A smaller copy isn't measured with, and costs no more here
// than to see that: the settings, which are behind a lock, are read for larger ones alone.
#define SP_MEASURED       ((size_t)64 << 20)
#define SP_MEASURED_LEAST (2 * SP_MEASURED)

// Measures once in a process, where something isn't set, with a copy that is about to be made at
// once. What fails here will fail, or be right, when the copy is made.
void sp_measure_with(const struct sp_copy *copy);

// Chooses among candidates that cost more and more: the first that takes at most a twentieth more
// than the least time.
size_t sp_measure_choose(const uint64_t times[], size_t count);

#endif
