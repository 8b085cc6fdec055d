// Foreign memory: that of the driver's own allocators, which is freed through the driver.
#ifndef STREAMPOOL_ORDER_FOREIGN_H
#define STREAMPOOL_ORDER_FOREIGN_H

#include "order/stream.h"

// True when the driver frees its memory in a stream's order (CUDA 11.2).
static inline bool sp_foreign_frees_in_order(void) {
    return sp_driver->cuMemFreeAsync != NULL;
}

// Frees memory of the driver's in the order of a stream that the caller was just passed. With none
// it is freed at once: then the driver waits for the device, and needs a current context. An
// address that is no memory of the driver's is an error of the driver's own.
static inline struct sp_outcome sp_foreign_free(CUdeviceptr address,
                                                const struct sp_stream *stream) {
    if (!stream)
        return sp_outcome_of_driver(sp_driver->cuMemFree(address), "cuMemFree");
    return sp_outcome_of_driver(sp_driver->cuMemFreeAsync(address, sp_stream_handle_now(stream)),
                                "cuMemFreeAsync");
}

#endif
