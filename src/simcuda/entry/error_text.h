// A sentence for each code that a call may return (cuGetErrorString). A code that the list lacks is
// one that the compiler warns of.
#ifndef STREAMPOOL_SIMCUDA_ENTRY_ERROR_TEXT_H
#define STREAMPOOL_SIMCUDA_ENTRY_ERROR_TEXT_H

#include "driver/abi.h"

// Null for what is no code. Needs no lock.
const char *sim_error_text(CUresult error);

#endif
