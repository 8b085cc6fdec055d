// Who a stream is: what the driver tells of a handle that a caller has just passed to us.
//
// A *name* is what a stream is looked up by: the id of an identified stream; context id, handle
// and, for a per-thread default stream, host thread of an anonymous one: see the top of
// order/stream.h. A *description* is what else there is to know of a stream that is new to us.
#ifndef STREAMPOOL_ORDER_IDENTITY_H
#define STREAMPOOL_ORDER_IDENTITY_H

#include "driver/driver.h"
#include "order/rule.h"

#include <stdbool.h>
#include <stdint.h>

// (id, 0, 0) of an identified stream; (context id, handle, thread number or 0) of an anonymous one.
struct sp_stream_name {
    uint64_t word[3];
};

struct sp_stream_description {
    struct sp_stream_name name;
    CUstream handle;
    CUcontext context;
    uint64_t context_id;
    int device;
    enum sp_stream_kind kind;
    bool identified;
};

// Whether the stream takes part in a capture: CUDA_SUCCESS when not,
// CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED when so, and what the driver says when even asking is an
// error (the legacy stream beside a capturing one; no context).
static inline CUresult sp_stream_check_capture(CUstream handle) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult error = sp_driver->cuStreamIsCapturing(handle, &status);
    if (error != CUDA_SUCCESS)
        return sp_native_noted(error, "cuStreamIsCapturing");
    return status == CU_STREAM_CAPTURE_STATUS_NONE ? CUDA_SUCCESS
                                                   : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static inline bool sp_stream_is_default(CUstream handle) {
    return handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

static inline bool sp_stream_is_legacy(CUstream handle) {
    return (uintptr_t)handle <= (uintptr_t)CU_STREAM_LEGACY;
}

// The null stream is the legacy one by another name.
static inline CUstream sp_stream_proper_handle(CUstream handle) {
    return handle ? handle : CU_STREAM_LEGACY;
}

// Whether the driver has ids.
static inline bool sp_identity_has_ids(void) {
    return sp_driver->cuStreamGetId != NULL;
}

// The name of a stream where the driver has none: two calls.
CUresult sp_stream_name_anonymously(CUstream handle, struct sp_stream_name *name);

// Fills in all but the name and the device.
CUresult sp_stream_describe(CUstream handle, struct sp_stream_description *description);

#endif
