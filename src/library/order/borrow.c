#include "order/borrow.h"

#include "order/context.h"
#include "order/identity.h"

static bool is_legacy(const struct sp_stream *stream) {
    return sp_stream_kind_of(stream) == SP_STREAM_LEGACY;
}

bool sp_borrow_is_possible(const struct sp_stream *stream) {
    return !sp_identity_records_each_free(stream) && (is_legacy(stream) || !stream->is_default);
}

static bool is_of_living_context(const struct sp_stream *stream, const struct sp_stream *callers) {
    return (callers && sp_stream_is_of(stream, callers->context, callers->context_id)) ||
           sp_context_is_current(stream->context, stream->context_id);
}

// A thread that destroys the stream takes the handle back first, and then looks for borrowers.
static bool borrow_by_handle(struct sp_stream *stream) {
    atomic_fetch_add(&stream->handle_use.borrowers, 1);
    if (atomic_load(&stream->known_as) != 0)
        return true;
    atomic_fetch_sub(&stream->handle_use.borrowers, 1);
    return false;
}

bool sp_borrow_stream(struct sp_stream *stream, const struct sp_stream *callers) {
    if (!is_legacy(stream))
        return borrow_by_handle(stream);
    return is_of_living_context(stream, callers) &&
           sp_driver->cuCtxPushCurrent(stream->context) == CUDA_SUCCESS;
}

void sp_borrow_end(struct sp_stream *stream) {
    CUcontext popped;
    if (is_legacy(stream))
        sp_driver->cuCtxPopCurrent(&popped);
    else
        atomic_fetch_sub(&stream->handle_use.borrowers, 1);
}
