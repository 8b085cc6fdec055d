#include "pool/runtime.h"

#include "order/registry.h"
#include "pool/bury.h"
#include "pool/given_up.h"
#include "pool/lane.h"
#include "pool/loan.h"

#include "base/checked.h"
#include "base/number.h"
#include "base/options.h"
#include "order/context.h"
#include "order/context_wait.h"
#include "order/event.h"
#include "order/sentinel.h"

#include <string.h>

_Atomic bool sp_runtime_started;
struct sp_device sp_devices[SP_MAX_DEVICES];

static struct {
    struct sp_lock lock;
    int device_count;
    _Atomic bool hears_synchronizes;
} runtime;

// ------------------------------------------------------------------------------------------- start

static poolError_t describe_load_failure(CUresult error) {
    poolError_t code = error == CUDA_ERROR_NOT_FOUND || error == CUDA_ERROR_NOT_SUPPORTED
                           ? poolErrorInsufficientDriver
                           : sp_error_of(error);
    return sp_fail(code, "%s", sp_driver_problem());
}

static CUresult count_devices(void) {
    CUresult error = sp_driver_count_devices(&runtime.device_count);
    if (runtime.device_count > SP_MAX_DEVICES)
        runtime.device_count = SP_MAX_DEVICES;
    return error;
}

static poolError_t start_locked(void) {
    const struct sp_driver *driver;
    if (sp_load_relaxed(&sp_runtime_started))
        return poolSuccess;
    CUresult error = sp_driver_load(&driver);
    if (error != CUDA_SUCCESS)
        return describe_load_failure(error);
    error = count_devices();
    if (error != CUDA_SUCCESS)
        return sp_fail_driver(error, "counting the devices");
    if (runtime.device_count == 0)
        return sp_fail(poolErrorNoDevice, "the driver has no device");
    sp_biased_locks_enable();
    sp_fork_clear_in_child(&sp_runtime_started);
    sp_store_release(&sp_runtime_started, true);
    return poolSuccess;
}

poolError_t sp_runtime_start(void) {
    if (sp_fork_is_child())
        return sp_fail(
            poolErrorInitializationError,
            "this process was forked from one that uses the device, which a child can't do");
    sp_lock_acquire(&runtime.lock);
    poolError_t error = start_locked();
    sp_lock_release(&runtime.lock);
    return error;
}

// ----------------------------------------------------------------------------------------- devices

static poolError_t describe_open_failure(int ordinal, CUresult error) {
    if (error != CUDA_ERROR_NOT_SUPPORTED)
        return sp_fail_driver(error, "opening the device");
    return sp_fail(poolErrorNotSupported,
                   "device %d has no virtual memory management "
                   "(CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED is 0), which every "
                   "pool is built on",
                   ordinal);
}

static poolError_t make_default_pool(struct sp_device *device, int ordinal) {
    struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                     .location = {poolMemLocationTypeDevice, ordinal}};
    poolError_t error = sp_pool_create(device, &props, &device->default_pool);
    if (error == poolSuccess)
        sp_store_release(&device->current, device->default_pool);
    return error;
}

static poolError_t open_locked(struct sp_device *device, int ordinal) {
    if (sp_load_relaxed(&device->open))
        return poolSuccess;
    CUresult error = sp_vmm_device_open(ordinal, &device->vmm);
    if (error != CUDA_SUCCESS)
        return describe_open_failure(ordinal, error);
    sp_list_init(&device->pools);
    sp_list_init(&device->spare_pools);
    sp_list_init(&device->holders[SP_HOLDERS_IN_USE]);
    sp_list_init(&device->holders[SP_HOLDERS_GIVEN_UP]);
    sp_given_up_init(device);
    sp_space_init(&device->space, &device->vmm, (size_t)sp_options()->address_space);
    poolError_t made = make_default_pool(device, ordinal);
    if (made == poolSuccess)
        sp_store_release(&device->open, true);
    return made;
}

bool sp_device_exists(int ordinal) {
    return ordinal >= 0 && ordinal < runtime.device_count;
}

poolError_t sp_device_get(int ordinal, struct sp_device **device) {
    if (!sp_device_exists(ordinal))
        return sp_fail(poolErrorInvalidValue, "there is no device %d", ordinal);
    *device = &sp_devices[ordinal];
    if (sp_load_acquire(&(*device)->open))
        return poolSuccess;
    sp_lock_acquire(&(*device)->open_lock);
    poolError_t error = open_locked(*device, ordinal);
    sp_lock_release(&(*device)->open_lock);
    return error;
}

struct sp_device *sp_runtime_next_device(const struct sp_device *device) {
    int ordinal = device ? (int)(device - sp_devices) + 1 : 0;
    while (ordinal < runtime.device_count && !sp_load_acquire(&sp_devices[ordinal].open))
        ordinal++;
    return ordinal < runtime.device_count ? &sp_devices[ordinal] : NULL;
}

// --------------------------------------------------------------------------- the pools of a device

//
// A pool is in the list of those that have memory from its first byte on. It is taken out when a
// walk leaves it and finds that it has none; so no walk loses its place, and one pool in ten
// thousand that has memory is found without a look at the others.

static struct sp_pool *holder_of(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct sp_pool, holds);
}

static bool holds_nothing(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->reserved) == 0 && !sp_loan_has_zombies(pool);
}

// With both locks held. Pools in use count, whichever way they come and go.
static void unlist_locked(struct sp_pool *pool) {
    if (sp_list_empty(&pool->holds))
        return;
    sp_list_remove(&pool->holds);
    if (!pool->listed_given_up)
        sp_subtract_relaxed(&pool->device->holders_in_use, 1);
}

static void list_locked(struct sp_pool *pool, bool given_up) {
    pool->listed_given_up = given_up;
    sp_list_push_back(&pool->device->holders[given_up ? SP_HOLDERS_GIVEN_UP : SP_HOLDERS_IN_USE],
                      &pool->holds);
    if (!given_up)
        sp_add_relaxed(&pool->device->holders_in_use, 1);
}

// A walk that takes the pool out looks whether it has memory under the same lock. So it either sees
// what the caller has counted, or has taken it out before, and then it is put in again here.
void sp_pool_note_memory(struct sp_pool *pool) {
    struct sp_device *device = pool->device;
    sp_lock_acquire(&device->holders_lock);
    if (sp_list_empty(&pool->holds))
        list_locked(pool, false);
    sp_lock_release(&device->holders_lock);
}

void sp_device_hide_locked(struct sp_pool *pool) {
    sp_lock_acquire(&pool->device->holders_lock);
    unlist_locked(pool);
    sp_lock_release(&pool->device->holders_lock);
}

void sp_device_show_given_up_locked(struct sp_pool *pool) {
    sp_lock_acquire(&pool->device->holders_lock);
    unlist_locked(pool);
    list_locked(pool, true);
    sp_lock_release(&pool->device->holders_lock);
}

// The pool behind another, or the first; null at the end. With both locks held.
static struct sp_pool *next_locked(struct sp_device *device, const struct sp_pool *pool,
                                   bool in_use_alone) {
    struct sp_list *link = pool ? pool->holds.next : device->holders[SP_HOLDERS_IN_USE].next;
    if (link == &device->holders[SP_HOLDERS_IN_USE])
        link = device->holders[SP_HOLDERS_GIVEN_UP].next;
    bool ends = link == &device->holders[SP_HOLDERS_GIVEN_UP] ||
                (in_use_alone && holder_of(link)->listed_given_up);
    return ends ? NULL : holder_of(link);
}

static struct sp_pool *walk(struct sp_device *device, struct sp_pool *pool, bool in_use_alone) {
    sp_lock_acquire(&device->lock);
    sp_lock_acquire(&device->holders_lock);
    struct sp_pool *next = next_locked(device, pool, in_use_alone);
    if (pool && --pool->pins == 0 && holds_nothing(pool))
        unlist_locked(pool);
    if (next)
        next->pins++;
    sp_lock_release(&device->holders_lock);
    sp_lock_release(&device->lock);
    return next;
}

struct sp_pool *sp_device_next_pool(struct sp_device *device, struct sp_pool *pool) {
    return walk(device, pool, false);
}

struct sp_pool *sp_device_next_in_use(struct sp_device *device, struct sp_pool *pool) {
    return walk(device, pool, true);
}

uint64_t sp_device_reserved(struct sp_device *device) {
    uint64_t sum = 0;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_pool(device, pool)))
        sum += sp_load_relaxed(&pool->reserved);
    return sum;
}

static size_t releasable_on(struct sp_device *device) {
    size_t sum = 0;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_pool(device, pool)))
        sum += sp_pool_releasable(pool);
    return sum;
}

// Releases up to `bytes` of one pool's free extents; returns how many.
static size_t release_some(struct sp_pool *pool, size_t bytes) {
    size_t before = sp_load_relaxed(&pool->reserved);
    sp_pool_trim(pool, sp_excess(before, bytes));
    size_t after = sp_load_relaxed(&pool->reserved);
    return sp_excess(before, after);
}

// Room that a device has beyond what is asked for shows that memory is not what it lacks.
#define CLEARLY_ENOUGH ((size_t)64 << 20)

// Only whole granules can be mapped.
static size_t free_on(const struct sp_device *device, CUcontext context) {
    return sp_round_down(context ? sp_context_free_memory(context) : 0, device->vmm.granule);
}

bool sp_device_could_have(struct sp_device *device, CUcontext context, size_t bytes) {
    size_t had = free_on(device, context);
    return !context || had >= bytes || releasable_on(device) >= bytes - had;
}

bool sp_device_make_room(struct sp_device *device, CUcontext context, size_t bytes, size_t more) {
    sp_device_reap_all(device);
    size_t had = free_on(device, context);
    if (had > CLEARLY_ENOUGH && had - CLEARLY_ENOUGH > bytes)
        return false;
    size_t missing = sp_excess(bytes, had);
    size_t releasable = releasable_on(device), released = 0;
    if (releasable < missing)
        return false;
    size_t wanted = missing + more < releasable ? missing + more : releasable;
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_pool(device, pool))) {
        if (released < wanted)
            released += release_some(pool, wanted - released);
    }
    sp_device_reap(device); // what was destroyed while the walk stood on it
    return released > 0;
}

bool sp_device_bury(struct sp_device *device) {
    struct sp_pool *pool = NULL;
    size_t sum = 0;
    while ((pool = sp_device_next_pool(device, pool))) {
        size_t buried;
        sp_bury_all(pool, &buried);
        sum += buried;
    }
    sp_device_reap(device); // what was destroyed while the walk stood on it
    return sum > 0;
}

// ----------------------------------------------------------------------------- after a synchronise

static void after_synchronize_on(struct sp_device *device, const struct sp_stream *stream) {
    struct sp_pool *pool = NULL;
    while ((pool = sp_device_next_in_use(device, pool))) {
        if (!stream || sp_lane_find(pool, stream->slot))
            sp_pool_trim_to_threshold(pool);
    }
    sp_device_reap(device);
}

bool sp_runtime_hears_synchronizes(void) {
    return sp_load_relaxed(&runtime.hears_synchronizes);
}

void sp_runtime_after_synchronize(const struct sp_stream *stream) {
    if (!sp_runtime_hears_synchronizes())
        sp_store_relaxed(&runtime.hears_synchronizes, true);
    struct sp_device *device = NULL;
    while ((device = sp_runtime_next_device(device)))
        after_synchronize_on(device, stream);
}

// --------------------------------------------------------------------------------------- for tests

static void close_device(struct sp_device *device) {
    while (!sp_list_empty(&device->pools))
        sp_pool_demolish(SP_CONTAINER_OF(device->pools.next, struct sp_pool, link));
    sp_device_free_pool_structs(device);
    sp_space_close(&device->space);
    struct sp_primary primary = device->primary; // its events and streams are closed later
    memset(device, 0, sizeof *device);
    device->primary = primary;
}

void sp_runtime_teardown(void) {
    sp_worker_stop();
    sp_context_wait_end_all();
    struct sp_device *device = NULL;
    while ((device = sp_runtime_next_device(device)))
        close_device(device);
    sp_event_close_all();
    sp_registry_close();
    for (int ordinal = 0; ordinal < runtime.device_count; ordinal++)
        sp_primary_release(&sp_devices[ordinal].primary, ordinal);
    sp_sentinel_close_all();
    sp_page_map_clear();
    runtime.device_count = 0;
    atomic_store(&runtime.hears_synchronizes, false);
    atomic_store(&sp_runtime_started, false);
}
