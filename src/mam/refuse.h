// Errors of a manager's calls: each notes a sentence for the thread, and returns the error.
#ifndef STREAMPOOL_MAM_REFUSE_H
#define STREAMPOOL_MAM_REFUSE_H

#include "driver/driver.h"

#include <streampool/streampool.h>

poolError_t sp_refuse(poolError_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Puts what failed in front of the sentence that a call of streampool.h has just left.
poolError_t sp_refuse_again(poolError_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// A failure of the driver, or one that sp_home_open() returns.
poolError_t sp_refuse_outcome(struct sp_outcome outcome, const char *what);

#endif
