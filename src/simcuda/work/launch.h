// A launch adds a job to the queue behind a stream's handle, where it is a piece of work.
#ifndef STREAMPOOL_SIMCUDA_WORK_LAUNCH_H
#define STREAMPOOL_SIMCUDA_WORK_LAUNCH_H

#include "driver/abi.h"

struct sim_item;
struct sim_job;

// Adds the job to the stream, or to its capture. The job's accesses are taken over, or freed on
// failure.
CUresult sim_launch(CUstream stream, const char *call, struct sim_job *job);

// Does the same; *item is a reference to the piece of work, null where it went to a capture.
CUresult sim_launch_item(CUstream stream, const char *call, struct sim_job *job,
                         struct sim_item **item);

// Adds the job of a synchronous call to the current context's legacy stream. No capture takes it.
CUresult sim_launch_synchronous(struct sim_job *job, struct sim_item **item);

#endif
