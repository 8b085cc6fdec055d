// A library beside the pools makes calls of the driver on its own account. They neither join nor
// break a capture that the calling thread has begun in another stream.
#ifndef STREAMPOOL_BESIDE_CAPTURE_H
#define STREAMPOOL_BESIDE_CAPTURE_H

#include "driver/driver.h"

// Calls that follow may be made though the thread captures, until sp_capture_restore() gets the
// mode that this returns.
static inline CUstreamCaptureMode sp_capture_relax(void) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static inline void sp_capture_restore(CUstreamCaptureMode mode) {
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
}

#endif
