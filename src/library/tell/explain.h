// Explaining growths: each that raises the most that the pool has had reserved is told to the
// observer that the program has set, and to the log, where the environment asks for it.
//
// A request that climbs the ladder of a watched pool has a struct to be filled in. Whoever is about
// to map memory for it has the pool looked through before anything is set aside (tell/shortage.h),
// and what was mapped, or refused, noted afterwards.
//
// A thread tells one growth at a time: what grows while an observer runs isn't told. The lock
// `telling` is taken with no other lock held. It guards the observer.
#ifndef STREAMPOOL_TELL_EXPLAIN_H
#define STREAMPOOL_TELL_EXPLAIN_H

#include "region/request.h"

// Makes a new pool one that is watched only where the options ask for that.
void sp_explain_init(struct sp_pool *pool);

// Has the growth of a request noted in a struct, all 0 at first.
void sp_explain_watch(struct sp_request *request, struct poolMemPoolGrowth *growth);

// Adds to what was noted on the way of a request that was served what the request itself tells, and
// whether it could ask the driver.
void sp_explain_complete(const struct sp_request *request, bool asked_driver);

// Tells a growth, once its allocation is complete. With no lock held.
void sp_explain_growth(struct sp_pool *pool, const struct poolMemPoolGrowth *growth);

// Sets a pool's observer, or none with null, and waits for the one before if that runs in another
// thread. False, and nothing is changed, when the calling thread runs the observer of another pool:
// two of them could wait for each other.
bool sp_explain_set(struct sp_pool *pool, poolMemPoolGrowthObserver observer, void *user);

#endif
