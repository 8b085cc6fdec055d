// Remapping: free memory in pieces, made one block by mapping its extents a second time.
//
// Under the pool's lock the pieces are chosen (supply/pieces.h) and set aside (BUSY), cut as they
// will be needed; the lock is given back, the driver is called, and the result is published. The
// map lock keeps other mappers out, but not while a stream is made to wait for the pieces, which
// stay set aside. A request that finds memory without mapping never waits.
#ifndef STREAMPOOL_SUPPLY_REMAP_H
#define STREAMPOOL_SUPPLY_REMAP_H

#include "region/request.h"

// The default of poolMemPoolAttrRemapTimeMax, and what each extent counts of it.
#define SP_REMAP_TIME_MAX  ((uint64_t)2000000)
#define SP_REMAP_TIME_EACH ((uint64_t)25000)

// Takes memory out of a kept view, or by mapping free memory that lies in pieces once more, side by
// side. Sets null when there is not enough of it, or when that would count for more than `time_max`
// nanoseconds.
struct sp_outcome sp_remap(struct sp_request *request, uint64_t time_max, struct sp_block **block);

// Makes the stream wait for memory in pieces that would be within reach then, and maps it side by
// side, whatever that costs; or within the time that the attribute RemapTimeMax allows, if it waits
// because GrowthBeyondUse holds it back. Sets null where the pool's policy lets no memory be
// remapped. SP_NO_EVENT when an event that it needs is there no more.
struct sp_outcome sp_remap_behind_waits(struct sp_request *request, struct sp_block **block);

#endif
