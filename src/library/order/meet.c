#include "order/meet.h"

#include "order/context.h"
#include "order/end.h"
#include "order/identity.h"
#include "order/poll.h"
#include "order/registry.h"
#include "order/remember.h"
#include "order/thread_end.h"

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
static struct sp_outcome find_device(struct sp_slot_description *fresh) {
    fresh->device = sp_registry_device(fresh);
    if (fresh->device >= 0)
        return sp_outcome_done();
    if (sp_registry_context_count() >= LOOKS)
        sp_end_some_gone_contexts(NULL);
    return sp_context_device(fresh->context, &fresh->device);
}

// The name of an anonymous stream may be that of a blocking one, so it acts whatever its kind.
static struct sp_outcome describe(CUstream handle, struct sp_slot_description *fresh) {
    fresh->handle = handle;
    fresh->identified = sp_identity_has_ids();
    struct sp_outcome outcome = sp_stream_find_context(handle, &fresh->context);
    if (sp_is_done(outcome))
        outcome = sp_context_id(fresh->context, &fresh->context_id);
    if (sp_is_done(outcome))
        outcome = kind_of(handle, &fresh->kind);
    fresh->acts = !fresh->identified || fresh->kind != SP_STREAM_NON_BLOCKING;
    return sp_is_done(outcome) ? find_device(fresh) : outcome;
}

// ------------------------------------------------------------------------------------------ adding

// The context is alive: its new stream was just passed to us. What the driver says of the events,
// others will hear.
static void ask_the_gone(const struct sp_slot_description *fresh) {
    struct sp_stream *pending[LOOKS];
    int count = sp_registry_find_pending(fresh, pending, LOOKS);
    for (int i = 0; i < count; i++)
        sp_poll_stream(pending[i]);
}

static struct sp_outcome add(CUstream handle, const struct sp_stream_name *name,
                             struct sp_stream **stream) {
    struct sp_slot_description fresh = {.name = *name};
    struct sp_outcome outcome = describe(handle, &fresh);
    if (!sp_is_done(outcome))
        return outcome;
    ask_the_gone(&fresh);
    *stream = sp_registry_add(&fresh);
    return *stream ? sp_outcome_done() : sp_outcome_of(SP_NO_HOST_MEMORY);
}

struct sp_outcome sp_meet_stream(CUstream handle, const struct sp_stream_name *name,
                                 struct sp_stream **stream) {
    *stream = sp_registry_find(name);
    struct sp_outcome outcome = *stream ? sp_outcome_done() : add(handle, name, stream);
    if (!sp_is_done(outcome))
        return outcome;
    if (handle == CU_STREAM_PER_THREAD)
        sp_thread_end_note(*stream, name);
    struct sp_remembered *own = sp_remember_own();
    if (own)
        own->by_name[sp_remember_place(name)] = *stream;
    return sp_outcome_done();
}
