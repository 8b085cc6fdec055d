#include "api/admit.h"

poolError_t sp_admit_refuse_allocation(struct sp_outcome outcome) {
    if (sp_outcome_is_capture(outcome))
        return sp_fail(poolErrorStreamCaptureUnsupported, "the stream is capturing");
    return sp_fail_outcome(outcome, "asking whether the stream is capturing");
}

// In a capture only memory of the graph could be freed, and none of ours is.
poolError_t sp_admit_refuse_free(struct sp_outcome outcome) {
    if (sp_outcome_is_capture(outcome))
        return sp_fail(poolErrorInvalidValue,
                       "the stream is capturing, and the memory is not the graph's");
    return sp_admit_refuse_allocation(outcome);
}

struct sp_stream *sp_admit_remember(CUstream handle, const struct sp_pool *pool,
                                    poolError_t *error) {
    struct sp_stream *stream = NULL;
    *error = sp_api_stream(handle, pool, &stream);
    if (*error == poolSuccess)
        sp_remember_stream(stream, handle);
    return stream;
}

struct sp_stream *sp_admit_late(struct sp_outcome capture, CUstream handle,
                                const struct sp_pool *pool, sp_admit_refuse *refuse,
                                poolError_t *error) {
    struct sp_stream *stream = NULL;
    capture = sp_api_supply_context(capture, handle, pool);
    if (sp_is_done(capture))
        capture = sp_resolve_capture(handle);
    *error = sp_is_done(capture) ? sp_api_stream(handle, pool, &stream) : refuse(capture);
    return stream;
}

struct sp_stream *sp_admit_identify(CUstream handle, const struct sp_pool *pool,
                                    poolError_t *error) {
    struct sp_stream *stream = NULL;
    *error = sp_api_stream(handle, pool, &stream);
    return stream;
}

struct sp_stream *sp_admit_to_note(CUstream handle) {
    struct sp_stream *stream = NULL;
    if (sp_is_done(sp_resolve_capture(handle)) && sp_is_done(sp_resolve_stream(handle, &stream)))
        return stream;
    return NULL;
}
