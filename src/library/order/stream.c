#include "order/stream.h"

#include "base/cold.h"
#include "order/context.h"
#include "order/registry.h"
#include "order/thread_end.h"

#include <string.h>

_Thread_local struct sp_stream *sp_streams_by_id[SP_STREAMS_BY_ID];
_Thread_local struct sp_stream *sp_streams_by_handle[SP_STREAMS_BY_HANDLE];

// --------------------------------------------------------------------------------- behind a handle

static CUresult find_or_add(CUstream handle, const struct sp_stream_name *name,
                            struct sp_stream **stream) {
    *stream = sp_registry_find(name);
    CUresult error = *stream ? CUDA_SUCCESS : sp_registry_add(handle, name, stream);
    if (error != CUDA_SUCCESS)
        return error;
    if (handle == CU_STREAM_PER_THREAD)
        sp_thread_end_note(*stream, name);
    sp_streams_by_id[sp_stream_name_hash(name) % SP_STREAMS_BY_ID] = *stream;
    return CUDA_SUCCESS;
}

void sp_remember_forget_by_thread(void) {
    memset(sp_streams_by_id, 0, sizeof sp_streams_by_id);
    memset(sp_streams_by_handle, 0, sizeof sp_streams_by_handle);
}

CUresult sp_stream_resolve_id(CUstream handle, uint64_t id, struct sp_stream **stream) {
    return find_or_add(handle, &(struct sp_stream_name){{id, 0, 0}}, stream);
}

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
           atomic_load_explicit(&legacy->stream->key.word[0], memory_order_acquire) == legacy->id;
}

// By the stream's own id. Kept where the context's is known, which is never 0.
static CUresult ask_for_legacy(CUstream handle, unsigned long long context_id,
                               struct legacy *legacy, struct sp_stream **stream) {
    unsigned long long id = 0;
    CUresult error = sp_stream_resolve_by_id(handle, &id, stream);
    if (error == CUDA_SUCCESS && context_id != 0)
        *legacy = (struct legacy){context_id, id, *stream};
    return error;
}

SP_APART CUresult sp_stream_resolve_legacy(CUstream handle, struct sp_stream **stream) {
    unsigned long long context_id = 0;
    if (!sp_driver->cuCtxGetId || sp_driver->cuCtxGetId(NULL, &context_id) != CUDA_SUCCESS)
        context_id = 0;
    struct legacy *legacy = &legacies[context_id % LEGACY_STREAMS];
    if (SP_UNLIKELY(context_id == 0 || !is_legacy_of(legacy, context_id)))
        return ask_for_legacy(handle, context_id, legacy, stream);
    *stream = legacy->stream;
    return CUDA_SUCCESS;
}

CUresult sp_stream_resolve_anonymous(CUstream handle, struct sp_stream **stream) {
    struct sp_stream_name name;
    CUresult error = sp_stream_name_anonymously(handle, &name);
    if (error != CUDA_SUCCESS)
        return error;
    *stream = sp_streams_by_id[sp_stream_name_hash(&name) % SP_STREAMS_BY_ID];
    return *stream && sp_stream_has_name(*stream, &name) ? CUDA_SUCCESS
                                                         : find_or_add(handle, &name, stream);
}

bool sp_stream_is_of_current_context(const struct sp_stream *stream) {
    CUcontext context = NULL;
    uint64_t id;
    return sp_context_current(&context, &id) == CUDA_SUCCESS &&
           sp_stream_is_of(stream, context, id);
}

// ------------------------------------------------------------------------------ remembered handles

static _Atomic bool remembers; // any

void sp_remember_stream(struct sp_stream *stream, CUstream handle) {
    uintptr_t name = (uintptr_t)sp_stream_proper_handle(handle);
    if (!atomic_load_explicit(&remembers, memory_order_relaxed))
        atomic_store(&remembers, true);
    if (atomic_load_explicit(&stream->known_as, memory_order_relaxed) != name) {
        atomic_store_explicit(&stream->was_remembered, true, memory_order_relaxed);
        atomic_store_explicit(&stream->known_as, name, memory_order_release);
    }
    sp_streams_by_handle[sp_stream_hash(name) % SP_STREAMS_BY_HANDLE] = stream;
}

// Whoever borrows it from here on finds that it isn't known.
static void forget_handle_of(struct sp_stream *stream) {
    atomic_store(&stream->known_as, 0);
    for (unsigned round = 0; atomic_load(&stream->borrowers) != 0; round++)
        sp_lock_pause(round);
}

// A default stream can't be destroyed.
void sp_remember_forget_handle(CUstream handle, struct sp_stream *of) {
    struct sp_stream *known;
    if (!atomic_load(&remembers) || sp_stream_is_default(handle))
        return;
    while ((known = sp_registry_find_known_as(handle)))
        forget_handle_of(known);
    if (of)
        forget_handle_of(of);
}

void sp_remember_forget_handles(void) {
    uint32_t count = atomic_load(&remembers) ? sp_stream_count() : 0;
    for (uint32_t slot = 0; slot < count; slot++)
        forget_handle_of(sp_stream_at(slot));
}
