#include "order/stream.h"

#include <stdlib.h>
#include <string.h>

struct sp_stream *_Atomic sp_stream_chunks[SP_STREAM_CHUNKS];

_Atomic uint32_t sp_stream_slot_count;

struct sp_outcome sp_stream_find_context(CUstream handle, CUcontext *context) {
    if (!sp_stream_is_default(handle))
        return sp_outcome_of_driver(sp_driver->cuStreamGetCtx(handle, context), "cuStreamGetCtx");
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuCtxGetCurrent(context), "cuCtxGetCurrent");
    if (sp_is_done(outcome) && !*context)
        return sp_outcome_of(SP_NO_CONTEXT);
    return outcome;
}

// ------------------------------------------------------------------------------------------- slots

uint32_t sp_stream_count(void) {
    return sp_load_acquire(&sp_stream_slot_count);
}

static bool make_chunk(uint32_t chunk) {
    struct sp_stream *streams =
        aligned_alloc(_Alignof(struct sp_stream), SP_STREAM_CHUNK * sizeof *streams);
    if (!streams)
        return false;
    memset(streams, 0, SP_STREAM_CHUNK * sizeof *streams);
    sp_store_release(&sp_stream_chunks[chunk], streams);
    return true;
}

struct sp_stream *sp_stream_next_slot(void) {
    uint32_t slot = sp_load_relaxed(&sp_stream_slot_count);
    uint32_t chunk = slot >> SP_STREAM_CHUNK_SHIFT;
    if (chunk == SP_STREAM_CHUNKS)
        return NULL;
    if (!sp_load_relaxed(&sp_stream_chunks[chunk]) && !make_chunk(chunk))
        return NULL;
    struct sp_stream *stream = sp_stream_at(slot);
    stream->slot = slot;
    return stream;
}

void sp_stream_publish_slot(const struct sp_stream *stream) {
    if (stream->slot == sp_load_relaxed(&sp_stream_slot_count))
        sp_store_release(&sp_stream_slot_count, stream->slot + 1);
}
