// Statistics: what a pool counts, and how it is read and begun anew.
#include "tell/statistic.h"

#include "region/fail.h"
#include "region/figures.h"
#include "region/front.h"
#include "region/lane.h"
#include "tell/gauge.h"

#include <streampool/lists.h>

// The index of a statistic, or SP_STATISTIC_COUNT for any other attribute.
static enum sp_statistic statistic_of(enum poolMemPoolAttr attribute) {
    switch (attribute) {
#define STATISTIC_CASE(name, number, text)                                                         \
    case poolMemPoolStat##name:                                                                    \
        return SP_STATISTIC_##name;
        STREAMPOOL_POOL_STATISTICS(STATISTIC_CASE)
#undef STATISTIC_CASE
    default:
        return SP_STATISTIC_COUNT;
    }
}

const char *sp_statistic_name(enum poolMemPoolAttr attribute) {
    static const char *const names[] = {
#define STATISTIC_NAME(name, number, text) #name,
        STREAMPOOL_POOL_STATISTICS(STATISTIC_NAME)
#undef STATISTIC_NAME
    };
    enum sp_statistic statistic = statistic_of(attribute);
    return statistic < SP_STATISTIC_COUNT ? names[statistic] : sp_gauge_name(attribute);
}

// Each lane counts what it served from its own lists, and what its frees recorded.
static uint64_t counted_by_lane(const struct sp_lane *lane, enum sp_statistic statistic) {
    switch (statistic) {
    case SP_STATISTIC_ReuseSameStream:
        return sp_front_hits(lane);
    case SP_STATISTIC_EventsRecorded:
        return sp_load_relaxed(&lane->records);
    default:
        return 0;
    }
}

static uint64_t counted_by_lanes(struct sp_pool *pool, enum sp_statistic statistic) {
    uint64_t sum = 0;
    sp_lock_acquire(&pool->lock);
    SP_LIST_FOR_EACH(link, &pool->lanes.list)
        sum += counted_by_lane(SP_CONTAINER_OF(link, struct sp_lane, link), statistic);
    sp_lock_release(&pool->lock);
    return sum;
}

// A record that a lane had counted when counting began anew, and that failed then, would leave less
// than none.
static uint64_t read(struct sp_pool *pool, enum sp_statistic statistic) {
    uint64_t count =
        sp_load_relaxed(&pool->statistics[statistic]) + counted_by_lanes(pool, statistic);
    return (int64_t)count < 0 ? 0 : count;
}

bool sp_statistic_knows(enum poolMemPoolAttr attribute) {
    return statistic_of(attribute) < SP_STATISTIC_COUNT;
}

bool sp_statistic_read(struct sp_pool *pool, enum poolMemPoolAttr attribute, uint64_t *value) {
    if (!sp_statistic_knows(attribute))
        return false;
    *value = read(pool, statistic_of(attribute));
    return true;
}

// Counting anew begins at what has been counted: the lanes' own counts are never written by others.
poolError_t sp_statistic_reset(struct sp_pool *pool, enum poolMemPoolAttr attribute,
                               uint64_t number) {
    enum sp_statistic statistic = statistic_of(attribute);
    if (number != 0)
        return sp_fail(poolErrorInvalidValue, "a statistic can only be set to 0");
    sp_store_relaxed(&pool->statistics[statistic], 0 - counted_by_lanes(pool, statistic));
    return poolSuccess;
}
