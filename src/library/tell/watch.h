// Watching growths: each that raises the most that the pool has had reserved is explained.
//
// A request that climbs the ladder of a watched pool has a struct to be filled in. Whoever is about
// to map memory for it looks through the pool before anything is set aside (tell/room.h), which
// moves nothing, and notes afterwards what was mapped. A remap that is refused is noted where that
// happens. tell/explain.h tells what was noted.
//
// `telling` is taken with no other lock held. It guards the observer.
#ifndef STREAMPOOL_TELL_WATCH_H
#define STREAMPOOL_TELL_WATCH_H

#include "region/request.h"

// Makes a new pool one that is watched only where the options ask for that.
void sp_watch_init(struct sp_pool *pool);

// Sets the observer, or none with null. With `telling` held.
void sp_watch_set_locked(struct sp_pool *pool, poolMemPoolGrowthObserver observer, void *user);

// Has the growth of a request noted in a struct, all 0 at first.
void sp_watch_request(struct sp_request *request, struct poolMemPoolGrowth *growth);

#endif
