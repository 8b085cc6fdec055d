// These functions count what is alive, and look for leaks.
#ifndef STREAMPOOL_SIMCUDA_LIVE_H
#define STREAMPOOL_SIMCUDA_LIVE_H

#include <streampool/simcuda.h>

void sim_live_count(simcudaLive *live);

// Reports each thing that is alive, except contexts; returns how many there are.
uint64_t sim_live_check(void);

#endif
