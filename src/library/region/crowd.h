// Crowds: threads that stand in each other's way at a pool's lock.
//
// A lane that places by address files what it frees, and searches for what it allocates, both under
// the pool's lock. Where many threads do that at once they wait for each other far longer than the
// work takes. So a lane counts: SP_CROWD_MET more each time that it finds the lock held, and one
// less each time that it finds it free. At SP_CROWD_FULL the lane keeps its next SP_CROWD_KEPT
// frees in its quick lists, and gives them out again with no look at the pool. Then it files again,
// and counts on from SP_CROWD_REST. Until then it asks other streams by turns alone (calls/near.h):
// the questions of many threads wait for each other, too.
//
// A lane that finds the lock held less than once in nine times files everything: blocks in quick
// lists make a shared pool creep (docs/notes/placing.md). A deterministic pool knows no crowds, as
// what it does may not depend on what other threads do at the moment.
//
// The counts are written with the lane's lock or without: one of two changes at once may be lost.
#ifndef STREAMPOOL_REGION_CROWD_H
#define STREAMPOOL_REGION_CROWD_H

#include "region/lane.h"

enum { SP_CROWD_MET = 8, SP_CROWD_FULL = 32, SP_CROWD_REST = 24, SP_CROWD_KEPT = 4096 };

// Looks whether another thread holds the pool's lock, and counts that. The caller doesn't hold it.
static inline bool sp_crowd_meet(struct sp_lane *lane) {
    bool held = sp_lock_is_held(&lane->pool->lock);
    uint32_t count = sp_load_relaxed(&lane->crowd);
    if (SP_LIKELY(!held && count == 0))
        return false;
    if (sp_pool_is_deterministic(lane->pool))
        return false;
    count = held ? count + SP_CROWD_MET : count > 0 ? count - 1 : 0;
    if (count >= SP_CROWD_FULL) {
        count = SP_CROWD_REST;
        sp_store_relaxed(&lane->keeps, SP_CROWD_KEPT);
    }
    sp_store_relaxed(&lane->crowd, count);
    return held;
}

// True when the lane is in a crowd.
static inline bool sp_crowd_is_there(const struct sp_lane *lane) {
    return SP_UNLIKELY(sp_load_relaxed(&lane->keeps) != 0) && !sp_pool_is_deterministic(lane->pool);
}

// True when the lane is in a crowd: one of the frees that it keeps is the caller's.
static inline bool sp_crowd_keeps(struct sp_lane *lane) {
    uint32_t keeps = sp_load_relaxed(&lane->keeps);
    if (SP_LIKELY(keeps == 0) || sp_pool_is_deterministic(lane->pool))
        return false;
    sp_store_relaxed(&lane->keeps, keeps - 1);
    return true;
}

#endif
