// A call on a default stream gets a current context where it has none, as the runtime's calls do.
#include "api/api.h"
#include "process/promises.h"

static _Thread_local unsigned char terms; // static thread-local memory is scarce

int sp_api_set_terms(int set) {
    int before = terms;
    terms = (unsigned char)set;
    return before;
}

int sp_api_promises(void) {
    return sp_promises_that_hold(terms);
}

struct sp_outcome sp_api_supply_context(struct sp_outcome outcome, CUstream handle,
                                        const struct sp_pool *pool) {
    CUcontext current = NULL;
    uint64_t id;
    if (!sp_outcome_lacks_context(outcome) || !sp_stream_is_default(handle) ||
        terms & SP_API_DEMANDS || !sp_is_done(sp_context_current(&current, &id)) || current)
        return outcome;
    struct sp_device *device = pool ? pool->device : &sp_devices[0];
    return sp_context_make_primary_current(&device->primary, (int)(device - sp_devices));
}

poolError_t sp_api_stream_late(struct sp_outcome outcome, CUstream handle,
                               const struct sp_pool *pool, struct sp_stream **stream) {
    outcome = sp_api_supply_context(outcome, handle, pool);
    if (sp_is_done(outcome))
        outcome = sp_resolve_stream(handle, stream);
    return sp_is_done(outcome) ? poolSuccess : sp_fail_outcome(outcome, "identifying the stream");
}

poolError_t sp_api_stream(CUstream handle, const struct sp_pool *pool, struct sp_stream **stream) {
    struct sp_outcome outcome = sp_resolve_stream(handle, stream);
    return sp_is_done(outcome) ? poolSuccess : sp_api_stream_late(outcome, handle, pool, stream);
}
