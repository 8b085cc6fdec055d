// What is alive, counted, and the leak check.
#ifndef STREAMPOOL_SIMCUDA_LIVE_H
#define STREAMPOOL_SIMCUDA_LIVE_H

#include <streampool/simcuda.h>

void sim_live_count(simcudaLive *live);

// A report for each thing that is alive, except contexts; returns how many.
uint64_t sim_live_check(void);

#endif
