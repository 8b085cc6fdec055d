// Kernels that nobody has registered: a launch of one does nothing to memory, and counts as
// touching every block that its parameters point to. Each is named once, as a program that expects
// its results would else wonder.
#ifndef STREAMPOOL_SIMCUDA_KERNEL_UNREGISTERED_H
#define STREAMPOOL_SIMCUDA_KERNEL_UNREGISTERED_H

#include <stdint.h>

struct sim_job;
struct sim_kernel_call;

// Fills in the job of a launch. The first launch of a name says so on standard error, where reports
// are printed.
void sim_unregistered_job(const struct sim_kernel_call *call, struct sim_job *job);

// Returns the name with this index, in the order of the first launches; null when there is none.
const char *sim_unregistered_name(uint64_t index);
void sim_unregistered_reset(void);

#endif
