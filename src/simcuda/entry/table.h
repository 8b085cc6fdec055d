// The entry points that the simulated driver has for programs beyond those of driver/table.h, which
// the project itself calls.
//
//   SIM_TABLE(X) expands X(name, symbol, version, parameters) once for each, with driver/table.h's
//   columns. A name may stand in several rows, and in one of driver/table.h: then each symbol is
//   the form of another version, and cuGetProcAddress gives the newest one that is not newer than
//   what is asked for.
#ifndef STREAMPOOL_SIMCUDA_ENTRY_TABLE_H
#define STREAMPOOL_SIMCUDA_ENTRY_TABLE_H

#include "simcuda/entry/table_copy.h"
#include "simcuda/entry/table_device.h"
#include "simcuda/entry/table_kernel.h"

// clang-format off
#define SIM_TABLE(X) \
    SIM_TABLE_DEVICE(X) \
    SIM_TABLE_COPY(X) \
    SIM_TABLE_KERNEL(X)
// clang-format on

#endif
