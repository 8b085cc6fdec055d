// This declares what driver/abi.h doesn't of the driver's binary interface, as the project itself
// doesn't use it, and programs on the simulated driver do: a file for each part of table.h. Names,
// values and layouts are those of the driver's own header; the test driver_abi compares them where
// a toolkit is installed.
#ifndef STREAMPOOL_SIMCUDA_ENTRY_ABI_H
#define STREAMPOOL_SIMCUDA_ENTRY_ABI_H

#include "simcuda/entry/abi_copy.h"
#include "simcuda/entry/abi_device.h"
#include "simcuda/entry/abi_kernel.h"

#endif
