// The functions of modules: their handles, attributes and launches.
#ifndef STREAMPOOL_SIMCUDA_KERNEL_FUNCTION_H
#define STREAMPOOL_SIMCUDA_KERNEL_FUNCTION_H

#include <stddef.h>
#include <stdint.h>

#include "simcuda/common/slab.h"
#include "simcuda/entry/abi.h"
#include "simcuda/image/image.h"
#include "simcuda/kernel/grid.h"

struct sim_job;
struct sim_registration;

#define SIM_FUNCTION_ATTRIBUTES (CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE + 1)

struct sim_function {
    struct sim_slab_element element;
    CUmodule module;
    const struct sim_image_kernel *kernel; // of the module's image
    int attributes[SIM_FUNCTION_ATTRIBUTES];
    // This is what the kernel was registered as when what is registered had this generation.
    const struct sim_registration *registration;
    uint64_t generation;
};

// Makes a function; null when there are too many. The module keeps the kernel until it gives the
// function back.
struct sim_function *sim_function_take(CUmodule module, const struct sim_image_kernel *kernel);
void sim_function_give(struct sim_function *function);

CUfunction sim_function_handle(const struct sim_function *function);
// Returns the function of a handle; null when there is none.
struct sim_function *sim_function_find(CUfunction handle);

// INVALID_VALUE for an attribute that there isn't, or one that can't have that value.
CUresult sim_function_get(const struct sim_function *function, CUfunction_attribute attribute,
                          int *value);
CUresult sim_function_set(struct sim_function *function, CUfunction_attribute attribute, int value);

// Returns what the function allows, on a device with so many multiprocessors.
struct sim_grid_limits sim_function_limits(const struct sim_function *function,
                                           int multiprocessors);

// Fills in the job of a launch on a device. `parameters` and `extra` are as cuLaunchKernel takes
// them.
CUresult sim_function_job(struct sim_function *function, const struct sim_grid *grid, int device,
                          void *const *parameters, void *const *extra, struct sim_job *job);

// No function is alive any more.
void sim_function_reset(void);

#endif
