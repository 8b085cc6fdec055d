// The mode in which the library makes its own calls: relaxed, so that a call that a capture
// elsewhere in the process forbids leaves that capture valid.
//
// A caller enters before the first of its calls and leaves after the last.
#ifndef STREAMPOOL_ORDER_CAPTURE_MODE_H
#define STREAMPOOL_ORDER_CAPTURE_MODE_H

#include "driver/driver.h"

// Returns the mode to leave to.
static inline CUstreamCaptureMode sp_capture_mode_relax(void) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static inline void sp_capture_mode_restore(CUstreamCaptureMode mode) {
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
}

#endif
