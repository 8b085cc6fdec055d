#include "tell/tell.h"

#include "base/time.h"
#include "region/device.h"
#include "region/figures.h"
#include "tell/statistic.h"

static _Atomic bool keeps_destroyed;
static struct sp_lock lock; // guards `destroyed`
static struct sp_tell_pool destroyed = {.kind = SP_TELL_DESTROYED, .device = -1};

struct sp_tell_pool sp_tell_read(struct sp_pool *pool) {
    static const enum poolMemPoolAttr attributes[] = {
#define ATTRIBUTE(name, number, text) poolMemPoolStat##name,
        STREAMPOOL_POOL_STATISTICS(ATTRIBUTE)
#undef ATTRIBUTE
    };
    struct sp_tell_pool told = {
        .kind = pool == pool->device->default_pool ? SP_TELL_DEFAULT : SP_TELL_OTHER,
        .device = pool->device->vmm.ordinal,
        .count = 1,
        .used_high = sp_load_relaxed(&pool->figures.used_high),
        .reserved_high = sp_load_relaxed(&pool->reserved_high),
    };
    for (size_t i = 0; i < SP_TELL_STATISTICS; i++)
        sp_statistic_read(pool, attributes[i], &told.statistics[i]);
    return told;
}

static void keep_most(uint64_t *most, uint64_t number) {
    if (*most < number)
        *most = number;
}

void sp_tell_add(struct sp_tell_pool *sum, const struct sp_tell_pool *pool) {
    sum->count += pool->count;
    keep_most(&sum->used_high, pool->used_high);
    keep_most(&sum->reserved_high, pool->reserved_high);
    for (size_t i = 0; i < SP_TELL_STATISTICS; i++)
        sum->statistics[i] += pool->statistics[i];
}

// ------------------------------------------------------------------------------- destroyed pools

void sp_tell_keep_destroyed(void) {
    sp_store_relaxed(&keeps_destroyed, true);
}

bool sp_tell_keeps_destroyed(void) {
    return sp_load_relaxed(&keeps_destroyed);
}

void sp_tell_note_destroyed(struct sp_pool *pool) {
    if (!sp_tell_keeps_destroyed() || sp_load_relaxed(&pool->reserved_high) == 0)
        return;
    struct sp_tell_pool told = sp_tell_read(pool);
    sp_lock_acquire(&lock);
    sp_tell_add(&destroyed, &told);
    sp_lock_release(&lock);
}

static bool visit_destroyed(void (*visit)(const struct sp_tell_pool *, void *), void *data) {
    if (!sp_lock_try_for(&lock, SP_SECOND))
        return false;
    struct sp_tell_pool told = destroyed;
    sp_lock_release(&lock);
    if (told.count > 0)
        visit(&told, data);
    return true;
}

// ---------------------------------------------------------------------------------- living pools

// Reading takes the pool's lock.
static bool visit_pool(struct sp_pool *pool, void (*visit)(const struct sp_tell_pool *, void *),
                       void *data) {
    if (sp_load_relaxed(&pool->destroyed) || sp_load_relaxed(&pool->reserved_high) == 0)
        return true;
    if (!sp_lock_try_for(&pool->lock, SP_SECOND))
        return false;
    sp_lock_release(&pool->lock);
    struct sp_tell_pool told = sp_tell_read(pool);
    visit(&told, data);
    return true;
}

static bool visit_device(struct sp_device *device,
                         void (*visit)(const struct sp_tell_pool *, void *), void *data) {
    bool whole = true;
    if (!sp_lock_try_for(&device->lock, SP_SECOND))
        return false;
    SP_LIST_FOR_EACH(link, &device->pools)
        whole =
            whole && visit_pool(SP_CONTAINER_OF(link, struct sp_pool, listing.link), visit, data);
    sp_lock_release(&device->lock);
    return whole;
}

bool sp_tell_visit(void (*visit)(const struct sp_tell_pool *pool, void *data), void *data) {
    struct sp_device *device = NULL;
    while ((device = sp_device_next(device))) {
        if (!visit_device(device, visit, data))
            return false;
    }
    return visit_destroyed(visit, data);
}
