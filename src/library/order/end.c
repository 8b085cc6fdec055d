#include "order/end.h"

#include "order/chain.h"
#include "order/mark.h"
#include "order/private_event.h"

#include <stdlib.h>

// The mark comes first: afterwards the stream can't be recorded any more. That it can't be made is
// no reason to keep the stream. Once the driver has destroyed it, another thread may find a new
// stream at the handle, and that one may be given the slot.
CUresult sp_end_stream(struct sp_stream *stream, CUstream handle) {
    uint64_t word = stream ? atomic_load(&stream->key.word[0]) : 0;
    if (stream)
        sp_mark_record(stream);
    sp_remember_forget_handle(handle, stream); // before the driver can give it to another
    CUresult error = sp_native_noted(sp_driver->cuStreamDestroy(handle), "cuStreamDestroy");
    if (error != CUDA_SUCCESS || !stream)
        return error;
    sp_stream_orphan_chain(stream);
    sp_registry_set_gone(stream, word);
    return CUDA_SUCCESS;
}

// ------------------------------------------------------------------------------------------- slots

// The slot's next stream gets the lanes, so what their pools take for complete decides.
static bool (*measure_of(const struct sp_stream *stream))(struct sp_fence fence) {
    return atomic_load_explicit(&stream->strict, memory_order_relaxed) ? sp_progress_is_synchronized
                                                                       : sp_progress_is_complete;
}

void sp_slot_note_acquired(struct sp_stream *stream, const struct sp_fence_set *fences) {
    if (sp_fence_set_empty(fences))
        return;
    bool (*is_complete)(struct sp_fence fence) = measure_of(stream);
    sp_lock_acquire(&stream->lock);
    sp_clock_prune(&stream->acquired, is_complete);
    for (uint32_t i = 0; i < fences->count; i++) {
        struct sp_fence fence = *sp_fence_set_at(fences, i);
        if (fence.slot != stream->slot && !is_complete(fence) &&
            !sp_clock_raise(&stream->acquired, fence))
            stream->acquired_more = true;
    }
    sp_lock_release(&stream->lock);
}

bool sp_slot_is_spent(struct sp_stream *stream) {
    bool (*is_complete)(struct sp_fence fence) = measure_of(stream);
    if (!is_complete((struct sp_fence){stream->slot, atomic_load(&stream->freed)}))
        return false;
    sp_lock_acquire(&stream->lock);
    sp_clock_prune(&stream->acquired, is_complete);
    bool spent = stream->acquired.count == 0 && !stream->acquired_more;
    sp_lock_release(&stream->lock);
    return spent;
}

// Its spare events serve the next stream, which is of the same context. A mark that isn't complete
// says what the old stream ran after, and the new one doesn't. Called with the registry's lock
// held.
void sp_slot_forget(struct sp_stream *stream) {
    sp_mark_drop_until(stream, UINT64_MAX);
    sp_lock_acquire(&stream->lock);
    sp_clock_clear(&stream->clock);
    sp_lock_release(&stream->lock);
}

static void free_spares(struct sp_mark *spare) {
    while (spare) {
        struct sp_mark *next = spare->next_spare;
        sp_mark_free(spare);
        spare = next;
    }
}

// Marks that others still hold keep an event that nobody may touch: their number is complete, so
// nobody will. Called with the registry's lock held.
void sp_slot_end(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    bool ended = stream->ended;
    stream->epoch += !ended; // by which marks of before know that their events are gone
    struct sp_mark *spare = stream->spare_marks;
    stream->ended = true;
    stream->spare_marks = NULL;
    atomic_store(&stream->spare_count, 0);
    stream->chain = NULL;
    atomic_store(&stream->action, NULL);
    sp_clock_clear(&stream->clock);
    sp_clock_clear(&stream->acquired);
    stream->acquired_more = false;
    sp_lock_release(&stream->lock);
    free_spares(spare);
    if (ended)
        return;
    sp_progress_publish(stream, sp_progress_close(stream), SP_SYNCHRONIZED);
    sp_mark_drop_until(stream, UINT64_MAX);
}

// What an anonymous stream's chain covered is complete.
void sp_slot_begin(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    stream->ended = false;
    stream->chain_orphaned = false;
    sp_lock_release(&stream->lock);
}

void sp_stream_destroy_events(struct sp_stream *stream) {
    for (int i = 0; i < SP_STREAM_MARKS; i++)
        sp_mark_release(stream->marks[i]);
    while (stream->spare_marks) {
        struct sp_mark *mark = stream->spare_marks;
        stream->spare_marks = mark->next_spare;
        sp_private_event_destroy(mark->event);
        sp_mark_free(mark);
    }
    if (stream->chain)
        sp_private_event_destroy(stream->chain);
    if (stream->action)
        sp_private_event_destroy(stream->action);
    sp_clock_clear(&stream->clock);
    sp_clock_clear(&stream->acquired);
}
