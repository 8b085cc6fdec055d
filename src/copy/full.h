// Tells whether a device is full: other kernels have its multiprocessors for so long that a batch's
// kernel comes late. The driver's copies need no multiprocessor.
//
// Nobody can ask a device that. So a batch's kernel is *timed*, by an event on each side of it, and
// a later batch looks at the events once they are done. In each context one kernel is timed at a
// time. It was late if the driver's copies would have been done before: then the device is full
// until a kernel isn't late. One of a few batches tries that.
//
//   a kernel is late if it took more than 1 ms + 1.5 µs * pieces + bytes / (25 GB/s)
//
// `context` is the id of the current context. The driver isn't asked about events of another one,
// which may be gone with it. No call waits.
#ifndef STREAMPOOL_COPY_FULL_H
#define STREAMPOOL_COPY_FULL_H

#include "driver/driver.h"

#include <stdbool.h>

// A kernel that is timed.
struct sp_full_timing {
    unsigned long long context;
    float allowed; // milliseconds: what takes longer is late
    CUevent begin, end;
};

// True where a batch had better do without the kernel.
bool sp_full_is(unsigned long long context);

// Begins to time a kernel that the stream is given next, and that copies these pieces and bytes.
// False where it isn't timed: it is too small, or another one is timed.
bool sp_full_begin(struct sp_full_timing *timing, unsigned long long context, size_t pieces,
                   size_t bytes, CUstream stream);

// Ends what was begun, behind the kernel.
void sp_full_end(const struct sp_full_timing *timing, CUstream stream);

#endif
