#include "order/foreign.h"

struct sp_outcome sp_foreign_free(CUdeviceptr address, const struct sp_stream *stream) {
    if (!stream)
        return sp_outcome_of_driver(sp_driver->cuMemFree(address), "cuMemFree");
    return sp_outcome_of_driver(sp_driver->cuMemFreeAsync(address, sp_stream_handle_now(stream)),
                                "cuMemFreeAsync");
}
