// Gauges tell how a pool stands. Nothing counts them as they change, so each is found by looking.
//
// Reading one moves nothing, so a program may do it often and still be served what it would have
// been. Memory that lanes hold free is free, and so is memory whose work has completed: who reads
// the largest block has that collected first (region/collect.h).
#ifndef STREAMPOOL_TELL_GAUGE_H
#define STREAMPOOL_TELL_GAUGE_H

#include "region/pool.h"

// Reads a gauge, one of STREAMPOOL_POOL_GAUGES. False for any other attribute. No lock is held.
bool sp_gauge_read(struct sp_pool *pool, enum poolMemPoolAttr attribute, uint64_t *value);

#endif
