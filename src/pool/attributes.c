// Attributes: one function that reads and one that writes; what each means is said in the public header.
#include "pool/figures.h"
#include "pool/runtime.h"

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
        *value = read_figure(&pool->used);
        return true;
    case poolMemPoolAttrUsedMemHigh:
        *value = read_figure(&pool->used_high);
        return true;
    case poolMemPoolAttrMaxPoolSize:
        *value = pool->props.maxSize;
        return true;
    case poolMemPoolAttrUnfencedBytesMax:
        *value = read_figure(&pool->unfenced_max);
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

poolError_t sp_pool_get_attribute(struct sp_pool *pool, enum poolMemPoolAttr attribute, void *value) {
    uint64_t number;
    int flag;
    if (read_u64(pool, attribute, &number)) {
        memcpy(value, &number, sizeof number);
        return poolSuccess;
    }
    if (read_int(pool, attribute, &flag)) {
        memcpy(value, &flag, sizeof flag);
        return poolSuccess;
    }
    return sp_fail(poolErrorInvalidValue, "%d is not a pool attribute", (int)attribute);
}

static poolError_t reset_high(_Atomic uint64_t *high, const _Atomic uint64_t *current, uint64_t number) {
    if (number != 0)
        return sp_fail(poolErrorInvalidValue, "a high figure can only be set to 0");
    atomic_store_explicit(high, read_figure(current), memory_order_relaxed);
    return poolSuccess;
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

poolError_t sp_pool_set_attribute(struct sp_pool *pool, enum poolMemPoolAttr attribute, const void *value) {
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
        atomic_store_explicit(&pool->unfenced_max, number_at(value), memory_order_relaxed);
        return poolSuccess;
    case poolMemPoolAttrReservedMemHigh:
        return reset_high(&pool->reserved_high, &pool->reserved, number_at(value));
    case poolMemPoolAttrUsedMemHigh:
        return reset_high(&pool->used_high, &pool->used, number_at(value));
    default:
        return sp_fail(poolErrorInvalidValue, "%d is not a pool attribute that can be set", (int)attribute);
    }
}
