// Finds the settings with which copies are fastest on this machine.
//
// The first large copy is what it measures with: its first bytes are copied several times, each
// time with other settings, before the copy itself is made. They are the same bytes at the same
// place in the stream's order, so nobody sees it, and no other memory is needed.
#ifndef STREAMPOOL_COPY_MEASURE_H
#define STREAMPOOL_COPY_MEASURE_H

#include "copy/transfer.h"

// So many bytes are copied each time, and a copy of fewer isn't measured with.
#define SP_MEASURED ((size_t)64 << 20)

// Measures where nobody has, with a copy that is about to be made at once. What fails here will
// fail, or be right, when it is made.
void sp_measure_with(const struct sp_copy *copy);

// Chooses among candidates that cost more and more: the first that takes at most a twentieth more
// than the least time.
size_t sp_measure_choose(const uint64_t times[], size_t count);

#endif
