// The last native error of the calling thread: a code of the driver and the entry point that
// returned it. Slow paths note it where they turn an error of the driver into one of ours.
#ifndef STREAMPOOL_DRIVER_NATIVE_H
#define STREAMPOOL_DRIVER_NATIVE_H

#include "driver/abi.h"

// Notes an error. The name is kept, not copied.
void sp_native_error_note(CUresult error, const char *entry_point);

// Returns the noted error; before the first note CUDA_SUCCESS and "".
void sp_native_error_last(CUresult *error, const char **entry_point);

// Notes a failure of a call, and returns the code unchanged. "Not ready" is an answer, no failure.
static inline CUresult sp_native_noted(CUresult error, const char *entry_point) {
    if (error != CUDA_SUCCESS && error != CUDA_ERROR_NOT_READY)
        sp_native_error_note(error, entry_point);
    return error;
}

#endif
