#include "order/identified.h"

#include "base/cold.h"
#include "order/action.h"
#include "order/identity.h"
#include "order/meet.h"
#include "order/registry.h"
#include "order/synchronize.h"

CUresult sp_identified_meet(CUstream handle, uint64_t id, struct sp_stream **stream) {
    return sp_meet_stream(handle, &(struct sp_stream_name){{id, 0, 0}}, stream);
}

// -------------------------------------------------------------------------------- legacy streams

// The legacy streams that this thread has named last, by the id of the context that was current
// then. A context has one such stream as long as it lives, so its id, which the driver tells in two
// thirds of the time, stands for the stream's. Green contexts, too, have an id each: see the
// conformance program's group gpu.
enum { LEGACY_STREAMS = 4 }; // ids are counted by the driver, one by one
static _Thread_local __attribute__((tls_model("initial-exec"))) struct legacy {
    unsigned long long context_id; // 0: none
    unsigned long long id;
    struct sp_stream *stream;
} legacies[LEGACY_STREAMS];

static bool is_legacy_of(const struct legacy *legacy, unsigned long long context_id) {
    return legacy->stream && legacy->context_id == context_id &&
           sp_stream_word(legacy->stream, 0) == legacy->id;
}

// Finds the stream by its id, whether the thread remembers it or not.
static CUresult find_by_id(CUstream handle, unsigned long long *id, struct sp_stream **stream) {
    CUresult error = sp_driver->cuStreamGetId(handle, id);
    return error == CUDA_SUCCESS ? sp_identified_meet(handle, *id, stream)
                                 : sp_native_noted(error, "cuStreamGetId");
}

// The stream is asked for its own id. It is kept where the context's is known, which is never 0.
static CUresult ask_for_legacy(CUstream handle, unsigned long long context_id,
                               struct legacy *legacy, struct sp_stream **stream) {
    unsigned long long id = 0;
    CUresult error = find_by_id(handle, &id, stream);
    if (error == CUDA_SUCCESS && context_id != 0)
        *legacy = (struct legacy){context_id, id, *stream};
    return error;
}

SP_APART CUresult sp_identified_resolve_legacy(CUstream handle, struct sp_stream **stream) {
    unsigned long long context_id = 0;
    if (sp_driver->cuCtxGetId(NULL, &context_id) != CUDA_SUCCESS)
        context_id = 0;
    struct legacy *legacy = &legacies[context_id % LEGACY_STREAMS];
    if (SP_UNLIKELY(context_id == 0 || !is_legacy_of(legacy, context_id)))
        return ask_for_legacy(handle, context_id, legacy, stream);
    *stream = legacy->stream;
    return CUDA_SUCCESS;
}

static CUresult resolve(CUstream handle, struct sp_stream **stream) {
    unsigned long long id = 0;
    return sp_stream_is_legacy(handle) ? sp_identified_resolve_legacy(handle, stream)
                                       : find_by_id(handle, &id, stream);
}

// ---------------------------------------------------------------------------------------- contexts

static CUresult context_id(CUcontext context, uint64_t *id) {
    unsigned long long value = 0;
    CUresult error = sp_native_noted(sp_driver->cuCtxGetId(context, &value), "cuCtxGetId");
    *id = value;
    return error;
}

static bool context_is_gone(CUcontext context, uint64_t id) {
    unsigned long long now = 0;
    CUresult error = sp_driver->cuCtxGetId(context, &now);
    return error == CUDA_ERROR_CONTEXT_IS_DESTROYED || (error == CUDA_SUCCESS && now != id);
}

// ----------------------------------------------------------------------------------- the interface

// A name stands for one stream, so there is nothing to do for others.
static CUresult need_nothing(struct sp_stream *stream) {
    (void)stream;
    return CUDA_SUCCESS;
}

static CUresult note_freed(struct sp_stream *stream, uint64_t *sequence) {
    sp_raise(&stream->freed, *sequence);
    return CUDA_SUCCESS;
}

static CUresult find_nothing(struct sp_stream *stream, struct sp_fence fence) {
    (void)stream, (void)fence;
    return CUDA_ERROR_NOT_FOUND;
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
