#include "order/foreign.h"

CUresult sp_foreign_free(CUdeviceptr address, const struct sp_stream *stream) {
    if (!stream)
        return sp_native_noted(sp_driver->cuMemFree(address), "cuMemFree");
    return sp_native_noted(sp_driver->cuMemFreeAsync(address, sp_stream_handle_now(stream)),
                           "cuMemFreeAsync");
}
