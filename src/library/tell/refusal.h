// The words of a refused allocation: why, how the pool stands, and the cheapest thing that would
// have it served: first to wait for what is free, then to use what lies in pieces, then to grow.
// What a shortage says would fit is what the ladder would find, so a program that does as advised
// is served.
#ifndef STREAMPOOL_TELL_REFUSAL_H
#define STREAMPOOL_TELL_REFUSAL_H

#include "tell/shortage.h"

// Leaves behind the detail of a request that was refused for a shortage. `lacking` says who had no
// memory (sp_outcome_lacks_memory). Returns poolErrorMemoryAllocation. The pool is pinned, and no
// lock held.
poolError_t sp_refusal_tell(const struct sp_shortage *shortage, struct sp_outcome lacking);

#endif
