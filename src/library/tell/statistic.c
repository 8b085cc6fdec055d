#include "tell/statistic.h"

#include "region/front.h"
#include "region/lane.h"

#include <streampool/lists.h>

enum sp_statistic sp_statistic_of(enum poolMemPoolAttr attribute) {
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
    switch (attribute) {
#define NAME(name, number, text)                                                                   \
    case poolMemPoolStat##name:                                                                    \
        return #name;
        STREAMPOOL_POOL_STATISTICS(NAME)
        STREAMPOOL_POOL_GAUGES(NAME)
#undef NAME
    default:
        return NULL;
    }
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

uint64_t sp_statistic_of_lanes(struct sp_pool *pool, enum sp_statistic statistic) {
    uint64_t sum = 0;
    sp_lock_acquire(&pool->lock);
    SP_LIST_FOR_EACH(link, &pool->lanes.list)
        sum += counted_by_lane(SP_CONTAINER_OF(link, struct sp_lane, link), statistic);
    sp_lock_release(&pool->lock);
    return sum;
}

// A record that a lane had counted when counting began anew, and that failed then, would leave less
// than none.
bool sp_statistic_read(struct sp_pool *pool, enum poolMemPoolAttr attribute, uint64_t *value) {
    enum sp_statistic statistic = sp_statistic_of(attribute);
    if (statistic == SP_STATISTIC_COUNT)
        return false;
    uint64_t count =
        sp_load_relaxed(&pool->statistics[statistic]) + sp_statistic_of_lanes(pool, statistic);
    *value = (int64_t)count < 0 ? 0 : count;
    return true;
}
