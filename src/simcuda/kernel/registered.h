// Kernels that a program has registered by name (simcudaRegisterKernel): a function of the host
// does their work, and another one says which bytes they touch.
//
// Both functions run in the thread whose driver call makes the launch, or lets it complete, with
// the engine's lock held; so they call only what needs no lock (sim_in_kernel). A launch has all
// that it needs with it, so work that is pending when a kernel is registered anew does what it was
// launched to do.
//
// A reset leaves the kernels registered: they are part of the program.
#ifndef STREAMPOOL_SIMCUDA_KERNEL_REGISTERED_H
#define STREAMPOOL_SIMCUDA_KERNEL_REGISTERED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <streampool/simcuda.h>

#include "driver/abi.h"
#include "simcuda/image/image.h"

struct sim_job;
struct sim_kernel_call;

struct sim_registration {
    char *name;
    simcudaKernelFunction function;
    simcudaTouchesFunction touches;
    void *user_data;
    struct sim_image_parameter *layout; // sizes alone; null: the image has them
    size_t count;
};

// This number changes with each change of what is registered. A registration that was found stays
// until then.
extern uint64_t sim_registered_generation;

// Returns what is registered by a name; null when nothing is.
const struct sim_registration *sim_registered_find(const char *name);

CUresult sim_registered_set(const char *name, simcudaKernelFunction function,
                            simcudaTouchesFunction touches, const simcudaKernelOptions *options);
CUresult sim_registered_remove(const char *name);

// Fills in the job of a launch.
void sim_registered_job(const struct sim_registration *registration,
                        const struct sim_kernel_call *call, struct sim_job *job);

// These are what the functions of kernels call; they need sim_in_kernel.
void sim_registered_touch(struct simcudaTouches *touches, uint64_t address, uint64_t size,
                          simcudaAccessKind kind);
void sim_registered_take(struct simcudaTouches *touches, uint64_t nanoseconds);
CUresult sim_registered_read(const simcudaLaunch *launch, void *to, uint64_t address, size_t size);
CUresult sim_registered_write(const simcudaLaunch *launch, uint64_t address, const void *from,
                              size_t size);

#endif
