#include "inside/order.h"

#include <stdlib.h>
#include <string.h>

#include "order/context.h"
#include "order/event.h"
#include "order/identity.h"
#include "order/indirect.h"
#include "order/mark.h"
#include "order/registry.h"

void inside_order_end_context_waits(void) {
    pthread_mutex_lock(&sp_context_waits.lock);
    while (!sp_list_empty(&sp_context_waits.under_way))
        pthread_cond_wait(&sp_context_waits.ended, &sp_context_waits.lock);
    pthread_mutex_unlock(&sp_context_waits.lock);
}

// ------------------------------------------------------------------------------------------ events

static void free_entries(struct sp_event_entry *entry) {
    while (entry) {
        struct sp_event_entry *next = entry->next;
        for (int i = 0; i < SP_EQUIVALENT_MARKS; i++)
            sp_mark_release(entry->marks[i]);
        free(entry);
        entry = next;
    }
}

void inside_order_forget_events(void) {
    for (size_t i = 0; i < sp_events.bucket_count; i++)
        free_entries(sp_events.buckets[i]);
    if (sp_events.buckets != sp_events.first)
        free(sp_events.buckets);
    memset(sp_events.first, 0, sizeof sp_events.first);
    sp_events.buckets = sp_events.first;
    sp_events.bucket_count = SP_EVENTS_FIRST_BUCKETS;
    sp_events.count = 0;
}

// ----------------------------------------------------------------------------------------- streams

static void free_spare_marks(struct sp_mark *mark) {
    while (mark) {
        struct sp_mark *next = mark->next_spare;
        sp_private_event_destroy(mark->event);
        sp_fence_set_clear(&mark->clock);
        free(mark);
        mark = next;
    }
}

// The events of a context that is gone are gone.
static void free_marks(struct sp_stream *stream) {
    if (stream->context && sp_context_is_gone(stream->context, stream->context_id))
        sp_mark_drop_events(stream);
    free_spare_marks(stream->marks.spares);
}

static void let_go_of_marks(struct sp_stream *stream) {
    sp_mark_release(stream->marks.waited_for);
    for (uint32_t i = 0; i < stream->marks.recent_count; i++)
        sp_mark_release(stream->marks.recent[i]);
}

// Pointers to the stream from before find a name that no stream has.
static void empty_slot(struct sp_stream *stream) {
    if (stream->event)
        sp_private_event_destroy(stream->event);
    sp_fence_set_clear(&stream->clock);
    sp_fence_set_clear(&stream->acquired.clock);
    sp_list_remove(&stream->queued.link);
    memset(stream, 0, sizeof *stream);
    for (int i = 0; i < 3; i++)
        sp_store_relaxed(&stream->key.word[i], UINT64_MAX);
}

static void free_contexts(void) {
    while (sp_registry.context_count-- > 0)
        free(
            SP_CONTAINER_OF(sp_list_pop_front(&sp_registry.queue), struct sp_registry_known, link));
}

void inside_order_forget_streams(void) {
    uint32_t count = sp_stream_count();
    for (uint32_t slot = 0; slot < count; slot++)
        let_go_of_marks(sp_stream_at(slot));
    for (uint32_t slot = 0; slot < count; slot++) {
        free_marks(sp_stream_at(slot));
        empty_slot(sp_stream_at(slot));
    }
    free_contexts();
    sp_registry = (struct sp_registry){.is_ready = false};
    atomic_store(&sp_stream_slot_count, 0);
    atomic_store(&sp_progress_any_strict, false);
}

// ---------------------------------------------------------------------------------------- contexts

// The memory went with a context that is gone.
static void free_sentinel(struct sp_sentinel *sentinel) {
    uint64_t id = 0;
    CUcontext popped;
    if (sp_is_done(sp_anonymous.known_context_id(sentinel->context, &id)) && id != 0 &&
        sp_driver->cuCtxPushCurrent(sentinel->context) == CUDA_SUCCESS) {
        sp_driver->cuMemFreeHost(sentinel->memory);
        sp_driver->cuCtxPopCurrent(&popped);
    }
    free(sentinel);
}

// A sentinel stays in the table until its own context has been asked for.
void inside_order_free_sentinels(void) {
    for (size_t i = 0; i < SP_SENTINEL_BUCKETS; i++) {
        struct sp_sentinel *sentinel;
        while ((sentinel = sp_sentinels.buckets[i])) {
            struct sp_sentinel *next = sentinel->next;
            free_sentinel(sentinel);
            sp_sentinels.buckets[i] = next;
        }
    }
}

// A context that is gone has taken the reference along.
void inside_order_release_primary(struct sp_primary *primary, int ordinal) {
    CUdevice device;
    if (primary->context && !sp_context_is_gone(primary->context, primary->id) &&
        sp_driver->cuDeviceGet(&device, ordinal) == CUDA_SUCCESS)
        sp_driver->cuDevicePrimaryCtxRelease(device);
    primary->context = NULL;
    primary->id = 0;
}
