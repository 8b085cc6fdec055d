// Modules, libraries, kernels and launches: declarations of a part of abi.h.
#ifndef STREAMPOOL_SIMCUDA_ABI_KERNEL_H
#define STREAMPOOL_SIMCUDA_ABI_KERNEL_H

#include "driver/abi.h"

typedef int CUjit_option; // an enumeration there; no option changes what is done here

#endif
