// A launch adds a job to the queue behind a stream's handle, where it is a piece of work.
#ifndef STREAMPOOL_SIMCUDA_LAUNCH_H
#define STREAMPOOL_SIMCUDA_LAUNCH_H

#include "driver/abi.h"

struct sim_job;

// Adds the job to the stream, or to its capture. The job's accesses are taken over, or freed on
// failure.
CUresult sim_launch(CUstream stream, const char *call, struct sim_job *job);

// Adds the job to the current context's legacy stream and waits for it, as a synchronous copy does.
// Returns the sticky error of the context if it has one then. The job's accesses are taken over, or
// freed on failure.
CUresult sim_launch_and_wait(const char *call, struct sim_job *job);

#endif
