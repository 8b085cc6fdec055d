// Work whose effect is known here: copies, sets, the kernels that this project shares with its
// tests (simcuda/kernel/kernels.h), and the one that gathers pieces for the library of copies
// (copy/gather.h). Kernels are known by their names and parameters.
#ifndef STREAMPOOL_SIMCUDA_KERNEL_KERNEL_H
#define STREAMPOOL_SIMCUDA_KERNEL_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "driver/abi.h"
#include "simcuda/image/image.h"
#include "simcuda/kernel/grid.h"

struct sim_job;

// A launch of a kernel, as it is made.
struct sim_kernel_call {
    const char *name;
    struct sim_grid grid;
    int device;
    const struct sim_image_parameter *layout;
    size_t count;            // of parameters
    void *const *parameters; // where each one's value lies
};

// Fills in the job of a launch of one of these kernels. False when it is none of them.
bool sim_kernel_job(const struct sim_kernel_call *call, struct sim_job *job);

#endif
