// The capture mode in which the library makes its own calls is the relaxed one, so that a call that
// a capture elsewhere in the process forbids leaves that capture valid.
//
// A caller relaxes the mode before the first of its calls and restores it after the last.
#ifndef STREAMPOOL_ORDER_CAPTURE_MODE_H
#define STREAMPOOL_ORDER_CAPTURE_MODE_H

#include "driver/driver.h"

// Returns the mode to restore.
static inline CUstreamCaptureMode sp_capture_mode_relax(void) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static inline void sp_capture_mode_restore(CUstreamCaptureMode mode) {
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
}

#endif
