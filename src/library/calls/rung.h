// The rungs of the ladder that don't climb it again: each tries one way to memory.
//
// A rung that has nothing sets null, which is no failure; the next one is tried then. None is
// called with a lock held.
#ifndef STREAMPOOL_CALLS_RUNG_H
#define STREAMPOOL_CALLS_RUNG_H

#include "region/request.h"

typedef struct sp_outcome sp_rung(struct sp_request *request, struct sp_block **block);

// When some of them are tried.
bool sp_rung_is_for_pages(const struct sp_request *request);
bool sp_rung_may_ask_others(const struct sp_request *request); // the driver, of other streams
bool sp_rung_may_ask_any(const struct sp_request *request);    // of some stream
bool sp_rung_may_grow(const struct sp_request *request);
bool sp_rung_is_filled(const struct sp_request *request);    // the pool, to what it needs
bool sp_rung_is_held_back(const struct sp_request *request); // by GrowthBeyondUse
bool sp_rung_is_beyond(const struct sp_request *request);    // that, and no wait would do

// These take what is free.
sp_rung sp_rung_within_reach;      // as the tiers are
sp_rung sp_rung_primed;            // as pages, from memory that was mapped ahead
sp_rung sp_rung_of_gone_contexts;  // once frees of contexts that were destroyed are complete
sp_rung sp_rung_found_complete;    // once the driver has told what has completed
sp_rung sp_rung_collected;         // once lanes have put back what lies in them
sp_rung sp_rung_brought_in;        // once all has been brought in, if the request left some
sp_rung sp_rung_from_other_region; // from memory that is kept for blocks of another size

// Refines the extent that the request would end in (region/refine.h), and takes what is free then;
// after whichever rung has found that one is due.
sp_rung sp_rung_refined;

// These map free memory in pieces once more, side by side: within the time that the attribute
// RemapTimeMax allows; however long it takes; and with free pages among the pieces.
sp_rung sp_rung_remapped;
sp_rung sp_rung_remapped_under_pressure;
sp_rung sp_rung_remapped_with_pages;

// These take nothing, and ask the driver about all that may be pending in the way of the request.
// They publish what they find.
sp_rung sp_rung_looked_at_all;
sp_rung sp_rung_asked_legacy_stream;
sp_rung sp_rung_asked_own_stream;
sp_rung sp_rung_asked_lazy_lanes;
sp_rung sp_rung_asked_current_context;
sp_rung sp_rung_asked_context;

// Asks the events that are there, and takes what is complete by then.
sp_rung sp_rung_polled;

// These map new memory: what the device has, and what it has after caches were given back to it.
sp_rung sp_rung_grown;
sp_rung sp_rung_grown_after_trim;

// Growth that is bounded: by the attribute GrowthBeyondUse a stream waits for pending memory rather
// than have the pool grow far beyond what was ever in use at once. A wait is worth it where the
// host runs ahead of the device: then the event is complete, or nearly so, when the stream comes to
// it. Where it isn't, two streams that could run side by side run one after the other. So a stream
// waits so many times in a row at most; then the pool grows, and what it grew by is the stream's
// own from then on. See docs/notes/growth.md for what was tried.
#define SP_CONSECUTIVE_WAITS 4

// Collects from all lanes before the pool grows beyond the bound, where the request left some out.
sp_rung sp_rung_brought_in_at_bound;

// Has the stream wait for memory if the pool would grow beyond the bound; from here on the request
// is no longer held back. A wait that fails is no failure: the pool can grow.
sp_rung sp_rung_waited_at_bound;

#endif
