// This declares what driver/abi.h doesn't of the driver's binary interface, as the project itself
// doesn't use it, and programs on the simulated driver do. Names, values and layouts are those of
// the driver's own header.
#ifndef STREAMPOOL_SIMCUDA_ABI_H
#define STREAMPOOL_SIMCUDA_ABI_H

#include "driver/abi.h"

typedef int CUjit_option; // an enumeration there; no option changes what is done here

#endif
