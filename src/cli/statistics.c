#include "cli/statistics.h"

static const enum poolMemPoolAttr attributes[] = {
#define ATTRIBUTE(name, number, text) poolMemPoolStat##name,
    STREAMPOOL_POOL_STATISTICS(ATTRIBUTE)
#undef ATTRIBUTE
};

const char *sp_statistics_name(size_t statistic) {
    return poolMemPoolGetStatisticName(attributes[statistic]);
}

void sp_statistics_reset(poolMemPool_t pool) {
    uint64_t reset = 0;
    for (size_t i = 0; i < SP_STATISTIC_COUNT; i++)
        poolMemPoolSetAttribute(pool, attributes[i], &reset);
}

poolError_t sp_statistics_read(poolMemPool_t pool, struct sp_statistics *statistics) {
    poolError_t error = poolSuccess;
    for (size_t i = 0; i < SP_STATISTIC_COUNT && error == poolSuccess; i++)
        error = poolMemPoolGetAttribute(pool, attributes[i], &statistics->values[i]);
    statistics->known = error == poolSuccess;
    return error;
}
