// The words of a refused allocation: why, how the pool stands, and what would help most.
//
// Who had no memory is noted as the driver's errors are, by sp_ladder_climb() and whoever else
// refuses:
//
//   (CUDA_ERROR_OUT_OF_MEMORY, "cuMemCreate")   the driver, and which entry point said so
//   (CUDA_ERROR_OUT_OF_MEMORY, "")              the host
//   (CUDA_SUCCESS, "")                          neither: the pool's limit, or poolMallocNoGrowth
//
// The advice is the cheapest that would serve the request: first to wait for what is free, then to
// use what lies in pieces, then to grow.
#ifndef STREAMPOOL_CALLS_REFUSAL_H
#define STREAMPOOL_CALLS_REFUSAL_H

#include "region/request.h"

// Leaves behind the detail of a request that was refused to the lane: for a block of `size` bytes,
// where the program had asked for `asked`. Returns poolErrorMemoryAllocation. The pool is pinned,
// and no lock held.
poolError_t sp_refuse(struct sp_lane *lane, enum sp_region_kind kind, uint64_t size, unsigned flags,
                      size_t asked);

#endif
