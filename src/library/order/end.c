#include "order/end.h"

#include "order/context.h"
#include "order/identity.h"
#include "order/mark.h"
#include "order/registry.h"
#include "order/remember.h"

#include <stdlib.h>

// By the driver, or by who stands in for it.
static CUresult (*_Atomic destroyer)(CUstream stream);

void sp_end_set_destroyer(CUresult (*destroy)(CUstream stream)) {
    destroyer = destroy;
}

static CUresult destroy(CUstream stream) {
    CUresult (*by)(CUstream) = destroyer;
    return by ? by(stream) : sp_driver->cuStreamDestroy(stream);
}

// The mark comes first: afterwards the stream can't be recorded any more. That it can't be made is
// no reason to keep the stream. Once the driver has destroyed it, another thread may find a new
// stream at the handle, and that one may be given the slot.
struct sp_outcome sp_end_stream(struct sp_stream *stream, CUstream handle) {
    uint64_t word = stream ? sp_stream_word(stream, 0) : 0;
    if (stream)
        sp_mark_record(stream);
    sp_remember_forget_handle(handle, stream); // before the driver can give it to another
    struct sp_outcome outcome = sp_outcome_of_driver(destroy(handle), "cuStreamDestroy");
    if (!sp_is_done(outcome))
        return outcome;
    if (stream)
        sp_identity_of(stream)->set_destroyed(stream, word);
    return outcome;
}

// ----------------------------------------------------------------------------------- gone contexts

// A look at all contexts would take too long.
enum { LOOKS = 8 };

static bool end_if_gone(const struct sp_registry_context *name) {
    if (!sp_context_is_gone(name->handle, name->id))
        return false;
    sp_registry_end_context(name);
    return true;
}

static bool end_those_gone(const struct sp_registry_context *names, uint32_t count) {
    bool ended = false;
    for (uint32_t i = 0; i < count; i++)
        ended = end_if_gone(&names[i]) || ended;
    return ended;
}

// A context that comes meanwhile is asked next time. Without host memory nothing is asked, and
// nothing learned.
bool sp_end_gone_contexts(const struct sp_stream *alive) {
    uint32_t most = sp_registry_context_count();
    struct sp_registry_context *names = most > 0 ? malloc(most * sizeof *names) : NULL;
    bool ended =
        names && end_those_gone(names, sp_registry_name_contexts(names, most, alive, true));
    free(names);
    return ended;
}

bool sp_end_some_gone_contexts(const struct sp_stream *alive) {
    struct sp_registry_context names[LOOKS];
    return end_those_gone(names, sp_registry_name_contexts(names, LOOKS, alive, false));
}
