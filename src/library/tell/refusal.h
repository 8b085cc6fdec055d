// The words of a refused allocation: why, how the pool stands, and what would help most
// (tell/advice.h).
#ifndef STREAMPOOL_TELL_REFUSAL_H
#define STREAMPOOL_TELL_REFUSAL_H

#include "region/request.h"

// Leaves behind the detail of a request that was refused to the lane: for a block of `size` bytes,
// where the program had asked for `asked`. `lacking` says who had no memory
// (sp_outcome_lacks_memory). Returns poolErrorMemoryAllocation. The pool is pinned, and no lock
// held.
poolError_t sp_refusal_tell(struct sp_lane *lane, enum sp_region_kind kind, uint64_t size,
                            unsigned flags, size_t asked, struct sp_outcome lacking);

#endif
