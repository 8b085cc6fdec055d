#include "order/resolve.h"

#include "order/context.h"
#include "order/end.h"
#include "order/poll.h"
#include "order/registry.h"

// A look at all streams and contexts would take too long.
enum { LOOKS = 8 };

// -------------------------------------------------------------------------------------- describing

static struct sp_outcome kind_of(CUstream handle, enum sp_stream_kind *kind) {
    unsigned int flags = 0;
    *kind = SP_STREAM_LEGACY;
    if (sp_stream_is_legacy(handle))
        return sp_outcome_done();
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuStreamGetFlags(handle, &flags), "cuStreamGetFlags");
    *kind = flags & CU_STREAM_NON_BLOCKING ? SP_STREAM_NON_BLOCKING : SP_STREAM_BLOCKING;
    return outcome;
}

// Where a context comes to many, some may have gone that nobody has asked about.
static struct sp_outcome find_device(struct sp_stream_description *fresh) {
    fresh->device = sp_registry_device(fresh);
    if (fresh->device >= 0)
        return sp_outcome_done();
    if (sp_registry_context_count() >= LOOKS)
        sp_end_some_gone_contexts(NULL);
    return sp_context_device(fresh->context, &fresh->device);
}

// The name of an anonymous stream may be that of a blocking one, so it acts whatever its kind.
static struct sp_outcome describe(CUstream handle, struct sp_stream_description *fresh) {
    fresh->handle = handle;
    fresh->identified = sp_identity_has_ids();
    struct sp_outcome outcome = sp_context_of_stream(handle, &fresh->context);
    if (sp_is_done(outcome))
        outcome = sp_context_id(fresh->context, &fresh->context_id);
    if (sp_is_done(outcome))
        outcome = kind_of(handle, &fresh->kind);
    fresh->acts = !fresh->identified || fresh->kind != SP_STREAM_NON_BLOCKING;
    return sp_is_done(outcome) ? find_device(fresh) : outcome;
}

// ------------------------------------------------------------------------------------------ adding

static struct sp_outcome add(CUstream handle, const struct sp_stream_name *name,
                             struct sp_stream **stream) {
    struct sp_stream_description fresh = {.name = *name};
    struct sp_stream *pending[LOOKS];
    struct sp_outcome outcome = describe(handle, &fresh);
    if (!sp_is_done(outcome))
        return outcome;
    // The context is alive: its new stream was just passed to us. What the driver says of the
    // events of those that are gone, others will know.
    int count = sp_registry_find_pending(&fresh, pending, LOOKS);
    for (int i = 0; i < count; i++)
        sp_poll_stream(pending[i]);
    *stream = sp_registry_add(&fresh);
    return *stream ? sp_outcome_done() : sp_outcome_of(SP_NO_HOST_MEMORY);
}

struct sp_outcome sp_resolve_name(CUstream handle, const struct sp_stream_name *name,
                                  struct sp_stream **stream) {
    *stream = sp_registry_find(name);
    struct sp_outcome outcome = *stream ? sp_outcome_done() : add(handle, name, stream);
    if (!sp_is_done(outcome))
        return outcome;
    if (handle == CU_STREAM_PER_THREAD)
        sp_end_with_thread(*stream, name);
    struct sp_stream_cache *own = sp_stream_cache_own();
    if (own)
        own->by_name[sp_stream_cache_place(name)] = *stream;
    return sp_outcome_done();
}

struct sp_outcome sp_resolve_id(CUstream handle, uint64_t id, struct sp_stream **stream) {
    return sp_resolve_name(handle, &(struct sp_stream_name){{id, 0, 0}}, stream);
}

// --------------------------------------------------------------------------------- legacy streams

// The legacy streams that this thread has named last, by the id of the context that was current
// then. A context has one such stream as long as it lives, so its id, which the driver tells in two
// thirds of the time, stands for the stream's. Green contexts, too, have an id each: see the
// conformance program's group gpu. The driver counts ids one by one.
static unsigned place_of(unsigned long long context_id) {
    return context_id % SP_STREAM_CACHE_LEGACIES;
}

static bool is_legacy_of(const struct sp_legacy *legacy, unsigned long long context_id) {
    return legacy->stream && legacy->context_id == context_id &&
           sp_stream_word(legacy->stream, 0) == legacy->id;
}

// The stream is asked for its own id. It is kept where the context's is known, which is never 0.
static struct sp_outcome ask_for_legacy(CUstream handle, unsigned long long context_id,
                                        struct sp_stream **stream) {
    unsigned long long id = 0;
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuStreamGetId(handle, &id), "cuStreamGetId");
    if (sp_is_done(outcome))
        outcome = sp_resolve_id(handle, id, stream);
    struct sp_stream_cache *own =
        sp_is_done(outcome) && context_id != 0 ? sp_stream_cache_own() : NULL;
    if (own)
        own->legacies[place_of(context_id)] = (struct sp_legacy){context_id, id, *stream};
    return outcome;
}

SP_APART struct sp_outcome sp_resolve_legacy(CUstream handle, struct sp_stream **stream) {
    unsigned long long context_id = 0;
    if (sp_driver->cuCtxGetId(NULL, &context_id) != CUDA_SUCCESS)
        context_id = 0;
    const struct sp_legacy *legacy = &sp_stream_cache->legacies[place_of(context_id)];
    if (SP_UNLIKELY(context_id == 0 || !is_legacy_of(legacy, context_id)))
        return ask_for_legacy(handle, context_id, stream);
    *stream = legacy->stream;
    return sp_outcome_done();
}
