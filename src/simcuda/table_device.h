// Devices, contexts, streams, events and what a program asks of them: entry points of a part of
// table.h.
#ifndef STREAMPOOL_SIMCUDA_TABLE_DEVICE_H
#define STREAMPOOL_SIMCUDA_TABLE_DEVICE_H

// clang-format off
#define SIM_TABLE_DEVICE(X) \
    X(cuGetErrorString, cuGetErrorString, 6000, (CUresult error, const char **text))
// clang-format on

#endif
