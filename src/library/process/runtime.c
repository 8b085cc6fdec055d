#include "process/runtime.h"

#include "base/log.h"
#include "base/options.h"
#include "base/thread.h"
#include "process/attributes.h"
#include "process/given_up.h"
#include "process/life.h"
#include "process/observe.h"
#include "tell/name.h"

#include <stdlib.h>
#include <string.h>

_Atomic bool sp_runtime_started;
_Atomic bool sp_runtime_plain;

static struct sp_lock start_lock;

// ------------------------------------------------------------------------------------------- start

static poolError_t describe_load_failure(CUresult result) {
    poolError_t code = result == CUDA_ERROR_NOT_FOUND || result == CUDA_ERROR_NOT_SUPPORTED
                           ? poolErrorInsufficientDriver
                           : sp_fail_code(result);
    return sp_fail(code, "%s", sp_driver_problem());
}

static poolError_t start_locked(void) {
    const struct sp_driver *driver;
    if (sp_load_relaxed(&sp_runtime_started))
        return poolSuccess;
    CUresult loaded = sp_driver_load(&driver);
    if (loaded != CUDA_SUCCESS)
        return describe_load_failure(loaded);
    struct sp_outcome outcome =
        sp_outcome_of_driver(driver->cuDeviceGetCount(&sp_device_count), "cuDeviceGetCount");
    if (!sp_is_done(outcome))
        return sp_fail_outcome(outcome, "counting the devices");
    if (sp_device_count > SP_MAX_DEVICES)
        sp_device_count = SP_MAX_DEVICES;
    if (sp_device_count == 0)
        return sp_fail(poolErrorNoDevice, "the driver has no device");
    sp_biased_lock_enable_all();
    sp_observe_begin();
    sp_fork_clear_in_child(&sp_runtime_plain);
    sp_store_release(&sp_runtime_started, true);
    sp_store_release(&sp_runtime_plain, !sp_observe_is_on());
    return poolSuccess;
}

poolError_t sp_runtime_start(void) {
    const struct sp_driver *driver;
    if (sp_fork_is_child())
        // Where the parent could not load the driver either, that is the reason.
        return *sp_driver_problem() ? describe_load_failure(sp_driver_load(&driver))
                                    : sp_fail(poolErrorInitializationError,
                                              "this process was forked from one that uses the "
                                              "device, which a child can't do");
    if (sp_load_acquire(&sp_runtime_started))
        return poolSuccess;
    SP_UNCANCELLED;
    sp_lock_acquire(&start_lock);
    poolError_t error = start_locked();
    sp_lock_release(&start_lock);
    return error;
}

poolError_t sp_runtime_driver_version(int *version) {
    CUresult found = sp_driver_find_version(version);
    return found == CUDA_SUCCESS ? poolSuccess : describe_load_failure(found);
}

// ----------------------------------------------------------------------------------------- devices

static poolError_t describe_open_failure(const struct sp_place *place, struct sp_outcome outcome) {
    char name[SP_PLACE_NAME];
    sp_place_text(place, name);
    if (outcome.code == CUDA_ERROR_INVALID_VALUE)
        return sp_fail(poolErrorInvalidValue, "there is no %s", name);
    if (outcome.cause != SP_NOT_SUPPORTED)
        return sp_fail_outcome(outcome, "looking at the device");
    if (place->location.type == CU_MEM_LOCATION_TYPE_DEVICE && !place->is_managed)
        return sp_fail(poolErrorNotSupported,
                       "%s maps memory in units that are no power of two "
                       "(cuMemGetAllocationGranularity)",
                       name);
    if (place->is_staged && sp_place_node(place) >= 0)
        return sp_fail(poolErrorNotSupported,
                       "no memory of %s: the kernel lets this process bind none to a node (mbind)",
                       name);
    return sp_fail(poolErrorNotSupported, "the driver has no memory of %s for pools", name);
}

// Returns what the default pool of a place is made with.
static struct poolMemPoolProps props_of(const struct sp_place *place) {
    return (struct poolMemPoolProps){
        .allocType = place->is_managed ? poolMemAllocationTypeManaged : poolMemAllocationTypePinned,
        .location = {(enum poolMemLocationType)place->location.type, place->location.id},
        .usage = place->is_staged ? poolMemPoolUsageStaging : poolMemPoolUsageNone};
}

static poolError_t open_locked(struct sp_device *device, const struct sp_place *place) {
    if (sp_load_relaxed(&device->open))
        return poolSuccess;
    struct sp_outcome outcome = sp_vmm_device_open(place, &device->vmm);
    if (!sp_is_done(outcome))
        return describe_open_failure(place, outcome);
    sp_list_init(&device->held.lanes);
    sp_list_init(&device->pools);
    sp_list_init(&device->spare_pools);
    sp_list_init(&device->holders[SP_HOLDERS_IN_USE]);
    sp_list_init(&device->holders[SP_HOLDERS_GIVEN_UP]);
    sp_given_up_init(device);
    sp_space_init(&device->space, &device->vmm, (size_t)sp_options()->address_space);
    const struct poolMemPoolProps props = props_of(place);
    poolError_t error = sp_life_create(device, &props, NULL, &device->default_pool);
    if (error != poolSuccess)
        return error;
    sp_attributes_preset(device->default_pool, "");
    sp_attributes_preset(device->default_pool, sp_name_of(device->default_pool).text);
    sp_store_release(&device->current, device->default_pool);
    sp_store_release(&device->open, true);
    return poolSuccess;
}

poolError_t sp_runtime_open(int ordinal, struct sp_device **device) {
    if (!sp_device_exists(ordinal))
        return sp_fail(poolErrorInvalidValue, "there is no device %d", ordinal);
    *device = &sp_devices[ordinal];
    if (sp_load_acquire(&(*device)->open))
        return poolSuccess;
    sp_lock_acquire(&(*device)->open_lock);
    const struct sp_place place = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal}};
    poolError_t error = open_locked(*device, &place);
    sp_lock_release(&(*device)->open_lock);
    return error;
}

poolError_t sp_runtime_open_place(const struct sp_place *place, struct sp_device **device) {
    bool is_on_device = place->location.type == CU_MEM_LOCATION_TYPE_DEVICE;
    if (is_on_device && !place->is_managed)
        return sp_runtime_open(place->location.id, device);
    if (is_on_device && !sp_device_exists(place->location.id))
        return sp_fail(poolErrorInvalidValue, "there is no device %d", place->location.id);
    poolError_t error = poolSuccess;
    sp_lock_acquire(&sp_device_places_lock);
    struct sp_device *found = sp_device_of_place(place), *made = NULL;
    if (!found) {
        made = aligned_alloc(_Alignof(struct sp_device), sizeof *made);
        if (made) {
            memset(made, 0, sizeof *made);
            error = open_locked(made, place);
        } else {
            error = sp_fail(poolErrorMemoryAllocation, "out of host memory");
        }
    }
    if (made && error == poolSuccess)
        sp_device_list_place(made);
    else
        free(made);
    sp_lock_release(&sp_device_places_lock);
    if (error == poolSuccess)
        *device = found ? found : made;
    return error;
}
