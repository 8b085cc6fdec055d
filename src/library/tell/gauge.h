// Gauges tell how a pool stands. Nothing counts them as they change, so each is found by looking.
#ifndef STREAMPOOL_TELL_GAUGE_H
#define STREAMPOOL_TELL_GAUGE_H

#include "region/pool.h"

// Reads a gauge, one of STREAMPOOL_POOL_GAUGES. False for any other attribute. No lock is held.
bool sp_gauge_read(struct sp_pool *pool, enum poolMemPoolAttr attribute, uint64_t *value);

// Returns the name of a gauge, or null for any other attribute.
const char *sp_gauge_name(enum poolMemPoolAttr attribute);

#endif
