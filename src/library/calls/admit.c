#include "calls/admit.h"

#include "region/device.h"
#include "supply/trim.h"

// The stream may be one of another device: what that may use is between the program and the driver.
poolError_t sp_admit(struct sp_pool *pool, struct sp_stream *stream) {
    struct sp_device *device = pool->device;
    int ordinal = device->vmm.ordinal;
    CUcontext context;
    uint64_t id;
    const struct sp_vmm_provider *provider = sp_vmm_provider(&device->vmm);
    if (sp_pool_residency(pool) != SP_RESIDENT)
        return sp_fail(poolErrorIllegalState,
                       "the pool's memory is evicted; "
                       "poolMemPoolMakeResident brings it back");
    if (!provider->is_of_context)
        return poolSuccess;
    struct sp_outcome outcome = sp_device_retain_context(device, stream, &context, &id);
    if (!sp_is_done(outcome))
        return sp_fail_outcome(outcome, "retaining the device's primary context");
    if (provider->is_contexts_own && stream && stream->device == ordinal &&
        !sp_stream_is_of(stream, context, id))
        return sp_fail(poolErrorNotSupported,
                       "device %d has no virtual memory management, so its pools have memory of "
                       "its primary context, and the stream is one of another context",
                       ordinal);
    if (provider->is_contexts_own && sp_access_has_peers(&pool->access))
        return sp_fail(poolErrorNotSupported,
                       "device %d has turned out to have no virtual memory management, so the pool "
                       "gets no memory while it lets other devices in: poolMemPoolSetAccess takes "
                       "their access back",
                       ordinal);
    if (stream)
        sp_store_relaxed(&stream->bound_to_context, true);
    // A thread that comes late with the id of before loses nothing, and the next one looks once
    // more.
    if (sp_load_relaxed(&pool->context_id) != id || sp_load_relaxed(&pool->lost_whole) > 0) {
        sp_trim_lost(pool);
        sp_store_relaxed(&pool->context_id, id);
    }
    return poolSuccess;
}

poolError_t sp_admit_fail(struct sp_pool *pool, struct sp_stream *stream, struct sp_outcome outcome,
                          const char *what) {
    poolError_t error = sp_outcome_lacks_support(outcome) ? sp_admit(pool, stream) : poolSuccess;
    return error == poolSuccess ? sp_fail_outcome(outcome, what) : error;
}
