// Modules and kernels. A module image is PTX text (simcuda/kernels.h) in which the known kernels
// are found by their entry names; what a kernel does is done here, not by running the text.
#ifndef STREAMPOOL_SIMCUDA_KERNEL_H
#define STREAMPOOL_SIMCUDA_KERNEL_H

#include <stdint.h>

#include "driver/abi.h"

struct sim_context;
struct sim_job;

// Loads a module. INVALID_IMAGE when the image is no PTX text; an entry that is not known is not
// found later.
CUresult sim_kernel_load(const struct sim_context *context, const char *image, CUmodule *result);
CUresult sim_kernel_unload(CUmodule handle);
void sim_kernel_unload_all(const struct sim_context *context);

CUresult sim_kernel_find(CUfunction *function, CUmodule handle, const char *name);

// Fills in the job of a launch of the function. `parameters` are as cuLaunchKernel takes them.
CUresult sim_kernel_job(CUfunction function, void *const *parameters, struct sim_job *job);

uint64_t sim_kernel_module_count(void);
void sim_kernel_reset(void);

#endif
