// The calls that create, destroy, set, trim and prime pools, those about the pools of a device, and
// that which tells what an address is.
#include "api/api.h"
#include "calls/prime.h"
#include "calls/residency.h"
#include "order/context.h"
#include "process/attributes.h"
#include "process/given_up.h"
#include "process/life.h"
#include "process/observe.h"
#include "region/ask.h"
#include "region/collect.h"
#include "supply/access.h"
#include "supply/trim.h"
#include "tell/explain.h"
#include "tell/name.h"
#include "tell/pointer.h"
#include "tell/statistic.h"
#include "tell/tell.h"
#include "tell/text.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

// A 64-bit process can address no more bytes than this.
#define LARGEST_POOL ((size_t)1 << 57)

// The driver's version that knows parts of devices, and pools whose memory other devices access.
#define WITH_LOCALITY_DOMAINS 13040

// ------------------------------------------------------------------------------- creating, places

static poolError_t refuse_location(const struct poolMemLocation *location,
                                   enum poolMemAllocationType type) {
    return sp_fail(poolErrorInvalidValue, "location type %d is none of %s memory",
                   (int)location->type,
                   type == poolMemAllocationTypeManaged ? "managed" : "pinned");
}

// Says which place a location is for memory of a type, which is pinned or managed.
static poolError_t find_place(const struct poolMemLocation *location,
                              enum poolMemAllocationType type, struct sp_place *place) {
    unsigned node;
    bool is_managed = type == poolMemAllocationTypeManaged;
    *place = (struct sp_place){.location = {(CUmemLocationType)location->type, 0},
                               .is_managed = is_managed};
    switch ((int)location->type) {
    case poolMemLocationTypeDevice:
        place->location.id = location->id;
        return poolSuccess;
    case poolMemLocationTypeHostNuma:
        place->location.id = location->id;
        return location->id >= 0
                   ? poolSuccess
                   : sp_fail(poolErrorInvalidValue, "there is no NUMA node %d", location->id);
    case poolMemLocationTypeHost:
        return poolSuccess;
    case poolMemLocationTypeNone:
        return is_managed ? poolSuccess : refuse_location(location, type);
    case poolMemLocationTypeHostNumaCurrent:
        if (!is_managed)
            return refuse_location(location, type);
        place->location.type = CU_MEM_LOCATION_TYPE_HOST_NUMA;
        place->location.id = getcpu(NULL, &node) == 0 ? (int)node : 0;
        return poolSuccess;
    default:
        return is_managed || (location->type == poolMemLocationTypeDeviceLocalityDomain &&
                              sp_driver_is_from(WITH_LOCALITY_DOMAINS))
                   ? sp_fail(poolErrorNotSupported, "there are no pools at location type %d",
                             (int)location->type)
                   : refuse_location(location, type);
    }
}

static poolError_t check_reserved(const struct poolMemPoolProps *props) {
    for (size_t i = 0; i < sizeof props->reserved; i++) {
        bool is_rdma =
            i == 0 && props->reserved[i] == 1 && sp_driver_is_from(WITH_LOCALITY_DOMAINS);
        if (props->reserved[i] != 0 && !is_rdma)
            return sp_fail(poolErrorInvalidValue, "the reserved bytes must be 0");
    }
    return poolSuccess;
}

static poolError_t check_props(const struct poolMemPoolProps *props) {
    bool is_managed = props->allocType == poolMemAllocationTypeManaged;
    bool has_handles = props->handleTypes != poolMemHandleTypeNone;
    if (props->allocType != poolMemAllocationTypePinned && !is_managed)
        return sp_fail(poolErrorInvalidValue, "%d is not an allocation type for a pool",
                       (int)props->allocType);
    if (has_handles && props->handleTypes != poolMemHandleTypePosixFileDescriptor)
        return sp_fail(poolErrorInvalidValue, "%d is not a handle type of this system",
                       (int)props->handleTypes);
    poolError_t error = check_reserved(props);
    if (error != poolSuccess)
        return error;
    if (is_managed && (has_handles || props->maxSize != 0 || props->usage != 0))
        return sp_fail(poolErrorInvalidValue, "managed memory has no %s",
                       has_handles           ? "handles"
                       : props->maxSize != 0 ? "limit"
                                             : "use");
    if (has_handles && props->location.type == poolMemLocationTypeHost)
        return sp_fail(poolErrorInvalidValue, "memory of the whole host can't be exported");
    if (props->maxSize > LARGEST_POOL)
        return sp_fail(poolErrorMemoryAllocation, "no address space holds %zu bytes",
                       props->maxSize);
    return poolSuccess;
}

poolError_t poolMemPoolCreate(poolMemPool_t *handle, const struct poolMemPoolProps *props) {
    struct sp_device *device;
    struct sp_place place;
    struct sp_pool *pool;
    poolError_t error = sp_runtime_enter();
    if (error != poolSuccess)
        return error;
    if (!handle || !props)
        return sp_fail(poolErrorInvalidValue, "%s is null", handle ? "props" : "pool");
    error = check_props(props);
    if (error == poolSuccess)
        error = find_place(&props->location, props->allocType, &place);
    if (error != poolSuccess)
        return error;
    place.is_staged = (props->usage & poolMemPoolUsageStaging) && !place.is_managed &&
                      place.location.type != CU_MEM_LOCATION_TYPE_DEVICE;
    error = sp_runtime_open_place(&place, &device);
    if (error != poolSuccess)
        return error;
    if (props->handleTypes != poolMemHandleTypeNone && !device->vmm.exports_fd) {
        char name[SP_PLACE_NAME];
        sp_place_text(&place, name);
        return sp_fail(poolErrorNotSupported, "memory of %s can't be exported as a file descriptor",
                       name);
    }
    sp_given_up_ask(device);
    sp_given_up_reap(device);
    error = sp_life_create(device, props, NULL, &pool);
    if (error != poolSuccess)
        return error;
    sp_attributes_preset(pool, sp_name_of(pool).text);
    *handle = pool->handle;
    return poolSuccess;
}

poolError_t poolMemPoolDestroy(poolMemPool_t handle) {
    struct sp_pool *pool;
    poolError_t error = sp_runtime_enter();
    if (error == poolSuccess)
        error = sp_api_pool(handle, &pool);
    if (error != poolSuccess)
        return error;
    if (pool == pool->device->default_pool)
        return sp_fail(poolErrorInvalidValue, "a default pool can't be destroyed");
    // Another thread that has destroyed the pool meanwhile has noted it.
    if (sp_tell_keeps_destroyed() && sp_pin_take(pool, handle)) {
        sp_tell_note_destroyed(pool);
        sp_pin_drop(pool);
    }
    return sp_life_destroy(pool, handle)
               ? poolSuccess
               : sp_fail(poolErrorInvalidValue, "the pool was destroyed meanwhile");
}

// Starts the library, and finds and pins a pool. On success the caller unpins it. `lacks` names a
// parameter of the call that is null and mustn't be; it is null where there is none.
static poolError_t pin(poolMemPool_t handle, const char *lacks, struct sp_pool **pool) {
    poolError_t error = sp_runtime_enter();
    if (error == poolSuccess && lacks)
        return sp_fail(poolErrorInvalidValue, "%s is null", lacks);
    if (error == poolSuccess)
        error = sp_api_pool(handle, pool);
    if (error == poolSuccess && !sp_pin_take(*pool, handle))
        return sp_fail(poolErrorInvalidValue, "the pool was destroyed meanwhile");
    return error;
}

// Ends a call that has pinned the pool, with its error.
static poolError_t unpin(struct sp_pool *pool, poolError_t error) {
    sp_pin_drop(pool);
    return error;
}

poolError_t poolMemPoolGetAttribute(poolMemPool_t handle, enum poolMemPoolAttr attr, void *value) {
    struct sp_pool *pool = NULL;
    poolError_t error = pin(handle, NULL, &pool);
    return error == poolSuccess ? unpin(pool, sp_attributes_get(pool, attr, value)) : error;
}

poolError_t poolMemPoolSetAttribute(poolMemPool_t handle, enum poolMemPoolAttr attr, void *value) {
    struct sp_pool *pool = NULL;
    poolError_t error = pin(handle, NULL, &pool);
    return error == poolSuccess ? unpin(pool, sp_attributes_set(pool, attr, value)) : error;
}

poolError_t poolMemPoolSetName(poolMemPool_t handle, const char *name) {
    struct sp_pool *pool = NULL;
    poolError_t error = pin(handle, NULL, &pool);
    if (error != poolSuccess)
        return error;
    error = sp_name_set(pool, name);
    if (error == poolSuccess && name && *name)
        sp_attributes_preset(pool, name);
    return unpin(pool, error);
}

poolError_t poolMemPoolGetName(poolMemPool_t handle, char *name, size_t size) {
    struct sp_pool *pool = NULL;
    poolError_t error = pin(handle, name ? NULL : "name", &pool);
    if (error != poolSuccess)
        return error;
    struct sp_name own = sp_name_of(pool);
    size_t needed = strlen(own.text) + 1;
    if (needed > size)
        return unpin(pool, sp_fail(poolErrorInvalidValue, "the name needs %zu bytes, not %zu",
                                   needed, size));
    memcpy(name, own.text, needed);
    return unpin(pool, poolSuccess);
}

poolError_t poolMemPoolSetAccess(poolMemPool_t handle, const struct poolMemAccessDesc *descList,
                                 size_t count) {
    struct sp_pool *pool;
    poolError_t error = pin(handle, NULL, &pool);
    if (error != poolSuccess)
        return error;
    return unpin(pool, descList || count == 0 ? sp_access_change(pool, descList, count)
                                              : sp_fail(poolErrorInvalidValue, "descList is null"));
}

poolError_t poolMemPoolGetAccess(enum poolMemAccessFlags *flags, poolMemPool_t handle,
                                 const struct poolMemLocation *location) {
    struct sp_pool *pool;
    const char *lacks = !flags ? "flags" : !location ? "location" : NULL;
    poolError_t error = pin(handle, lacks, &pool);
    return error == poolSuccess ? unpin(pool, sp_access_read(pool, location, flags)) : error;
}

const char *poolMemPoolGetStatisticName(enum poolMemPoolAttr attr) {
    return sp_statistic_name(attr);
}

poolError_t poolMemPoolPrintStatistics(poolMemPool_t handle, FILE *out) {
    struct sp_pool *pool;
    poolError_t error = pin(handle, out ? NULL : "out", &pool);
    if (error != poolSuccess)
        return error;
    sp_collect_all(pool);
    return unpin(pool, sp_tell_print(pool, out)
                           ? poolSuccess
                           : sp_fail(poolErrorOperatingSystem, "writing the statistics: %s",
                                     strerror(errno)));
}

poolError_t poolMemPoolSetGrowthObserver(poolMemPool_t handle, poolMemPoolGrowthObserver observer,
                                         void *user) {
    struct sp_pool *pool;
    poolError_t error = pin(handle, NULL, &pool);
    if (error != poolSuccess)
        return error;
    return unpin(pool, sp_explain_set(pool, observer, user)
                           ? poolSuccess
                           : sp_fail(poolErrorNotPermitted,
                                     "an observer of another pool's growth is running"));
}

poolError_t poolMemPoolPrintGrowth(const struct poolMemPoolGrowth *growth, FILE *out) {
    struct sp_text text = {.length = 0};
    if (!growth || !out)
        return sp_fail(poolErrorInvalidValue, "%s is null", growth ? "out" : "growth");
    SP_UNCANCELLED;
    sp_text_growth(&text, growth);
    if (fprintf(out, "%s\n", text.buffer) >= 0 && fflush(out) == 0)
        return poolSuccess;
    return sp_fail(poolErrorOperatingSystem, "writing the growth: %s", strerror(errno));
}

// Finds and pins a pool, and asks the driver which frees have completed, so that their memory
// counts as free. On success the caller unpins the pool.
static poolError_t enter_memory_call(poolMemPool_t handle, const char *what,
                                     struct sp_pool **pool) {
    poolError_t error = pin(handle, NULL, pool);
    if (error != poolSuccess)
        return error;
    struct sp_outcome asked = sp_ask_current_context(*pool);
    return sp_is_done(asked) ? poolSuccess : unpin(*pool, sp_fail_outcome(asked, what));
}

poolError_t poolMemPoolTrimTo(poolMemPool_t handle, size_t minBytesToKeep) {
    struct sp_pool *pool;
    poolError_t error = enter_memory_call(handle, "trimming", &pool);
    if (error != poolSuccess)
        return error;
    bool turn = sp_observe_take_turn();
    struct sp_outcome trimmed = sp_trim_for_program(pool, minBytesToKeep);
    if (sp_is_done(trimmed))
        sp_observe_trimmed(pool, minBytesToKeep);
    sp_observe_give_turn(turn);
    return unpin(pool, sp_is_done(trimmed) ? poolSuccess : sp_fail_outcome(trimmed, "trimming"));
}

poolError_t poolMemPoolPrime(poolMemPool_t handle, size_t bytes) {
    struct sp_pool *pool;
    poolError_t error = enter_memory_call(handle, "priming", &pool);
    return error == poolSuccess ? unpin(pool, sp_prime(pool, bytes)) : error;
}

poolError_t poolMemPoolEvict(poolMemPool_t handle, poolMemPoolVisitor save, void *user,
                             size_t *stayed) {
    SP_UNCANCELLED;
    struct sp_pool *pool;
    size_t unwanted;
    poolError_t error = pin(handle, NULL, &pool);
    if (error != poolSuccess)
        return error;
    bool turn = sp_observe_take_turn();
    struct sp_outcome outcome = sp_api_synchronize_context(pool);
    if (sp_is_done(outcome)) {
        sp_observe_act(SP_RECORD_SYNCHRONIZE_DEVICE, NULL);
        sp_observe_trimmed(pool, 0);
    }
    sp_observe_give_turn(turn);
    if (!sp_is_done(outcome))
        return unpin(pool, sp_fail_outcome(outcome, "synchronising the context"));
    int device = pool->device->vmm.ordinal;
    if (device >= 0 && !sp_context_current_of(device))
        return unpin(pool, sp_fail(poolErrorInvalidDevice,
                                   "the current context isn't one of device %d", device));
    return unpin(
        pool, sp_residency_evict(pool, (struct sp_visit){save, user}, stayed ? stayed : &unwanted));
}

poolError_t poolMemPoolMakeResident(poolMemPool_t handle, poolMemPoolVisitor load, void *user) {
    SP_UNCANCELLED;
    struct sp_pool *pool;
    poolError_t error = pin(handle, NULL, &pool);
    if (error != poolSuccess)
        return error;
    sp_api_supply_context(sp_outcome_of(SP_NO_CONTEXT), NULL, pool); // to ask what others have free
    struct sp_outcome asked = sp_ask_current_context(pool);
    if (!sp_is_done(asked))
        return unpin(pool, sp_fail_outcome(asked, "making a pool resident"));
    return unpin(pool, sp_residency_restore(pool, (struct sp_visit){load, user}));
}

// -------------------------------------------------------------------------------------- of devices

static poolError_t check_device_call(poolMemPool_t *pool, int ordinal, struct sp_device **device) {
    poolError_t error = sp_runtime_enter();
    if (error == poolSuccess && !pool)
        return sp_fail(poolErrorInvalidValue, "pool is null");
    return error == poolSuccess ? sp_runtime_open(ordinal, device) : error;
}

// CUDA looks at the device first here, and gives another error for it than its other calls do.
poolError_t poolDeviceGetDefaultMemPool(poolMemPool_t *pool, int ordinal) {
    struct sp_device *device;
    poolError_t error = sp_runtime_enter();
    if (error == poolSuccess && !sp_device_exists(ordinal))
        return sp_fail(poolErrorInvalidDevice, "there is no device %d", ordinal);
    if (error == poolSuccess)
        error = check_device_call(pool, ordinal, &device);
    if (error == poolSuccess)
        *pool = device->default_pool->handle;
    return error;
}

poolError_t poolDeviceGetMemPool(poolMemPool_t *pool, int ordinal) {
    struct sp_device *device;
    poolError_t error = check_device_call(pool, ordinal, &device);
    if (error == poolSuccess)
        sp_device_current_pool(device, pool);
    return error;
}

// Under the place's lock the handle is good as long as the pool is current.
static poolError_t make_current(struct sp_device *device, struct sp_pool *pool,
                                poolMemPool_t handle) {
    sp_lock_acquire(&device->lock);
    bool is_there = sp_handle_pool(handle) == pool;
    if (is_there)
        sp_store_release(&device->current, pool);
    sp_lock_release(&device->lock);
    return is_there ? poolSuccess
                    : sp_fail(poolErrorInvalidValue, "the pool was destroyed meanwhile");
}

// A pool of managed memory that prefers the device becomes the current one of such memory.
poolError_t poolDeviceSetMemPool(int ordinal, poolMemPool_t handle) {
    struct sp_device *device;
    struct sp_pool *pool;
    poolError_t error = sp_runtime_enter();
    if (error == poolSuccess)
        error = sp_runtime_open(ordinal, &device);
    if (error == poolSuccess)
        error = sp_api_pool(handle, &pool);
    if (error != poolSuccess)
        return error;
    const CUmemLocation *location = &pool->device->vmm.place.location;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return sp_fail(poolErrorInvalidValue, "the pool isn't one of a device");
    if (location->id != ordinal)
        return sp_fail(poolErrorInvalidDevice, "the pool belongs to device %d, not %d",
                       location->id, ordinal);
    return make_current(pool->device, pool, handle);
}

// -------------------------------------------------------------------------------------- of places

// Starts the library and opens a place. CUDA looks at the kind of location first. `lacks` names
// another parameter of the call that is null and mustn't be; it is null where there is none.
static poolError_t open_location(const struct poolMemLocation *location,
                                 enum poolMemAllocationType type, const char *lacks,
                                 struct sp_device **device) {
    struct sp_place place;
    poolError_t error = sp_runtime_enter();
    if (error != poolSuccess)
        return error;
    if (!location)
        return sp_fail(poolErrorInvalidValue, "location is null");
    if ((int)location->type >= (int)poolMemLocationTypeHostNumaCurrent)
        return sp_fail(poolErrorNotSupported, "location type %d has no default pool",
                       (int)location->type);
    if (type != poolMemAllocationTypePinned && type != poolMemAllocationTypeManaged)
        return sp_fail(poolErrorInvalidValue, "%d is not an allocation type for a pool", (int)type);
    error = find_place(location, type, &place);
    if (error == poolSuccess)
        error = sp_runtime_open_place(&place, device);
    return error == poolSuccess && lacks ? sp_fail(poolErrorInvalidValue, "%s is null", lacks)
                                         : error;
}

poolError_t poolMemGetDefaultMemPool(poolMemPool_t *pool, const struct poolMemLocation *location,
                                     enum poolMemAllocationType type) {
    struct sp_device *device;
    poolError_t error = open_location(location, type, pool ? NULL : "pool", &device);
    if (error == poolSuccess)
        *pool = device->default_pool->handle;
    return error;
}

poolError_t poolMemGetMemPool(poolMemPool_t *pool, const struct poolMemLocation *location,
                              enum poolMemAllocationType type) {
    struct sp_device *device;
    poolError_t error = open_location(location, type, pool ? NULL : "pool", &device);
    if (error == poolSuccess)
        sp_device_current_pool(device, pool);
    return error;
}

poolError_t poolMemSetMemPool(const struct poolMemLocation *location,
                              enum poolMemAllocationType type, poolMemPool_t handle) {
    struct sp_device *device;
    struct sp_pool *pool;
    poolError_t error = open_location(location, type, NULL, &device);
    if (error == poolSuccess)
        error = sp_api_pool(handle, &pool);
    if (error != poolSuccess)
        return error;
    if (sp_device_seat(pool->device) != device) {
        char its[SP_PLACE_NAME], wanted[SP_PLACE_NAME];
        sp_place_text(&pool->device->vmm.place, its);
        sp_place_text(&device->vmm.place, wanted);
        return sp_fail(poolErrorInvalidValue, "the pool belongs to %s, not to %s", its, wanted);
    }
    return make_current(device, pool, handle);
}

// --------------------------------------------------------------------------------------- pointers

// Before the runtime is started no address is a pool's, so there is no need to start it; not in a
// child either, whose parent had not started it.
poolError_t poolPointerGetAttributes(struct poolPointerAttributes *attributes, const void *ptr) {
    if (SP_UNLIKELY(sp_fork_is_child()) && sp_load_relaxed(&sp_runtime_started))
        return sp_runtime_start(); // which says why it isn't
    if (!attributes)
        return sp_fail(poolErrorInvalidValue, "attributes is null");
    sp_pointer_look(attributes, (uint64_t)(uintptr_t)ptr);
    return poolSuccess;
}
