// Sight: all free memory is put where a look finds it, for looks move nothing (tell/shortage.h).
#ifndef STREAMPOOL_CALLS_SIGHT_H
#define STREAMPOOL_CALLS_SIGHT_H

#include "tell/shortage.h"

// Returns what a request lacks that found no memory: collects from the lanes of its pool, whose
// memory is free, too; and if the device has too little, from those of its other pools. First it
// notes what a reset of a plain device has taken. With no lock held.
struct sp_shortage sp_sight_shortage(const struct sp_request *request, struct sp_outcome lacking,
                                     size_t asked);

#endif
