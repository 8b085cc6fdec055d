#include "process/runtime.h"

#include "base/log.h"
#include "base/options.h"
#include "base/thread.h"
#include "process/attributes.h"
#include "process/given_up.h"
#include "process/life.h"
#include "process/observe.h"
#include "tell/name.h"

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

static poolError_t open_locked(struct sp_device *device, int ordinal) {
    if (sp_load_relaxed(&device->open))
        return poolSuccess;
    struct sp_outcome outcome = sp_vmm_device_open(ordinal, &device->vmm);
    if (sp_outcome_lacks_support(outcome))
        return sp_fail(poolErrorNotSupported,
                       "device %d maps memory in units that are no power of two "
                       "(cuMemGetAllocationGranularity)",
                       ordinal);
    if (!sp_is_done(outcome))
        return sp_fail_outcome(outcome, "opening the device");
    sp_list_init(&device->held.lanes);
    sp_list_init(&device->pools);
    sp_list_init(&device->spare_pools);
    sp_list_init(&device->holders[SP_HOLDERS_IN_USE]);
    sp_list_init(&device->holders[SP_HOLDERS_GIVEN_UP]);
    sp_given_up_init(device);
    sp_space_init(&device->space, &device->vmm, (size_t)sp_options()->address_space);
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, ordinal}};
    poolError_t error = sp_life_create(device, &props, &device->default_pool);
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
    poolError_t error = open_locked(*device, ordinal);
    sp_lock_release(&(*device)->open_lock);
    return error;
}
