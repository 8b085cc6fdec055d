// Errors of the calls of libraries that stand beside the pools: each notes a sentence for the
// thread, and returns the error.
#ifndef STREAMPOOL_BESIDE_REFUSE_H
#define STREAMPOOL_BESIDE_REFUSE_H

#include "driver/driver.h"

#include <streampool/streampool.h>

poolError_t sp_refuse(poolError_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Puts what failed in front of the sentence that a call of streampool.h has just left.
poolError_t sp_refuse_again(poolError_t error, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Makes the thread's last error what it was, where a call that failed on the way is no failure of
// the program's call.
void sp_refuse_nothing(poolError_t before);

// A failure of the driver, or of code above it.
poolError_t sp_refuse_outcome(struct sp_outcome outcome, const char *what);

#endif
