// Remapping: free memory in pieces, made one block by mapping its extents a second time.
//
// Under the pool's lock the pieces are chosen (pool/pieces.h) and set aside (BUSY), cut as they
// will be needed; the lock is given back, the driver is called, and the result is published. What
// becomes of the pieces is said in pool/loan.h. The map lock, held all the while, keeps other
// mappers out; whoever finds memory without mapping never waits.
#ifndef STREAMPOOL_POOL_REMAP_H
#define STREAMPOOL_POOL_REMAP_H

#include "pool/request.h"

// Takes memory out of a kept view, or by mapping free memory that lies in pieces once more, side by
// side. Sets null when there is not enough of it, or when that would count for more than `time_max`
// nanoseconds.
CUresult sp_remap(struct sp_request *request, uint64_t time_max, struct sp_block **block);

// The same with memory that is within reach once the stream has been made to wait for it, whatever
// it costs; where the pool's policy lets memory be remapped at all. CUDA_ERROR_NOT_FOUND when an
// event that it needs is there no more.
CUresult sp_remap_behind_waits(struct sp_request *request, struct sp_block **block);

#endif
