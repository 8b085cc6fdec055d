// Identified streams: drivers from CUDA 12.0 have an id for each stream and each context, which is
// never used again. The rest of order/identified.c is reached through order/identity.h.
#ifndef STREAMPOOL_ORDER_IDENTIFIED_H
#define STREAMPOOL_ORDER_IDENTIFIED_H

#include "order/remember.h"

// Finds the stream with an id that the calling thread doesn't remember.
CUresult sp_identified_meet(CUstream handle, uint64_t id, struct sp_stream **stream);

// Finds the legacy stream of the current context.
CUresult sp_identified_resolve_legacy(CUstream handle, struct sp_stream **stream);

// Finds a stream by its id, and tells that. The slot may be another stream's by now: a thread that
// finds the id there sees what the slot was described with.
static inline CUresult sp_identified_resolve_by_id(CUstream handle, unsigned long long *id,
                                                   struct sp_stream **stream) {
    CUresult error = sp_driver->cuStreamGetId(handle, id);
    if (error != CUDA_SUCCESS)
        return sp_native_noted(error, "cuStreamGetId");
    struct sp_stream *known = *sp_remember_entry(sp_hash(*id));
    if (!known || sp_stream_word(known, 0) != *id)
        return sp_identified_meet(handle, *id, stream);
    *stream = known;
    return CUDA_SUCCESS;
}

static inline CUresult sp_identified_resolve(CUstream handle, struct sp_stream **stream) {
    unsigned long long id = 0;
    return sp_stream_is_legacy(handle) ? sp_identified_resolve_legacy(handle, stream)
                                       : sp_identified_resolve_by_id(handle, &id, stream);
}

#endif
