// The rungs of the ladder that climb no further: each tries one way to memory.
//
// A rung that has nothing sets null, which is no failure; the next one is tried then. None is
// called with a lock held.
#ifndef STREAMPOOL_CALLS_RUNG_H
#define STREAMPOOL_CALLS_RUNG_H

#include "region/request.h"

typedef struct sp_outcome sp_rung(struct sp_request *request, struct sp_block **block);

// These take what is free.
sp_rung sp_rung_within_reach;        // as the tiers are
sp_rung sp_rung_primed;              // pages, from memory that was mapped ahead
sp_rung sp_rung_of_gone_contexts;    // once frees of contexts that were destroyed are complete
sp_rung sp_rung_found_complete;      // once the driver has told what has completed
sp_rung sp_rung_collected;           // once the lanes have put back what lies in them
sp_rung sp_rung_collected_from_some; // once some of very many lanes have
sp_rung sp_rung_brought_in;          // once all has been brought in, if the request left some
sp_rung sp_rung_from_other_region;   // from memory that is kept for blocks of another size

// These map free memory in pieces once more, side by side: within the time that the attribute
// RemapTimeMax allows; however long it takes; and with free pages among the pieces.
sp_rung sp_rung_remapped;
sp_rung sp_rung_remapped_under_pressure;
sp_rung sp_rung_remapped_with_pages;

// These map new memory: as much as there is, and after caches were given back to the device.
sp_rung sp_rung_grown;
sp_rung sp_rung_grown_after_trim;

// Takes nothing: has events recorded behind memory of open lanes, so that it can be waited for.
sp_rung sp_rung_fenced;

// True when the request may ask the driver of other streams.
bool sp_rung_may_ask_others(const struct sp_request *request);

#endif
