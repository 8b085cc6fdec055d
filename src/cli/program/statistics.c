#include "cli/program/statistics.h"

static const enum poolMemPoolAttr attributes[] = {
#define ATTRIBUTE(name, number, text) poolMemPoolStat##name,
    STREAMPOOL_POOL_STATISTICS(ATTRIBUTE) STREAMPOOL_POOL_GAUGES(ATTRIBUTE)
#undef ATTRIBUTE
};

const char *sp_statistics_name(size_t statistic) {
    return poolMemPoolGetStatisticName(attributes[statistic]);
}

// A statistic that isn't named here is a count.
enum sp_unit sp_statistics_unit(size_t statistic) {
    static const enum sp_unit units[SP_STATISTIC_COUNT] = {
        [SP_STATISTIC_RemappedBytes] = SP_UNIT_BYTES,
        [SP_STATISTIC_RemapTime] = SP_UNIT_NANOSECONDS,
        [SP_STATISTIC_GrowthTime] = SP_UNIT_NANOSECONDS,
        [SP_STATISTIC_BytesReleasedByReaper] = SP_UNIT_BYTES,
        [SP_STATISTIC_ReaperTime] = SP_UNIT_NANOSECONDS,
        [SP_STATISTIC_BytesTrimmed] = SP_UNIT_BYTES,
        [SP_STATISTIC_TrimTime] = SP_UNIT_NANOSECONDS,
        [SP_STATISTIC_AddressSpace] = SP_UNIT_BYTES,
        [SP_STATISTIC_LargestFree] = SP_UNIT_BYTES,
        [SP_STATISTIC_LargestRemapped] = SP_UNIT_BYTES,
        [SP_STATISTIC_PinnedBytes] = SP_UNIT_BYTES,
        [SP_STATISTIC_PendingBytes] = SP_UNIT_BYTES,
        [SP_STATISTIC_PinningBytes] = SP_UNIT_BYTES,
        [SP_STATISTIC_LargestPinning] = SP_UNIT_BYTES,
        [SP_STATISTIC_HostReserved] = SP_UNIT_BYTES,
        [SP_STATISTIC_EvictedBytes] = SP_UNIT_BYTES,
    };
    return units[statistic];
}

void sp_statistics_reset(poolMemPool_t pool) {
    uint64_t reset = 0;
    for (size_t i = 0; i < SP_STATISTIC_COUNTERS; i++)
        poolMemPoolSetAttribute(pool, attributes[i], &reset);
}

// The library puts its free memory in order before it tells of the largest block. A replay that
// asked for these two in its midst would not be the run that it repeats.
static bool moves_memory(size_t statistic) {
    return statistic == SP_STATISTIC_LargestFree || statistic == SP_STATISTIC_LargestRemapped;
}

poolError_t sp_statistics_read_gauges(poolMemPool_t pool, struct sp_statistics *statistics) {
    poolError_t error = poolSuccess;
    for (size_t i = SP_STATISTIC_COUNTERS; i < SP_STATISTIC_COUNT && error == poolSuccess; i++)
        if (!moves_memory(i))
            error = poolMemPoolGetAttribute(pool, attributes[i], &statistics->values[i]);
    return error;
}

poolError_t sp_statistics_read_at_end(poolMemPool_t pool, struct sp_statistics *statistics) {
    poolError_t error = poolSuccess;
    for (size_t i = 0; i < SP_STATISTIC_COUNT && error == poolSuccess; i++)
        if (i < SP_STATISTIC_COUNTERS || moves_memory(i))
            error = poolMemPoolGetAttribute(pool, attributes[i], &statistics->values[i]);
    statistics->known = error == poolSuccess;
    return error;
}
