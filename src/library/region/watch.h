// Watching growths: each that raises the most that the pool has had reserved is explained.
//
// A request that climbs the ladder of a watched pool has a struct to be filled in. Whoever is about
// to map memory for it looks through the pool before anything is set aside (region/room.h), which
// moves nothing, and notes afterwards what was mapped. A remap that is refused is noted where that
// happens. calls/explain.h tells what was noted.
//
// `telling` is taken with no other lock held. It guards the observer.
#ifndef STREAMPOOL_REGION_WATCH_H
#define STREAMPOOL_REGION_WATCH_H

#include "region/request.h"

// Makes a new pool one that is watched only where the options ask for that.
void sp_watch_init(struct sp_pool *pool);

// Sets the observer, or none with null. With `telling` held.
void sp_watch_set_locked(struct sp_pool *pool, poolMemPoolGrowthObserver observer, void *user);

// These do something only for a request that is watched, and enter no function for others.

// Begins a look: forgets an earlier one, and notes what lies in the lanes' quick lists. With no
// lock held but the pool's map lock.
#define sp_watch_begin(request) ((request)->watched ? sp_watch_note_lists(request) : (void)0)

// Notes what else is free. The pool's map lock and its lock are held.
#define sp_watch_look_locked(request)                                                              \
    ((request)->watched ? sp_watch_note_free_locked(request) : (void)0)

// Notes that `mapped` bytes at `first`'s address, about to be counted as reserved, serve the
// request, of which `from_free` were there before. Under the same locks.
#define sp_watch_growth_locked(request, first, mapped, from_free)                                  \
    ((request)->watched ? sp_watch_note_growth_locked(request, first, mapped, from_free) : (void)0)

// Notes why there was no remap, or that there was one: so many extents would have been too many, so
// much new memory too much.
#define sp_watch_remap(request, why, extents, missing)                                             \
    ((request)->watched ? sp_watch_note_remap(request, why, extents, missing) : (void)0)

void sp_watch_note_lists(const struct sp_request *request);
void sp_watch_note_free_locked(const struct sp_request *request);
void sp_watch_note_growth_locked(const struct sp_request *request, const struct sp_block *first,
                                 uint64_t mapped, uint64_t from_free);
void sp_watch_note_remap(const struct sp_request *request, enum poolGrowthRemap why,
                         uint64_t extents, uint64_t missing);

#endif
