// A kernel that copies many small pieces at once, where each is memory that the device can use: it
// reads and writes pinned memory of the host over the bus.
//
//   sp_gather(u64 pieces, u32 count)
//       Copies each of so many struct sp_gather_piece, which lie at the address `pieces`. A block
//       of threads takes one piece after another. The simulated driver knows it by its name.
#ifndef STREAMPOOL_COPY_GATHER_H
#define STREAMPOOL_COPY_GATHER_H

#include "driver/driver.h"

#include <stdbool.h>

struct sp_gather_piece {
    uint64_t to, from, bytes;
};

// A block of threads copies so much of a piece at most: larger ones are cut.
#define SP_GATHER_MOST ((uint64_t)64 << 10)

// Finds the kernel in the current context, and that context's id. False where the device or the
// driver can't run it.
bool sp_gather_find(CUfunction *kernel, unsigned long long *context);

// Gives a stream the copies of pieces, which stay until the stream has done them.
struct sp_outcome sp_gather_launch(CUfunction kernel, int device,
                                   const struct sp_gather_piece *pieces, size_t count,
                                   CUstream stream);

#endif
