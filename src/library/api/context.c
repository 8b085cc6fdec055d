// A call on a default stream gets a current context where it has none, as the runtime's calls do.
#include "order/context.h"
#include "api/api.h"
#include "order/resolve.h"

static _Thread_local bool demands;

bool sp_api_demand_context(bool demand) {
    bool before = demands;
    demands = demand;
    return before;
}

static bool has_context(void) {
    CUcontext context = NULL;
    uint64_t id;
    return sp_context_current(&context, &id) != CUDA_SUCCESS || context;
}

CUresult sp_api_supply_context(CUresult error, CUstream handle, const struct sp_pool *pool) {
    if (error != CUDA_ERROR_INVALID_CONTEXT || !sp_stream_is_default(handle) || demands ||
        has_context())
        return error;
    struct sp_device *device = pool ? pool->device : &sp_devices[0];
    return sp_primary_make_current(&device->primary, (int)(device - sp_devices));
}

poolError_t sp_api_stream(CUstream handle, const struct sp_pool *pool, struct sp_stream **stream) {
    CUresult error = sp_resolve_stream(handle, stream);
    if (error != CUDA_SUCCESS) {
        error = sp_api_supply_context(error, handle, pool);
        if (error == CUDA_SUCCESS)
            error = sp_resolve_stream(handle, stream);
    }
    return error == CUDA_SUCCESS ? poolSuccess : sp_fail_driver(error, "identifying the stream");
}
