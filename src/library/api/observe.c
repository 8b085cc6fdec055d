#include "api/observe.h"
#include "api/known.h"
#include "api/memory.h"
#include "process/lending.h"

void sp_observe_all(void) {
    sp_seen_begin();
}

uint64_t sp_observe_now(void) {
    return sp_seen_now();
}

// ----------------------------------------------------------------------------------------- streams

// A handle that is here already was that of a stream that has ended unseen.
void sp_observe_created(CUstream stream, CUcontext context, int device) {
    uint64_t now = sp_seen_now();
    if (!sp_seen_add(stream, &(struct sp_seen_place){context, device}))
        return;
    sp_remember_forget_handle(stream, NULL);
    sp_captures_end_of_stream(stream, now);
    sp_lending_resume();
}

void sp_observe_stream_ends(CUstream stream) {
    sp_seen_remove(stream);
    sp_remember_forget_handle(stream, NULL);
}

void sp_observe_stream_ended(CUstream stream, uint64_t before) {
    sp_captures_end_of_stream(stream, before);
    sp_lending_resume();
}

void sp_observe_streams_ended(CUcontext context, int device, uint64_t before) {
    struct sp_seen_place ended = {context, device};
    CUstream stream;
    unsigned bucket = 0;
    while ((stream = sp_seen_remove_of(&ended, before, &bucket)))
        sp_remember_forget_handle(stream, NULL);
}

// ---------------------------------------------------------------------------------------- captures

static CUcontext context_of(CUstream stream, CUcontext current) {
    return stream == CU_STREAM_PER_THREAD ? current : sp_seen_context(stream);
}

// The legacy stream can't capture.
void sp_observe_capture_begins(CUstream stream, CUcontext context) {
    if (sp_stream_is_legacy(stream))
        return;
    sp_captures_begin(stream, context_of(stream, context));
    sp_lending_suspend();
}

void sp_observe_capture_begun(CUstream stream, CUcontext context) {
    if (!sp_stream_is_legacy(stream))
        sp_captures_begun(stream, context_of(stream, context));
}

void sp_observe_capture_refused(CUstream stream, CUcontext context, sp_observe_question captures) {
    sp_observe_capture_begun(stream, context);
    sp_observe_capture_ended(stream, context, captures);
}

void sp_observe_capture_ended(CUstream stream, CUcontext context, sp_observe_question captures) {
    if (!sp_stream_is_legacy(stream))
        sp_captures_settle(stream, context_of(stream, context), captures);
    sp_lending_resume();
}

void sp_observe_captures_ended(CUcontext context, uint64_t before) {
    sp_captures_end_of_context(context, before);
    sp_lending_resume();
}

// ------------------------------------------------------------------------------ calls that profit

poolError_t sp_observe_malloc(void **ptr, size_t size, CUstream stream) {
    return SP_LIKELY(sp_runtime_is_plain() && ptr)
               ? sp_memory_allocate(ptr, size, stream, sp_known_of(stream))
               : poolMallocAsync(ptr, size, stream);
}

poolError_t sp_observe_malloc_from_pool(void **ptr, size_t size, poolMemPool_t pool,
                                        CUstream stream) {
    return SP_LIKELY(sp_runtime_is_plain() && ptr)
               ? sp_memory_allocate_from(ptr, size, pool, stream, sp_known_of(stream))
               : poolMallocFromPoolAsync(ptr, size, pool, stream);
}

poolError_t sp_observe_free(void *ptr, CUstream stream, bool *is_foreign) {
    if (SP_LIKELY(sp_runtime_is_plain() && ptr))
        return sp_memory_free(ptr, stream, sp_known_of(stream), is_foreign);
    *is_foreign = ptr && !sp_page_map_has((uint64_t)(uintptr_t)ptr);
    return *is_foreign ? poolErrorInvalidValue : poolFreeAsync(ptr, stream);
}
