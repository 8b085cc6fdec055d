// The report of the process for `streampool run` (format.h): it tells when the process begins, when
// it makes its first pool call, and, at its end, what its calls did. A process of which no report
// is wanted writes nothing and registers nothing.
//
// *The end.* The driver's own figures are read by a handler of atexit() that is registered behind
// the driver's, and so runs before it. All else is read by a destructor of this library, behind the
// program's handlers. A forked child takes over none of its parent's counts.
#ifndef STREAMPOOL_DROPIN_REPORT_H
#define STREAMPOOL_DROPIN_REPORT_H

#include "driver/abi.h"

#include <stdint.h>

// The library has started, or has refused with this code, in an initialised driver.
void sp_report_start(CUresult answer);

#endif
