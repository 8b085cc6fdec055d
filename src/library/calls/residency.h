// A pool that is evicted: the calls that take a pool's memory while it has live blocks, and give it
// memory again.
//
// While it isn't resident nothing is allocated from it, and nothing is trimmed; frees change the
// books alone. So what a visitor is shown stays where it is until the call goes on.
#ifndef STREAMPOOL_CALLS_RESIDENCY_H
#define STREAMPOOL_CALLS_RESIDENCY_H

#include "region/pool.h"

// A visitor does what the program wants with the contents; null, and nothing is done.
struct sp_visit {
    poolMemPoolVisitor visitor;
    void *user;
};

// Evicts a pinned pool, whose work has ended, and tells how many bytes stay.
poolError_t sp_residency_evict(struct sp_pool *pool, struct sp_visit save, size_t *stayed);

// Makes it resident.
poolError_t sp_residency_restore(struct sp_pool *pool, struct sp_visit load);

#endif
