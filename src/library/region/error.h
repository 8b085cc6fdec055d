// Errors: a failing call leaves a code, a sentence and the driver's own error behind for its
// thread.
//
// Each failing call goes through exactly one of these; a call that succeeds touches nothing.
#ifndef STREAMPOOL_REGION_ERROR_H
#define STREAMPOOL_REGION_ERROR_H

#include "driver/driver.h"

#include <streampool/streampool.h>

// A longer sentence is cut.
enum { SP_ERROR_DETAIL = 1024 };

// Notes the sentence and returns the error. The driver had no part in it.
poolError_t sp_fail(poolError_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Notes an error that came up from the driver, or from the layers that speak its codes, and returns
// our code for it. The sentence is "<what>: <entry point> returned <name>", or "<what>: out of host
// memory".
poolError_t sp_fail_driver(CUresult error, const char *what);

// After sp_fail(): the driver had a part in it.
void sp_fail_of_driver(CUresult native, const char *entry_point);

// Our code for a driver's.
poolError_t sp_error_of(CUresult error);

const char *sp_error_detail(void);
void sp_error_native(CUresult *error, const char **entry_point);

#endif
