// Host functions (cuLaunchHostFunc) run on a thread of the simulated driver's own, one at a time,
// without the engine's lock, so that they may wait for other threads. Driver calls from there
// return CUDA_ERROR_NOT_PERMITTED.
//
// In scheduled mode that thread is under the scheduler like any other. In free mode it has one duty
// more: virtual time passes only in driver calls, so when the host makes none for a while and a
// host function is pending, the thread lets the work in front of it complete (not with completion
// latest).
#ifndef STREAMPOOL_SIMCUDA_WORK_HOST_FUNCTION_H
#define STREAMPOOL_SIMCUDA_WORK_HOST_FUNCTION_H

#include "driver/abi.h"

// Before the first one is added: sees to the thread. OPERATING_SYSTEM when it can't be started.
CUresult sim_host_function_prepare(void);
// Ends the thread, once the function that runs has returned; those that were started and did not
// run never will. The lock is given up meanwhile.
void sim_host_function_end(void);

#endif
