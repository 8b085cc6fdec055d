// Our pool, made for the purpose or the default one of the device; and pools of the host's memory,
// which the device may use, too.
#include "subject.h"

#include <streampool/streampool.h>
#include <string.h>

// An attribute that is an int has the low half.
static int set(const struct subject *subject, int attribute, uint64_t value) {
    return (int)poolMemPoolSetAttribute(subject->pool, (enum poolMemPoolAttr)attribute, &value);
}

static int set_up(struct subject *subject, poolMemPool_t pool, uint64_t threshold) {
    subject->pool = pool;
    subject->threshold = threshold;
    int error = set(subject, poolMemPoolAttrReleaseThreshold, threshold);
    return error || !subject->attribute ? error : set(subject, subject->attribute, subject->value);
}

static int open_with(struct subject *subject, uint64_t threshold,
                     const struct poolMemPoolProps *props) {
    poolMemPool_t pool = NULL;
    poolError_t error = poolMemPoolCreate(&pool, props);
    return error == poolSuccess ? set_up(subject, pool, threshold) : (int)error;
}

static int open_ours(struct subject *subject, uint64_t threshold) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeDevice, 0},
                                     .maxSize = subject->limit};
    return open_with(subject, threshold, &props);
}

static int open_on_host(struct subject *subject, uint64_t threshold, enum poolMemLocationType place,
                        unsigned short usage) {
    const struct poolMemPoolProps props = {
        .allocType = poolMemAllocationTypePinned, .location = {place, 0}, .usage = usage};
    const struct poolMemAccessDesc device = {{poolMemLocationTypeDevice, 0},
                                             poolMemAccessFlagsProtReadWrite};
    int error = open_with(subject, threshold, &props);
    return error ? error : (int)poolMemPoolSetAccess(subject->pool, &device, 1);
}

static int open_host(struct subject *subject, uint64_t threshold) {
    return open_on_host(subject, threshold, poolMemLocationTypeHost, 0);
}

static int open_node(struct subject *subject, uint64_t threshold) {
    return open_on_host(subject, threshold, poolMemLocationTypeHostNuma, 0);
}

static int open_staging(struct subject *subject, uint64_t threshold) {
    return open_on_host(subject, threshold, poolMemLocationTypeHost, poolMemPoolUsageStaging);
}

static int open_managed(struct subject *subject, uint64_t threshold) {
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypeManaged,
                                           .location = {poolMemLocationTypeDevice, 0}};
    return open_with(subject, threshold, &props);
}

static int prime_ours(const struct subject *subject, uint64_t bytes) {
    return (int)poolMemPoolPrime(subject->pool, bytes);
}

static int close_ours(struct subject *subject) {
    poolError_t error = subject->pool ? poolMemPoolDestroy(subject->pool) : poolSuccess;
    subject->pool = NULL;
    return (int)error;
}

static int open_default(struct subject *subject, uint64_t threshold) {
    poolMemPool_t pool = NULL;
    poolError_t error = poolDeviceGetDefaultMemPool(&pool, 0);
    subject->value_before = 0;
    if (error == poolSuccess && subject->attribute)
        error = poolMemPoolGetAttribute(pool, (enum poolMemPoolAttr)subject->attribute,
                                        &subject->value_before);
    return error == poolSuccess ? set_up(subject, pool, threshold) : (int)error;
}

// It stays as it was found: the threshold that a device's default pool begins with is 0.
static int restore(const struct subject *subject) {
    int error = set(subject, poolMemPoolAttrReleaseThreshold, 0);
    if (!error && subject->attribute)
        error = set(subject, subject->attribute, subject->value_before);
    return error ? error : (int)poolMemPoolTrimTo(subject->pool, 0);
}

static int close_default(struct subject *subject) {
    int error = subject->pool ? restore(subject) : 0;
    subject->pool = NULL;
    return error;
}

static int allocate_ours(const struct subject *subject, void **pointer, size_t size,
                         CUstream stream) {
    return (int)poolMallocFromPoolAsync(pointer, size, subject->pool, stream);
}

static int allocate_default(const struct subject *subject, void **pointer, size_t size,
                            CUstream stream) {
    (void)subject;
    return (int)poolMallocAsync(pointer, size, stream);
}

static int allocate_at_once(const struct subject *subject, void **pointer, size_t size,
                            CUstream stream) {
    (void)stream;
    return (int)poolMallocFromPool(pointer, size, subject->pool);
}

static int release_at_once(const struct subject *subject, void *pointer, CUstream stream) {
    (void)subject, (void)stream;
    return (int)poolFree(pointer);
}

static int release_ours(const struct subject *subject, void *pointer, CUstream stream) {
    (void)subject;
    return (int)poolFreeAsync(pointer, stream);
}

static int synchronize_ours(const struct subject *subject, CUstream stream) {
    (void)subject;
    return (int)poolStreamSynchronize(stream);
}

static int record_ours(const struct subject *subject, CUevent event, CUstream stream) {
    (void)subject;
    return (int)poolEventRecord(event, stream);
}

static int wait_ours(const struct subject *subject, CUstream stream, CUevent event) {
    (void)subject;
    return (int)poolStreamWaitEvent(stream, event, 0);
}

static int set_policy_ours(const struct subject *subject, int policy, int on) {
    return (int)poolMemPoolSetAttribute(subject->pool, (enum poolMemPoolAttr)policy, &on);
}

static int reserved_ours(const struct subject *subject, uint64_t *bytes) {
    return (int)poolMemPoolGetAttribute(subject->pool, poolMemPoolAttrReservedMemCurrent, bytes);
}

static int reserved_high_ours(const struct subject *subject, uint64_t *bytes) {
    return (int)poolMemPoolGetAttribute(subject->pool, poolMemPoolAttrReservedMemHigh, bytes);
}

static int set_again_ours(const struct subject *subject) {
    uint64_t value = 0;
    poolMemPoolGetAttribute(subject->pool, poolMemPoolAttrUnfencedBytesMax, &value);
    return set(subject, poolMemPoolAttrUnfencedBytesMax, value);
}

static int trim_ours(const struct subject *subject) {
    return (int)poolMemPoolTrimTo(subject->pool, 0);
}

static int synchronize_all_ours(const struct subject *subject) {
    (void)subject;
    return (int)poolDeviceSynchronize();
}

// By name: not every version of the library counts everything.
static bool statistic(const struct subject *subject, const char *wanted, uint64_t *count) {
    const char *name;
    for (int number = poolMemPoolStatReuseSameStream;
         (name = poolMemPoolGetStatisticName((enum poolMemPoolAttr)number)); number++)
        if (strcmp(name, wanted) == 0)
            return poolMemPoolGetAttribute(subject->pool, (enum poolMemPoolAttr)number, count) ==
                   poolSuccess;
    return false;
}

static struct remapped remapped_ours(const struct subject *subject) {
    struct remapped remapped = {0};
    uint64_t without_mapping = 0;
    statistic(subject, "Remaps", &remapped.calls);
    statistic(subject, "KeptViewsUsed", &without_mapping);
    remapped.calls -= without_mapping;
    remapped.has_extents = statistic(subject, "RemappedExtents", &remapped.extents) &&
                           statistic(subject, "RemappedBytes", &remapped.bytes);
    return remapped;
}

static struct held held_ours(const struct subject *subject) {
    struct held held = {0};
    poolMemPoolGetAttribute(subject->pool, poolMemPoolStatKeptMappings, &held.mappings);
    poolMemPoolGetAttribute(subject->pool, poolMemPoolStatAddressSpace, &held.address_space);
    poolMemPoolGetAttribute(subject->pool, poolMemPoolStatReaperTime, &held.reaper_time);
    poolMemPoolGetAttribute(subject->pool, poolMemPoolStatBytesReleasedByReaper,
                            &held.reaper_bytes);
    return held;
}

// ------------------------------------------------------------------------------------ the subjects

#define FUNCTIONS .release = release_ours, REMAINING_FUNCTIONS

#define REMAINING_FUNCTIONS                                                                        \
    .synchronize = synchronize_ours, .record = record_ours, .wait = wait_ours,                     \
    .set_policy = set_policy_ours, .reserved = reserved_ours, .reserved_high = reserved_high_ours, \
    .trim = trim_ours, .set_again = set_again_ours, .synchronize_all = synchronize_all_ours,       \
    .remapped = remapped_ours, .held = held_ours, .detail = poolGetLastErrorDetail

const struct subject subject_ours = {
    .open = open_ours, .close = close_ours, .allocate = allocate_ours, FUNCTIONS};

const struct subject subject_reaper = {.open = open_ours,
                                       .close = close_ours,
                                       .allocate = allocate_ours,
                                       .attribute = poolMemPoolAttrTrimByReaper,
                                       .value = 1,
                                       FUNCTIONS};

const struct subject subject_bounded = {.open = open_ours,
                                        .close = close_ours,
                                        .allocate = allocate_ours,
                                        .attribute = poolMemPoolAttrGrowthBeyondUse,
                                        .value = 20,
                                        FUNCTIONS};

const struct subject subject_ours_default = {
    .open = open_default, .close = close_default, .allocate = allocate_default, FUNCTIONS};

enum {
    PROMISES = poolPromiseStreamDestroy | poolPromiseNoCapture | poolPromiseNeverCapture |
               poolPromiseOneContext | poolPromiseNoLegacyOrder
};

const struct subject subject_promised = {.open = open_ours,
                                         .close = close_ours,
                                         .allocate = allocate_ours,
                                         .attribute = poolMemPoolAttrStreamPromises,
                                         .value = PROMISES,
                                         FUNCTIONS};

const struct subject subject_promised_default = {.open = open_default,
                                                 .close = close_default,
                                                 .allocate = allocate_default,
                                                 .attribute = poolMemPoolAttrStreamPromises,
                                                 .value = PROMISES,
                                                 FUNCTIONS};

const struct subject subject_delayed = {.open = open_ours,
                                        .close = close_ours,
                                        .allocate = allocate_ours,
                                        .attribute = poolMemPoolAttrReleaseDelay,
                                        .value = 1,
                                        FUNCTIONS};

const struct subject subject_primed = {.open = open_ours,
                                       .prime = prime_ours,
                                       .close = close_ours,
                                       .allocate = allocate_ours,
                                       FUNCTIONS};

// ---------------------------------------------------------------------------- of the host's memory

const struct subject subject_device = {
    .open = open_ours, .close = close_ours, .allocate = allocate_ours, FUNCTIONS};

#define ON_HOST .prime = prime_ours, .close = close_ours

const struct subject subject_host = {
    .open = open_host, ON_HOST, .allocate = allocate_ours, FUNCTIONS};

const struct subject subject_at_once = {.open = open_host,
                                        ON_HOST,
                                        .allocate = allocate_at_once,
                                        .release = release_at_once,
                                        REMAINING_FUNCTIONS};

const struct subject subject_node = {
    .open = open_node, ON_HOST, .allocate = allocate_ours, FUNCTIONS};

const struct subject subject_staging = {
    .open = open_staging, ON_HOST, .allocate = allocate_ours, FUNCTIONS};

const struct subject subject_managed = {
    .open = open_managed, ON_HOST, .allocate = allocate_ours, FUNCTIONS};
