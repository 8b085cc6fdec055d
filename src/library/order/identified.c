// Identified streams: drivers from CUDA 12.0 have an id for each stream and each context, which is
// never used again.
#include "order/action.h"
#include "order/identity.h"
#include "order/registry.h"
#include "order/synchronize.h"

// ---------------------------------------------------------------------------------------- contexts

static struct sp_outcome context_id(CUcontext context, uint64_t *id) {
    unsigned long long value = 0;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuCtxGetId(context, &value), "cuCtxGetId");
    *id = value;
    return outcome;
}

static bool context_is_gone(CUcontext context, uint64_t id) {
    unsigned long long now = 0;
    CUresult answer = sp_driver->cuCtxGetId(context, &now);
    return answer == CUDA_ERROR_CONTEXT_IS_DESTROYED || (answer == CUDA_SUCCESS && now != id);
}

// ----------------------------------------------------------------------------------- the interface

// A name stands for one stream, so there is nothing to do for others.
static struct sp_outcome need_nothing(struct sp_stream *stream) {
    (void)stream;
    return sp_outcome_done();
}

static struct sp_outcome note_freed(struct sp_stream *stream, uint64_t *sequence) {
    sp_atomic_raise(&stream->freed, *sequence);
    return sp_outcome_done();
}

static struct sp_outcome find_nothing(struct sp_stream *stream, struct sp_fence fence) {
    (void)stream, (void)fence;
    return sp_outcome_of(SP_NO_EVENT);
}

const struct sp_identity sp_identified = {
    .note_freed = note_freed,
    .after_wait = need_nothing,
    .wait_unmarked = find_nothing,
    .poll_unmarked = need_nothing,
    .act = sp_action_by_event,
    .synchronize = sp_synchronize_by_mark,
    .query = sp_synchronize_query_by_mark,
    .set_destroyed = sp_registry_set_gone,
    .context_id = context_id,
    .known_context_id = context_id,
    .context_is_gone = context_is_gone,
};
