#include "order/slot.h"

#include <stdlib.h>
#include <string.h>

struct sp_stream *_Atomic sp_stream_chunks[SP_STREAM_CHUNKS];
_Atomic uint32_t sp_stream_slot_count;

// -------------------------------------------------------------------------------- acquired fences

// The slot's next stream gets the lanes, so what their pools take for complete decides.
static bool (*measure_of(const struct sp_stream *stream))(struct sp_fence fence) {
    return sp_load_relaxed(&stream->strict) ? sp_progress_is_synchronized : sp_progress_is_complete;
}

void sp_slot_note_acquired_locked(struct sp_stream *stream, const struct sp_fence_set *fences) {
    bool (*is_complete)(struct sp_fence fence) = measure_of(stream);
    sp_fence_set_prune(&stream->acquired.clock, is_complete);
    for (uint32_t i = 0; i < fences->count; i++) {
        struct sp_fence fence = *sp_fence_set_at(fences, i);
        if (fence.slot != stream->slot && !is_complete(fence) &&
            !sp_fence_set_add(&stream->acquired.clock, fence))
            stream->acquired.has_more = true;
    }
}

void sp_slot_note_acquired(struct sp_stream *stream, const struct sp_fence_set *fences) {
    if (sp_fence_set_empty(fences))
        return;
    sp_lock_acquire(&stream->lock);
    sp_slot_note_acquired_locked(stream, fences);
    sp_lock_release(&stream->lock);
}

bool sp_slot_is_spent(struct sp_stream *stream) {
    bool (*is_complete)(struct sp_fence fence) = measure_of(stream);
    if (!is_complete((struct sp_fence){stream->slot, atomic_load(&stream->freed)}))
        return false;
    sp_lock_acquire(&stream->lock);
    sp_fence_set_prune(&stream->acquired.clock, is_complete);
    bool spent = stream->acquired.clock.count == 0 && !stream->acquired.has_more;
    sp_lock_release(&stream->lock);
    return spent;
}

// -------------------------------------------------------------------------------- a slot's streams

enum sp_slot_sort sp_slot_sort_of_handle(CUstream handle) {
    if (!sp_stream_is_default(handle))
        return SP_SLOT_CREATED;
    return sp_stream_is_legacy(handle) ? SP_SLOT_LEGACY : SP_SLOT_PER_THREAD;
}

enum sp_slot_sort sp_slot_sort_of(const struct sp_stream *stream) {
    return sp_slot_sort_of_handle(sp_stream_handle_now(stream));
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

// All streams of a slot are identified, or none is.
struct sp_stream *sp_slot_make(const struct sp_slot_description *fresh) {
    uint32_t slot = sp_load_relaxed(&sp_stream_slot_count);
    uint32_t chunk = slot >> SP_STREAM_CHUNK_SHIFT;
    if (chunk == SP_STREAM_CHUNKS ||
        (!sp_load_relaxed(&sp_stream_chunks[chunk]) && !make_chunk(chunk)))
        return NULL;
    struct sp_stream *stream = sp_stream_at(slot);
    stream->slot = slot;
    stream->identified = fresh->identified;
    stream->is_default = sp_stream_is_default(fresh->handle);
    sp_list_init(&stream->links.of_context);
    sp_list_init(&stream->links.unused);
    sp_list_init(&stream->queued.link);
    sp_store_relaxed(&stream->sequence, 1);
    return stream;
}

// A number that is closed because of what the stream is, is closed with the lock held: so it is
// below the first one, or it is this stream that was looked at.
static void begin_locked(struct sp_stream *stream, const struct sp_slot_description *fresh) {
    sp_store_plain(&stream->first, sp_load_relaxed(&stream->sequence));
    sp_fence_set_clear(&stream->clock);
    if (!sp_stream_is_of(stream, fresh->context, fresh->context_id)) {
        stream->chain.orphaned = false; // all that the chain of an anonymous stream covered is over
        stream->device = fresh->device;
        stream->context = fresh->context;
        stream->context_id = fresh->context_id;
    }
    sp_store_relaxed(&stream->kind, (int)fresh->kind);
}

void sp_slot_describe(struct sp_stream *stream, const struct sp_slot_description *fresh) {
    // Others may tell of it just now.
    sp_store_plain(&stream->handle, fresh->handle);
    sp_lock_acquire(&stream->lock);
    begin_locked(stream, fresh);
    sp_lock_release(&stream->lock);
    sp_store_relaxed(&stream->acts, fresh->acts);
    sp_store_relaxed(&stream->gone, false);
    sp_store_relaxed(&stream->was_idle, false);
    sp_stream_forget_handle(stream);
    sp_store_relaxed(&stream->handle_use.was_cached, false);
    for (int i = 0; i < 3; i++)
        sp_store_release(&stream->key.word[i], fresh->name.word[i]);
    // A new slot is counted now, since others walk the slots with no lock.
    if (stream->slot == sp_load_relaxed(&sp_stream_slot_count))
        sp_store_release(&sp_stream_slot_count, stream->slot + 1);
}

void sp_slot_end(struct sp_stream *stream) {
    sp_lock_acquire(&stream->lock);
    atomic_store(&stream->event, NULL);
    sp_fence_set_clear(&stream->clock);
    sp_fence_set_clear(&stream->acquired.clock);
    stream->acquired.has_more = false;
    sp_lock_release(&stream->lock);
    sp_progress_publish(stream, sp_progress_close(stream), SP_SYNCHRONIZED);
}

// ------------------------------------------------------------------------- slots to be used again

// A look at all slots would take too long.
enum { LOOKS = 8 };

void sp_slot_list_init(struct sp_slot_list lists[SP_SLOT_SORTS]) {
    for (int sort = 0; sort < SP_SLOT_SORTS; sort++) {
        sp_list_init(&lists[sort].slots);
        sp_list_init(&lists[sort].mute);
    }
}

static struct sp_stream *take_spent(struct sp_list *slots, struct sp_slot_list *list) {
    for (int i = 0; i < LOOKS && !sp_list_empty(slots); i++) {
        struct sp_stream *stream =
            SP_CONTAINER_OF(sp_list_pop_front(slots), struct sp_stream, links.unused);
        if (sp_slot_is_spent(stream))
            return stream;
        struct sp_fence recorded = {stream->slot, sp_load_acquire(&stream->recorded)};
        bool is_mute = measure_of(stream)(recorded); // no event stands behind what isn't complete
        sp_list_push_back(is_mute ? &list->mute : &list->slots, &stream->links.unused);
    }
    return NULL;
}

struct sp_stream *sp_slot_list_take(struct sp_slot_list *list) {
    struct sp_stream *stream = take_spent(&list->slots, list);
    return stream ? stream : take_spent(&list->mute, list);
}
