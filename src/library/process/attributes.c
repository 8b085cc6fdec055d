#include "process/attributes.h"

#include "base/log.h"
#include "base/options.h"
#include "base/thread.h"
#include "process/given_up.h"
#include "process/promises.h"
#include "region/ask.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/fail.h"
#include "region/figures.h"
#include "region/held.h"
#include "region/lane.h"
#include "region/retain.h"
#include "supply/defer.h"
#include "supply/remap.h"
#include "tell/statistic.h"

#include <streampool/lists.h>
#include <string.h>

// The type of a field of struct sp_pool.
enum field {
    NO_FIELD,
    NUMBER,   // _Atomic uint64_t
    INTEGER,  // _Atomic int
    FLAG,     // _Atomic bool: any number but 0 sets it
    PROPERTY, // int or an enum, which stays
    SIZE,     // size_t, which stays
};

// Without `read` and `write` the field is read and written as it is, and an attribute with no field
// is `initial`. One that can't be written has no field, or `is_figure`, and no `write`. A high
// figure can be set to 0 alone, by `reset`: it begins again at what there is. An overflow has what
// its pool has of those that are marked so; for others it has the default.
struct attribute {
    enum poolMemPoolAttr number;
    enum field field;
    size_t offset;
    bool is_figure;
    bool is_overflows;
    uint64_t initial; // the field's
    uint64_t (*read)(const struct sp_pool *pool);
    poolError_t (*write)(struct sp_pool *pool, uint64_t value);
    void (*reset)(struct sp_pool *pool);
};

static uint64_t virtual_memory(const struct sp_pool *pool) {
    return sp_vmm_provider(&pool->device->vmm)->joins;
}

static uint64_t promises(const struct sp_pool *pool) {
    return (uint64_t)sp_pool_promises(pool);
}

static void reset_reserved_high(struct sp_pool *pool) {
    sp_store_relaxed(&pool->reserved_high, sp_figures_resident(pool));
}

// The measure changes, so memory that was pending at the last look may be complete by the other.
static poolError_t set_deterministic(struct sp_pool *pool, uint64_t number) {
    bool deterministic = number != 0;
    sp_ask_and_close_lanes(pool);
    sp_lock_acquire(&pool->lock);
    atomic_store(&pool->attributes.deterministic, deterministic);
    atomic_store(&pool->is_complete,
                 deterministic ? sp_progress_is_synchronized : sp_progress_is_complete);
    pool->settled = pool->settled_lanes = UINT64_MAX;
    SP_LIST_FOR_EACH_OF(struct sp_lane, lane, link, &pool->lanes.list) {
        if (deterministic)
            sp_progress_set_strict(lane->stream);
    }
    sp_held_deal(pool, false);
    sp_lock_release(&pool->lock);
    return poolSuccess;
}

static poolError_t set_unfenced_max(struct sp_pool *pool, uint64_t most) {
    sp_lock_acquire(&pool->lock);
    bool held = sp_held_max(pool) > 0;
    sp_store_relaxed(&pool->attributes.unfenced_max, most);
    sp_store_relaxed(&pool->attributes.unfenced_max_set, true);
    if (held != (most > 0)) // each free looks at how much it is
        sp_held_deal(pool, false);
    sp_lock_release(&pool->lock);
    return poolSuccess;
}

static poolError_t set_defragmentation(struct sp_pool *pool, uint64_t number) {
    int policy = (int)number;
    if (policy < poolDefragmentNever || policy > poolDefragmentBeforeGrowth)
        return sp_fail(poolErrorInvalidValue,
                       "poolMemPoolAttrDefragmentation can't be %d, which is no policy", policy);
    sp_store_relaxed(&pool->attributes.defragmentation, policy);
    return poolSuccess;
}

static poolError_t set_promises(struct sp_pool *pool, uint64_t number) {
    poolError_t error = sp_promises_change(pool, (int)number);
    sp_given_up_reap(pool->device); // what was destroyed while the walk stood on it
    return error;
}

static poolError_t set_reaper(struct sp_pool *pool, uint64_t number) {
    sp_store_relaxed(&pool->attributes.reaper, number != 0);
    if (sp_pool_has_zombies(pool))
        sp_defer_call(pool);
    return poolSuccess;
}

// While there was no delay, memory in use was not counted by intervals.
static poolError_t set_release_delay(struct sp_pool *pool, uint64_t synchronizes) {
    sp_lock_acquire(&pool->lock);
    if (synchronizes == 0 || !sp_retain_has_delay(pool))
        sp_retain_forget(pool);
    sp_store_relaxed(&pool->retain.release_delay, synchronizes);
    sp_lock_release(&pool->lock);
    return poolSuccess;
}

// Memory of the host is a stranger's to what leaves the process, or another device's reach.
static poolError_t set_host_overflow_max(struct sp_pool *pool, uint64_t most) {
    const struct sp_vmm_device *device = &pool->device->vmm;
    int node;
    if (most > 0 && device->ordinal < 0)
        return sp_fail(poolErrorNotSupported, "only pools of devices overflow to the host");
    if (most > 0 && (pool->props.handleTypes != poolMemHandleTypeNone || pool->props.reserved[0]))
        return sp_fail(poolErrorNotSupported,
                       "a pool whose memory is exported, or accessed directly by other devices, "
                       "doesn't overflow to the host");
    struct sp_outcome found = sp_outcome_done();
    if (most > 0)
        found = sp_vmm_provider(device)->joins ? sp_vmm_device_node_beside(device, &node)
                                               : sp_outcome_of(SP_NOT_SUPPORTED);
    if (found.cause == SP_NOT_SUPPORTED)
        return sp_fail(poolErrorNotSupported,
                       "the driver maps no memory of the host, so nothing overflows to it");
    if (!sp_is_done(found))
        return sp_fail_outcome(found, "looking for the host's memory beside the device");
    atomic_store(&pool->attributes.host_overflow_max, most); // before the look for an overflow
    struct sp_pool *overflow = atomic_load(&pool->overflow);
    if (overflow)
        sp_store_relaxed(&overflow->limit, most);
    return poolSuccess;
}

#define FIELD(type, name)  .field = (type), .offset = offsetof(struct sp_pool, name)
#define FIGURE(type, name) FIELD(type, name), .is_figure = true

static const struct attribute table[] = {
    {poolMemPoolReuseFollowEventDependencies, FIELD(FLAG, attributes.reuse_policies[0]),
     .initial = 1, .is_overflows = true},
    {poolMemPoolReuseAllowOpportunistic, FIELD(FLAG, attributes.reuse_policies[1]), .initial = 1,
     .is_overflows = true},
    {poolMemPoolReuseAllowInternalDependencies, FIELD(FLAG, attributes.reuse_policies[2]),
     .initial = 1, .is_overflows = true},
    {poolMemPoolAttrReleaseThreshold, FIELD(NUMBER, attributes.release_threshold)},
    {poolMemPoolAttrReservedMemCurrent, FIGURE(NUMBER, reserved), .read = sp_figures_resident},
    {poolMemPoolAttrReservedMemHigh, FIGURE(NUMBER, reserved_high), .reset = reset_reserved_high},
    {poolMemPoolAttrUsedMemCurrent, .read = sp_figures_used_whole},
    {poolMemPoolAttrUsedMemHigh, FIGURE(NUMBER, figures.used_high),
     .read = sp_figures_used_high_whole, .reset = sp_figures_reset_used_high},
    {poolMemPoolAttrAllocationType, FIGURE(PROPERTY, props.allocType)},
    {poolMemPoolAttrExportHandleTypes, FIGURE(PROPERTY, props.handleTypes)},
    {poolMemPoolAttrLocationId, FIGURE(PROPERTY, props.location.id)},
    {poolMemPoolAttrLocationType, FIGURE(PROPERTY, props.location.type)},
    {poolMemPoolAttrMaxPoolSize, FIGURE(SIZE, props.maxSize)},
    {poolMemPoolAttrHwDecompressEnabled, .initial = false},
    {poolMemPoolAttrLocalityDomainId, .initial = (uint64_t)-1}, // none
    {poolMemPoolAttrUnfencedBytesMax, FIELD(NUMBER, attributes.unfenced_max), .read = sp_held_max,
     .write = set_unfenced_max, .is_overflows = true}, // sp_held_max() has its value in a new pool
    {poolMemPoolAttrHostWaitMax, FIELD(NUMBER, attributes.host_wait_max)},
    {poolMemPoolAttrDeterministic, FIELD(FLAG, attributes.deterministic),
     .write = set_deterministic, .is_overflows = true},
    {poolMemPoolAttrContextFence, FIELD(FLAG, attributes.context_fence)},
    {poolMemPoolAttrDefragmentation, FIELD(INTEGER, attributes.defragmentation),
     .initial = poolDefragmentBeforeGrowth, .write = set_defragmentation, .is_overflows = true},
    {poolMemPoolAttrRemapTimeMax, FIELD(NUMBER, attributes.remap_time_max),
     .initial = SP_REMAP_TIME_MAX, .is_overflows = true},
    {poolMemPoolAttrTrimByReaper, FIELD(FLAG, attributes.trim_by_reaper), .is_overflows = true},
    {poolMemPoolAttrReaper, FIELD(FLAG, attributes.reaper), .initial = 1, .write = set_reaper,
     .is_overflows = true},
    {poolMemPoolAttrStreamPromises, .read = promises, .write = set_promises},
    {poolMemPoolAttrReleaseDelay, FIELD(NUMBER, retain.release_delay), .write = set_release_delay},
    {poolMemPoolAttrContextWaitMax, FIELD(NUMBER, attributes.context_wait_max),
     .initial = SP_SECOND},
    {poolMemPoolAttrVirtualMemory, .read = virtual_memory},
    {poolMemPoolAttrGrowthBeyondUse, FIELD(NUMBER, attributes.growth_beyond_use),
     .initial = UINT64_MAX},
    {poolMemPoolAttrHostOverflowMax, FIELD(NUMBER, attributes.host_overflow_max),
     .write = set_host_overflow_max},
};
enum { ATTRIBUTES = sizeof table / sizeof table[0] };

// Null when there is none.
static const struct attribute *find(enum poolMemPoolAttr number) {
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        if (table[i].number == number)
            return &table[i];
    }
    return NULL;
}

static uint64_t load(const struct sp_pool *pool, const struct attribute *entry) {
    const char *field = (const char *)pool + entry->offset;
    switch (entry->field) {
    case NUMBER:
        return sp_load_acquire((const _Atomic uint64_t *)field);
    case INTEGER:
        return (uint64_t)sp_load_relaxed((const _Atomic int *)field);
    case FLAG:
        return sp_load_relaxed((const _Atomic bool *)field);
    case PROPERTY:
        return (uint64_t) * (const int *)field;
    case SIZE:
        return *(const size_t *)field;
    default:
        return entry->initial;
    }
}

static void store(struct sp_pool *pool, const struct attribute *entry, uint64_t value) {
    char *field = (char *)pool + entry->offset;
    switch (entry->field) {
    case NUMBER:
        sp_store_relaxed((_Atomic uint64_t *)field, value);
        break;
    case INTEGER:
        sp_store_relaxed((_Atomic int *)field, (int)value);
        break;
    case FLAG:
        sp_store_relaxed((_Atomic bool *)field, value != 0);
        break;
    default:
        break;
    }
}

// The attribute by the public list; that of a null name for statistics and what is none.
static const struct sp_option_attribute *listed(enum poolMemPoolAttr number) {
    const struct sp_option_attribute *entry = sp_option_attributes;
    while (entry->name && entry->attribute != number)
        entry++;
    return entry;
}

// Statistics are uint64_t.
static bool is_int(enum poolMemPoolAttr number) {
    return listed(number)->is_int;
}

// Refuses a call about an attribute by its name, or by its number where it has none.
static poolError_t refuse(enum poolMemPoolAttr number, const char *why) {
    const char *attribute = listed(number)->name, *statistic = sp_statistic_name(number);
    if (!attribute && !statistic)
        return sp_fail(poolErrorInvalidValue, "%d is not a pool attribute", (int)number);
    return sp_fail(poolErrorInvalidValue, "%s%s %s", attribute ? "" : "poolMemPoolStat",
                   attribute ? attribute : statistic, why);
}

static uint64_t value_at(enum poolMemPoolAttr number, const void *value) {
    uint64_t wide;
    int narrow;
    if (is_int(number)) {
        memcpy(&narrow, value, sizeof narrow);
        return (uint64_t)narrow;
    }
    memcpy(&wide, value, sizeof wide);
    return wide;
}

void sp_attributes_init(struct sp_pool *pool) {
    for (size_t i = 0; i < ATTRIBUTES; i++)
        store(pool, &table[i], table[i].initial);
    atomic_store(&pool->attributes.unfenced_max_set, false);
    sp_promises_set(pool, poolPromiseNothing);
}

poolError_t sp_attributes_get(struct sp_pool *pool, enum poolMemPoolAttr attribute, void *value) {
    const struct attribute *entry = find(attribute);
    uint64_t number;
    if (!value)
        return refuse(attribute, "can't be read: value is null");
    if (attribute == poolMemPoolStatLargestFree || attribute == poolMemPoolStatLargestRemapped)
        sp_collect_all(pool);
    if (entry)
        number = entry->read ? entry->read(pool) : load(pool, entry);
    else if (!sp_statistic_read(pool, attribute, &number))
        return refuse(attribute, "");
    int narrow = (int)number;
    if (is_int(attribute))
        memcpy(value, &narrow, sizeof narrow);
    else
        memcpy(value, &number, sizeof number);
    return poolSuccess;
}

static poolError_t write(struct sp_pool *pool, const struct attribute *entry, uint64_t value) {
    if (entry->write)
        return entry->write(pool, value);
    store(pool, entry, value);
    return poolSuccess;
}

// Whoever publishes an overflow reads the attributes once more then: so one of the two sees it.
static poolError_t write_both(struct sp_pool *pool, const struct attribute *entry, uint64_t value) {
    poolError_t error = write(pool, entry, value);
    sp_lock_acquire(&pool->lock);
    struct sp_pool *overflow = sp_load_acquire(&pool->overflow);
    sp_lock_release(&pool->lock);
    if (error == poolSuccess && overflow && entry->is_overflows)
        error = write(overflow, entry, value);
    return error;
}

void sp_attributes_follow(struct sp_pool *overflow, const struct sp_pool *pool) {
    for (size_t i = 0; i < ATTRIBUTES; i++) {
        const struct attribute *entry = &table[i];
        if (entry->is_overflows)
            write(overflow, entry, entry->read ? entry->read(pool) : load(pool, entry));
    }
    uint64_t most;
    do { // who sets it meanwhile may have set the limit before this does
        most = atomic_load(&pool->attributes.host_overflow_max);
        atomic_store(&overflow->limit, most);
    } while (atomic_load(&pool->attributes.host_overflow_max) != most);
}

poolError_t sp_attributes_set(struct sp_pool *pool, enum poolMemPoolAttr attribute,
                              const void *value) {
    const struct attribute *entry = find(attribute);
    enum sp_statistic statistic = sp_statistic_of(attribute);
    if (!value)
        return refuse(attribute, "can't be set: value is null");
    if (entry && (entry->write || (entry->field != NO_FIELD && !entry->is_figure)))
        return write_both(pool, entry, value_at(attribute, value));
    if (!(entry && entry->reset) && statistic == SP_STATISTIC_COUNT)
        return refuse(attribute, "is read only");
    if (value_at(attribute, value) != 0)
        return refuse(attribute, "can only be set to 0");
    // Counting anew begins at what has been counted.
    if (entry)
        entry->reset(pool);
    else
        sp_store_relaxed(&pool->statistics[statistic], 0 - sp_statistic_of_lanes(pool, statistic));
    return poolSuccess;
}

// ------------------------------------------------------------------------------ the environment's

// A bit for each setting of STREAMPOOL_POOL says what was told of it, and if it was for a pool that
// there was. The last bit is that of all further ones.
static _Atomic uint64_t told_of, was_for_some;

static uint64_t next(uint64_t bit) {
    return bit << 1 ? bit << 1 : bit;
}

static void ignore(const char *text, uint64_t bit, const char *why) {
    if (!(atomic_fetch_or(&told_of, bit) & bit))
        sp_log_write("STREAMPOOL_POOL: '%s' is ignored: %s", text, why);
}

static void apply(struct sp_pool *pool, const char *text, uint64_t bit,
                  const struct sp_option_setting *setting) {
    int narrow = (int)setting->value;
    const void *value = setting->is_int ? (const void *)&narrow : (const void *)&setting->value;
    atomic_fetch_or(&was_for_some, bit);
    bool is_for_devices = setting->attribute == poolMemPoolAttrHostOverflowMax && !*setting->pool;
    if (is_for_devices && pool->device->vmm.ordinal < 0)
        return; // it is for all default pools, of which some are of the host
    if (sp_attributes_set(pool, setting->attribute, value) != poolSuccess)
        ignore(text, bit, sp_fail_detail());
}

void sp_attributes_preset(struct sp_pool *pool, const char *name) {
    const char *list = sp_options()->pool, *why;
    char text[SP_SETTING_TEXT];
    struct sp_option_setting setting;
    poolError_t unread = sp_fail_unread();
    for (uint64_t bit = 1; list && *list; bit = next(bit)) {
        if (!sp_options_next_setting(&list, text))
            ignore(text, bit, "it is too long");
        else if (*text && (why = sp_options_read_setting(text, &setting)))
            ignore(text, bit, why);
        else if (*text && strcmp(setting.pool, name) == 0)
            apply(pool, text, bit, &setting);
    }
    sp_fail_set_unread(unread);
}

void sp_attributes_tell_unused(void) {
    const char *list = sp_options()->pool;
    char text[SP_SETTING_TEXT];
    struct sp_option_setting setting;
    for (uint64_t bit = 1; list && *list; bit = next(bit))
        if (sp_options_next_setting(&list, text) && !sp_options_read_setting(text, &setting) &&
            *setting.pool && !(atomic_load(&was_for_some) & bit))
            ignore(text, bit, "no pool had this name");
}
