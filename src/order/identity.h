// Who a stream is: what the driver tells of a handle that a caller has just passed to us.
//
// A *name* is what a stream is looked up by: the id of an identified stream; context id, handle and, for a
// per-thread default stream, host thread of an anonymous one: see the top of order/stream.h. A *description*
// is what else there is to know of a stream that is new to us.
#ifndef STREAMPOOL_ORDER_IDENTITY_H
#define STREAMPOOL_ORDER_IDENTITY_H

#include "base/mutant.h"
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

// Whether the stream takes part in a capture: CUDA_SUCCESS when not, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
// when so, and what the driver says when even asking is an error (the legacy stream beside a capturing one;
// no context).
CUresult sp_stream_check_capture(CUstream handle);

bool sp_stream_is_default(CUstream handle);

// The name of a stream. The common case is one driver call; the other one, of two, is for drivers without ids.
CUresult sp_stream_name_anonymously(CUstream handle, struct sp_stream_name *name);
static inline CUresult sp_stream_identify(CUstream handle, struct sp_stream_name *name) {
    if (!sp_driver->cuStreamGetId || SP_IS_MUTANT(HandleForId))
        return sp_stream_name_anonymously(handle, name);
    unsigned long long id = 0;
    CUresult error = sp_driver->cuStreamGetId(handle, &id);
    *name = (struct sp_stream_name){{id, 0, 0}};
    return sp_native_noted(error, "cuStreamGetId");
}

// Fills in all but the name.
CUresult sp_stream_describe(CUstream handle, struct sp_stream_description *description);

#endif
