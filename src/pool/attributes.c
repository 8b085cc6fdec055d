// Attributes: one function that reads and one that writes; what each means is said in the public
// header.
#include "pool/figures.h"
#include "pool/given_up.h"
#include "pool/keep.h"
#include "pool/reaper.h"
#include "pool/runtime.h"
#include "pool/stitch.h"

#include <string.h>

static uint64_t read_figure(const _Atomic uint64_t *figure) {
    return atomic_load_explicit(figure, memory_order_acquire);
}

// What is common to all pools: true when the attribute is such a figure or number, with its value.
static bool read_u64(const struct sp_pool *pool, enum poolMemPoolAttr attribute, uint64_t *value) {
    switch (attribute) {
    case poolMemPoolAttrReleaseThreshold:
        *value = read_figure(&pool->release_threshold);
        return true;
    case poolMemPoolAttrReservedMemCurrent:
        *value = read_figure(&pool->reserved);
        return true;
    case poolMemPoolAttrReservedMemHigh:
        *value = read_figure(&pool->reserved_high);
        return true;
    case poolMemPoolAttrUsedMemCurrent:
        *value = sp_figures_used(pool);
        return true;
    case poolMemPoolAttrUsedMemHigh:
        *value = read_figure(&pool->used_high);
        return true;
    case poolMemPoolAttrMaxPoolSize:
        *value = pool->props.maxSize;
        return true;
    case poolMemPoolAttrUnfencedBytesMax:
        *value = sp_pool_unfenced_max(pool);
        return true;
    case poolMemPoolAttrHostWaitMax:
        *value = read_figure(&pool->host_wait_max);
        return true;
    case poolMemPoolAttrContextWaitMax:
        *value = read_figure(&pool->context_wait_max);
        return true;
    case poolMemPoolAttrRemapTimeMax:
        *value = read_figure(&pool->remap_time_max);
        return true;
    case poolMemPoolAttrReleaseDelay:
        *value = read_figure(&pool->keep.release_delay);
        return true;
    default:
        return false;
    }
}

static bool read_int(const struct sp_pool *pool, enum poolMemPoolAttr attribute, int *value) {
    switch (attribute) {
    case poolMemPoolReuseFollowEventDependencies:
    case poolMemPoolReuseAllowOpportunistic:
    case poolMemPoolReuseAllowInternalDependencies:
        *value = atomic_load_explicit(&pool->reuse_policies[attribute - 1], memory_order_relaxed);
        return true;
    case poolMemPoolAttrDeterministic:
        *value = sp_pool_is_deterministic(pool);
        return true;
    case poolMemPoolAttrContextFence:
        *value = atomic_load_explicit(&pool->context_fence, memory_order_relaxed);
        return true;
    case poolMemPoolAttrDefragmentation:
        *value = atomic_load_explicit(&pool->defragmentation, memory_order_relaxed);
        return true;
    case poolMemPoolAttrStreamPromises:
        *value = sp_pool_promises(pool);
        return true;
    case poolMemPoolAttrTrimByReaper:
        *value = atomic_load_explicit(&pool->trim_by_reaper, memory_order_relaxed);
        return true;
    case poolMemPoolAttrReaper:
        *value = atomic_load_explicit(&pool->reaper, memory_order_relaxed);
        return true;
    case poolMemPoolAttrAllocationType:
        *value = (int)pool->props.allocType;
        return true;
    case poolMemPoolAttrExportHandleTypes:
        *value = (int)pool->props.handleTypes;
        return true;
    case poolMemPoolAttrLocationId:
        *value = pool->props.location.id;
        return true;
    case poolMemPoolAttrLocationType:
        *value = (int)pool->props.location.type;
        return true;
    case poolMemPoolAttrHwDecompressEnabled:
        *value = 0;
        return true;
    default:
        return false;
    }
}

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

// What the lanes served from their own lists, and what their frees recorded, is counted by each of
// them.
static uint64_t counted_by_lane(const struct sp_lane *lane, enum sp_statistic statistic) {
    switch (statistic) {
    case SP_STATISTIC_ReuseSameStream:
        return read_figure(&lane->hits);
    case SP_STATISTIC_EventsRecorded:
        return read_figure(&lane->records);
    default:
        return 0;
    }
}

static uint64_t counted_by_lanes(struct sp_pool *pool, enum sp_statistic statistic) {
    uint64_t sum = 0;
    sp_lock_acquire(&pool->lock);
    SP_LIST_FOR_EACH(link, &pool->lanes)
        sum += counted_by_lane(SP_CONTAINER_OF(link, struct sp_lane, link), statistic);
    sp_lock_release(&pool->lock);
    return sum;
}

// A record that a lane had counted when counting began anew, and that failed then, would leave less
// than none.
static uint64_t read_statistic(struct sp_pool *pool, enum sp_statistic statistic) {
    uint64_t count = read_figure(&pool->statistics[statistic]) + counted_by_lanes(pool, statistic);
    return (int64_t)count < 0 ? 0 : count;
}

// Counting anew begins at what has been counted: the lanes' own counts are never written by others.
static poolError_t reset_statistic(struct sp_pool *pool, enum sp_statistic statistic,
                                   uint64_t number) {
    if (number != 0)
        return sp_fail(poolErrorInvalidValue, "a statistic can only be set to 0");
    atomic_store_explicit(&pool->statistics[statistic], 0 - counted_by_lanes(pool, statistic),
                          memory_order_relaxed);
    return poolSuccess;
}

poolError_t sp_pool_get_attribute(struct sp_pool *pool, enum poolMemPoolAttr attribute,
                                  void *value) {
    uint64_t number;
    int flag;
    enum sp_statistic statistic = statistic_of(attribute);
    if (statistic < SP_STATISTIC_COUNT) {
        number = read_statistic(pool, statistic);
        memcpy(value, &number, sizeof number);
        return poolSuccess;
    }
    if (read_u64(pool, attribute, &number) || sp_pool_survey(pool, attribute, &number)) {
        memcpy(value, &number, sizeof number);
        return poolSuccess;
    }
    if (read_int(pool, attribute, &flag)) {
        memcpy(value, &flag, sizeof flag);
        return poolSuccess;
    }
    return sp_fail(poolErrorInvalidValue, "%d is not a pool attribute", (int)attribute);
}

static poolError_t check_reset(uint64_t number) {
    return number == 0 ? poolSuccess
                       : sp_fail(poolErrorInvalidValue, "a high figure can only be set to 0");
}

static poolError_t reset_reserved_high(struct sp_pool *pool, uint64_t number) {
    poolError_t error = check_reset(number);
    if (error == poolSuccess)
        atomic_store_explicit(&pool->reserved_high, read_figure(&pool->reserved),
                              memory_order_relaxed);
    return error;
}

static poolError_t reset_used_high(struct sp_pool *pool, uint64_t number) {
    poolError_t error = check_reset(number);
    if (error == poolSuccess)
        sp_figures_reset_used_high(pool);
    return error;
}

static uint64_t number_at(const void *value) {
    uint64_t number;
    memcpy(&number, value, sizeof number);
    return number;
}

static int flag_at(const void *value) {
    int flag;
    memcpy(&flag, value, sizeof flag);
    return flag;
}

// What was pending when the tiers were last looked through may be complete by the other measure.
static poolError_t set_deterministic(struct sp_pool *pool, bool deterministic) {
    sp_pool_close_lanes(pool);
    sp_lock_acquire(&pool->lock);
    atomic_store(&pool->deterministic, deterministic);
    atomic_store(&pool->is_complete,
                 deterministic ? sp_fence_is_synchronized : sp_fence_is_complete);
    pool->settled = UINT64_MAX;
    SP_LIST_FOR_EACH(link, &pool->lanes) {
        struct sp_lane *lane = SP_CONTAINER_OF(link, struct sp_lane, link);
        if (deterministic)
            sp_stream_set_strict(lane->stream);
    }
    sp_pool_share_unfenced(pool);
    sp_lock_release(&pool->lock);
    return poolSuccess;
}

static poolError_t set_unfenced_max(struct sp_pool *pool, uint64_t most) {
    sp_lock_acquire(&pool->lock);
    atomic_store_explicit(&pool->unfenced_max, most, memory_order_relaxed);
    atomic_store_explicit(&pool->unfenced_max_set, true, memory_order_relaxed);
    sp_pool_share_unfenced(pool);
    sp_lock_release(&pool->lock);
    return poolSuccess;
}

static poolError_t set_defragmentation(struct sp_pool *pool, int policy) {
    if (policy < poolDefragmentNever || policy > poolDefragmentBeforeGrowth)
        return sp_fail(poolErrorInvalidValue, "%d is not a policy of defragmentation", policy);
    atomic_store_explicit(&pool->defragmentation, policy, memory_order_relaxed);
    return poolSuccess;
}

// Read by each free, and so in a line that nothing else writes.
_Alignas(64) _Atomic uint32_t sp_pools_promised;

void sp_pool_set_promises(struct sp_pool *pool, int promises) {
    int before = atomic_exchange(&pool->promises, promises);
    if (before == poolPromiseNothing && promises != poolPromiseNothing)
        atomic_fetch_add(&sp_pools_promised, 1);
    else if (before != poolPromiseNothing && promises == poolPromiseNothing)
        atomic_fetch_sub(&sp_pools_promised, 1);
}

// A stream that is remembered for the sake of a promise that has ended may be destroyed in any way
// now, and a default stream may be another context's. It isn't known which those are, so all are
// forgotten. No open lane's stream can be borrowed then before its next call, so what it has freed
// gets an event.
void sp_promises_end(void) {
    for (struct sp_device *device = sp_runtime_next_device(NULL); device;
         device = sp_runtime_next_device(device)) {
        struct sp_pool *pool = NULL;
        while ((pool = sp_device_next_pool(device, pool)))
            sp_pool_fence_open_lanes(pool, NULL, false);
    }
    sp_streams_forget_handles();
}

enum {
    REMEMBERED_BY = poolPromiseStreamDestroy | poolPromiseOneContext,
    ALL_PROMISES =
        REMEMBERED_BY | poolPromiseNoCapture | poolPromiseNeverCapture | poolPromiseNoLegacyOrder
};

// A call that is under way when a promise ends may remember its stream once more; so it is
// forgotten when one is made, too. And what was left without an event while that was promised gets
// one as long as it is.
static poolError_t set_promises(struct sp_pool *pool, int promises) {
    if (promises & ~ALL_PROMISES)
        return sp_fail(poolErrorInvalidValue, "%#x is not a combination of poolStreamPromise",
                       promises);
    int changed = (sp_pool_promises(pool) ^ promises) & REMEMBERED_BY;
    sp_pool_close_lanes(pool);
    sp_lock_acquire(&pool->lock);
    sp_pool_set_promises(pool, promises & ~changed);
    sp_pool_share_unfenced(pool);
    sp_lock_release(&pool->lock);
    if (!changed)
        return poolSuccess;
    sp_promises_end();
    sp_device_reap(pool->device); // what was destroyed while the walk stood on it
    sp_lock_acquire(&pool->lock);
    sp_pool_set_promises(pool, promises);
    sp_pool_share_unfenced(pool);
    sp_lock_release(&pool->lock);
    return poolSuccess;
}

static poolError_t set_reaper(struct sp_pool *pool, bool reaper) {
    atomic_store_explicit(&pool->reaper, reaper, memory_order_relaxed);
    if (sp_pool_has_zombies(pool))
        sp_reaper_call(pool);
    return poolSuccess;
}

poolError_t sp_pool_set_attribute(struct sp_pool *pool, enum poolMemPoolAttr attribute,
                                  const void *value) {
    enum sp_statistic statistic = statistic_of(attribute);
    if (statistic < SP_STATISTIC_COUNT)
        return reset_statistic(pool, statistic, number_at(value));
    switch (attribute) {
    case poolMemPoolReuseFollowEventDependencies:
    case poolMemPoolReuseAllowOpportunistic:
    case poolMemPoolReuseAllowInternalDependencies:
        atomic_store_explicit(&pool->reuse_policies[attribute - 1], flag_at(value) != 0,
                              memory_order_relaxed);
        return poolSuccess;
    case poolMemPoolAttrReleaseThreshold:
        atomic_store_explicit(&pool->release_threshold, number_at(value), memory_order_relaxed);
        return poolSuccess;
    case poolMemPoolAttrUnfencedBytesMax:
        return set_unfenced_max(pool, number_at(value));
    case poolMemPoolAttrHostWaitMax:
        atomic_store_explicit(&pool->host_wait_max, number_at(value), memory_order_relaxed);
        return poolSuccess;
    case poolMemPoolAttrContextWaitMax:
        atomic_store_explicit(&pool->context_wait_max, number_at(value), memory_order_relaxed);
        return poolSuccess;
    case poolMemPoolAttrDeterministic:
        return set_deterministic(pool, flag_at(value) != 0);
    case poolMemPoolAttrContextFence:
        atomic_store_explicit(&pool->context_fence, flag_at(value) != 0, memory_order_relaxed);
        return poolSuccess;
    case poolMemPoolAttrDefragmentation:
        return set_defragmentation(pool, flag_at(value));
    case poolMemPoolAttrRemapTimeMax:
        atomic_store_explicit(&pool->remap_time_max, number_at(value), memory_order_relaxed);
        return poolSuccess;
    case poolMemPoolAttrReleaseDelay:
        sp_keep_set_delay(pool, number_at(value));
        return poolSuccess;
    case poolMemPoolAttrTrimByReaper:
        atomic_store_explicit(&pool->trim_by_reaper, flag_at(value) != 0, memory_order_relaxed);
        return poolSuccess;
    case poolMemPoolAttrStreamPromises:
        return set_promises(pool, flag_at(value));
    case poolMemPoolAttrReaper:
        return set_reaper(pool, flag_at(value) != 0);
    case poolMemPoolAttrReservedMemHigh:
        return reset_reserved_high(pool, number_at(value));
    case poolMemPoolAttrUsedMemHigh:
        return reset_used_high(pool, number_at(value));
    default:
        return sp_fail(poolErrorInvalidValue, "%d is not a pool attribute that can be set",
                       (int)attribute);
    }
}
