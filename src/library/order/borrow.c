#include "order/borrow.h"

#include "order/context.h"
#include "order/identity.h"

static bool is_legacy(const struct sp_stream *stream) {
    return sp_stream_kind_of(stream) == SP_STREAM_LEGACY;
}

bool sp_borrow_is_possible(const struct sp_stream *stream) {
    return !sp_identity_records_each_free(stream) && (is_legacy(stream) || !stream->is_default);
}

_Atomic bool sp_borrow_allowed;
static _Atomic uint32_t borrowed; // streams that are borrowed by their handles

// Whoever suspends it says so first, and then looks for borrowers.
void sp_borrow_suspend(void) {
    atomic_store(&sp_borrow_allowed, false);
    for (unsigned round = 0; atomic_load(&borrowed) != 0; round++)
        sp_lock_pause(round);
}

void sp_borrow_allow(void) {
    atomic_store(&sp_borrow_allowed, true);
}

static void give_back(struct sp_stream *stream) {
    atomic_fetch_sub(&stream->handle_use.borrowers, 1);
    atomic_fetch_sub(&borrowed, 1);
}

// A thread that destroys the stream takes the handle back first, and then looks for borrowers.
static bool borrow_by_handle(struct sp_stream *stream, bool is_promised) {
    atomic_fetch_add(&borrowed, 1);
    atomic_fetch_add(&stream->handle_use.borrowers, 1);
    if ((is_promised || atomic_load(&sp_borrow_allowed)) && atomic_load(&stream->known_as) != 0)
        return true;
    give_back(stream);
    return false;
}

bool sp_borrow_stream(struct sp_stream *stream, const struct sp_stream *callers, bool is_promised) {
    if (!is_legacy(stream))
        return borrow_by_handle(stream, is_promised);
    bool is_alive = (callers && sp_stream_is_of(stream, callers->context, callers->context_id)) ||
                    sp_context_is_current(stream->context, stream->context_id);
    return is_alive && sp_driver->cuCtxPushCurrent(stream->context) == CUDA_SUCCESS;
}

void sp_borrow_end(struct sp_stream *stream) {
    CUcontext popped;
    if (is_legacy(stream))
        sp_driver->cuCtxPopCurrent(&popped);
    else
        give_back(stream);
}
