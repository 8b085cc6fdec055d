// From a stream's handle and a job to a piece of work in a queue: what every call that adds work
// has in common.
#ifndef STREAMPOOL_SIMCUDA_LAUNCH_H
#define STREAMPOOL_SIMCUDA_LAUNCH_H

#include "driver/abi.h"

struct sim_job;

// Adds the job to the stream, or to its capture. The job's accesses are taken over, or freed on
// failure.
CUresult sim_launch(CUstream stream, const char *call, struct sim_job *job);

// The same on the current context's legacy stream, and waits for it: what a synchronous copy does.
CUresult sim_launch_and_wait(const char *call, struct sim_job *job);

#endif
