// Streams come and go. They come by resolving: from a handle that a caller has just passed to us to
// the stream behind it. They go by a call that destroys one, with their thread, or with their
// context.
//
// Where the driver has ids, the common case is one driver call and no lock.
#ifndef STREAMPOOL_ORDER_RESOLVE_H
#define STREAMPOOL_ORDER_RESOLVE_H

#include "base/cold.h"
#include "order/identity.h"
#include "order/stream_cache.h"

// Finds the stream with a name that isn't in the calling thread's cache, or asks the driver for
// what else there is to know of it and adds it to the registry, and to the thread's cache.
struct sp_outcome sp_resolve_name(CUstream handle, const struct sp_stream_name *name,
                                  struct sp_stream **stream);

// Finds an identified stream by its id, likewise.
struct sp_outcome sp_resolve_id(CUstream handle, uint64_t id, struct sp_stream **stream);

// Finds the legacy stream of the current context, where streams are identified.
struct sp_outcome sp_resolve_legacy(CUstream handle, struct sp_stream **stream);

// Asks whether the stream takes part in a capture: SP_CAPTURES when so, and the driver's failure
// when even asking is one (the legacy stream beside a capturing one; no context).
static inline struct sp_outcome sp_resolve_capture(CUstream handle) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult code = sp_driver->cuStreamIsCapturing(handle, &status);
    if (SP_UNLIKELY(code != CUDA_SUCCESS))
        return sp_outcome_of_code(code, "cuStreamIsCapturing");
    if (SP_UNLIKELY(status != CU_STREAM_CAPTURE_STATUS_NONE))
        return sp_outcome_of(SP_CAPTURES);
    return sp_outcome_done();
}

// The slot in the thread's cache for an id may be another stream's by now: a thread that finds
// the id there sees what the slot was described with.
static inline struct sp_outcome sp_resolve_stream(CUstream handle, struct sp_stream **stream) {
    unsigned long long id = 0;
    if (SP_UNLIKELY(!sp_driver->cuStreamGetId))
        return sp_anonymous.resolve(handle, stream);
    if ((uintptr_t)handle <= (uintptr_t)CU_STREAM_LEGACY)
        return sp_resolve_legacy(handle, stream);
    CUresult code = sp_driver->cuStreamGetId(handle, &id);
    if (SP_UNLIKELY(code != CUDA_SUCCESS))
        return sp_outcome_of_code(code, "cuStreamGetId");
    struct sp_stream *known = sp_stream_cache->by_name[id % SP_STREAM_CACHE_NAMES];
    if (SP_UNLIKELY(!known || sp_load_acquire(&known->key.word[0]) != id))
        return sp_resolve_id(handle, id, stream);
    *stream = known;
    return sp_outcome_done();
}

// ----------------------------------------------------------------------------------------- the end

// Marks what the stream freed, and destroys it. `stream` is the one behind the handle, or null when
// that is capturing.
struct sp_outcome sp_end_stream(struct sp_stream *stream, CUstream handle);

// Has streams be destroyed by this function, in place of the driver's.
void sp_end_set_destroyer(CUresult (*destroy)(CUstream stream));

// Ends the streams of contexts that were destroyed or reset, as far as the driver can tell: what
// was freed there is complete. Each context with frees pending is asked once, but that of `alive`
// (may be null), a stream that the caller was just passed. True when something was learned.
bool sp_end_gone_contexts(const struct sp_stream *alive);

// Asks a few contexts, by turns. Else it is as sp_end_gone_contexts().
bool sp_end_some_gone_contexts(const struct sp_stream *alive);

#endif
