// In the place of the toolkit's header, for programs of the driver that are built here: all entry
// points of the list that this project has.
#ifndef DROPIN_CUDA_H
#define DROPIN_CUDA_H

#include "driver/abi.h"
#include "driver/table.h"

#define cuEventDestroy  cuEventDestroy_v2
#define cuStreamDestroy cuStreamDestroy_v2

#define DECLARATION(name, symbol, version, need, parameters) CUresult symbol parameters;
SP_DRIVER_TABLE(DECLARATION)
#undef DECLARATION

#endif
