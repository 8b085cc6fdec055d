#include "order/identified.h"

#include "base/cold.h"
#include "order/action.h"
#include "order/identity.h"
#include "order/meet.h"
#include "order/registry.h"
#include "order/synchronize.h"

struct sp_outcome sp_identified_meet(CUstream handle, uint64_t id, struct sp_stream **stream) {
    return sp_meet_stream(handle, &(struct sp_stream_name){{id, 0, 0}}, stream);
}

// -------------------------------------------------------------------------------- legacy streams

// The legacy streams that this thread has named last, by the id of the context that was current
// then. A context has one such stream as long as it lives, so its id, which the driver tells in two
// thirds of the time, stands for the stream's. Green contexts, too, have an id each: see the
// conformance program's group gpu. The driver counts ids one by one.
static unsigned place_of(unsigned long long context_id) {
    return context_id % SP_REMEMBER_LEGACIES;
}

static bool is_legacy_of(const struct sp_legacy *legacy, unsigned long long context_id) {
    return legacy->stream && legacy->context_id == context_id &&
           sp_stream_word(legacy->stream, 0) == legacy->id;
}

// Finds the stream by its id, whether the thread remembers it or not.
static struct sp_outcome find_by_id(CUstream handle, unsigned long long *id,
                                    struct sp_stream **stream) {
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuStreamGetId(handle, id), "cuStreamGetId");
    return sp_is_done(outcome) ? sp_identified_meet(handle, *id, stream) : outcome;
}

// The stream is asked for its own id. It is kept where the context's is known, which is never 0.
static struct sp_outcome ask_for_legacy(CUstream handle, unsigned long long context_id,
                                        struct sp_stream **stream) {
    unsigned long long id = 0;
    struct sp_outcome outcome = find_by_id(handle, &id, stream);
    struct sp_remembered *own = sp_is_done(outcome) && context_id != 0 ? sp_remember_own() : NULL;
    if (own)
        own->legacies[place_of(context_id)] = (struct sp_legacy){context_id, id, *stream};
    return outcome;
}

SP_APART struct sp_outcome sp_identified_resolve_legacy(CUstream handle,
                                                        struct sp_stream **stream) {
    unsigned long long context_id = 0;
    if (sp_driver->cuCtxGetId(NULL, &context_id) != CUDA_SUCCESS)
        context_id = 0;
    const struct sp_legacy *legacy = &sp_remembered->legacies[place_of(context_id)];
    if (SP_UNLIKELY(context_id == 0 || !is_legacy_of(legacy, context_id)))
        return ask_for_legacy(handle, context_id, stream);
    *stream = legacy->stream;
    return sp_outcome_done();
}

static struct sp_outcome resolve(CUstream handle, struct sp_stream **stream) {
    unsigned long long id = 0;
    return sp_stream_is_legacy(handle) ? sp_identified_resolve_legacy(handle, stream)
                                       : find_by_id(handle, &id, stream);
}

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
    .resolve = resolve,
    .before_reuse = need_nothing,
    .note_freed = note_freed,
    .before_record = need_nothing,
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
