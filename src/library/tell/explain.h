// Telling why a pool grew: the observer that the program has set, and the log, where the
// environment asks for it.
//
// A thread tells one growth at a time: what grows while an observer runs isn't told.
#ifndef STREAMPOOL_TELL_EXPLAIN_H
#define STREAMPOOL_TELL_EXPLAIN_H

#include "region/request.h"

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
