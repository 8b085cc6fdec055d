// These functions count what is alive, and look for leaks.
#ifndef STREAMPOOL_SIMCUDA_LIVE_H
#define STREAMPOOL_SIMCUDA_LIVE_H

#include <streampool/simcuda.h>

void sim_live_count(simcudaLive *live);

enum sim_live_whose {
    SIM_LIVE_ALL,
    SIM_LIVE_OF_PROGRAM, // not what the library has made for itself (library_entry.h)
};

// Reports each thing that is alive, except contexts; returns how many there are. Of a program whose
// context has failed it reports none.
uint64_t sim_live_check(enum sim_live_whose whose);

#endif
