// Statistics: what a pool counts of its calls, and gauges, which tell how it stands. The public
// header lists them. Nothing counts a gauge as it changes, so it is found by looking.
//
// Reading one moves nothing, so a program may do it often and be served as without. Memory that
// lanes hold free is free, and so is memory whose work has completed: who reads the largest block
// has that collected first (region/collect.h).
#ifndef STREAMPOOL_TELL_STATISTIC_H
#define STREAMPOOL_TELL_STATISTIC_H

#include "region/pool.h"

// The public lists: the statistics in their order, and then the gauges. A name of null ends them.
extern const struct sp_statistic_entry {
    const char *name;
    enum poolMemPoolAttr attribute;
    const char *text;
} sp_statistic_entries[];

// The index of a statistic, or SP_STATISTIC_COUNT for any other attribute.
enum sp_statistic sp_statistic_of(enum poolMemPoolAttr attribute);

// Reads a statistic or a gauge. False for any other attribute. No lock is held.
bool sp_statistic_read(struct sp_pool *pool, enum poolMemPoolAttr attribute, uint64_t *value);

// Returns what the lanes have counted of it. No others write their counts.
uint64_t sp_statistic_of_lanes(struct sp_pool *pool, enum sp_statistic statistic);

// The name of a statistic or a gauge, or null when the attribute is neither.
const char *sp_statistic_name(enum poolMemPoolAttr attribute);

#endif
