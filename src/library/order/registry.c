#include "order/registry.h"

#include "order/mark.h"

#include <stdlib.h>
#include <string.h>

// A look at all slots would take too long.
enum { LOOKS = 8 };

struct sp_registry sp_registry;
struct sp_stream *_Atomic sp_stream_chunks[SP_STREAM_CHUNKS];
_Atomic uint32_t sp_stream_slot_count;

// --------------------------------------------------------------------------------- what is pending

// The slot's next stream gets the lanes, so what their pools take for complete decides.
static bool (*measure_of(const struct sp_stream *stream))(struct sp_fence fence) {
    return sp_load_relaxed(&stream->strict) ? sp_progress_is_synchronized : sp_progress_is_complete;
}

void sp_registry_note_acquired(struct sp_stream *stream, const struct sp_fence_set *fences) {
    if (sp_fence_set_empty(fences))
        return;
    sp_lock_acquire(&stream->lock);
    bool (*is_complete)(struct sp_fence fence) = measure_of(stream);
    sp_fence_set_prune(&stream->acquired.clock, is_complete);
    for (uint32_t i = 0; i < fences->count; i++) {
        struct sp_fence fence = *sp_fence_set_at(fences, i);
        if (fence.slot != stream->slot && !is_complete(fence) &&
            !sp_fence_set_add(&stream->acquired.clock, fence))
            stream->acquired.has_more = true;
    }
    sp_lock_release(&stream->lock);
}

// True when nothing of the stream is pending; of a strict one, as far as synchronises have shown.
static bool is_spent(struct sp_stream *stream) {
    bool (*is_complete)(struct sp_fence fence) = measure_of(stream);
    if (!is_complete((struct sp_fence){stream->slot, atomic_load(&stream->freed)}))
        return false;
    sp_lock_acquire(&stream->lock);
    sp_fence_set_prune(&stream->acquired.clock, is_complete);
    bool spent = stream->acquired.clock.count == 0 && !stream->acquired.has_more;
    sp_lock_release(&stream->lock);
    return spent;
}

// -------------------------------------------------------------------------- slots to be used again

static enum sp_slot_sort sort_of(CUstream handle) {
    if (!sp_stream_is_default(handle))
        return SP_SLOT_CREATED;
    return sp_stream_is_legacy(handle) ? SP_SLOT_LEGACY : SP_SLOT_PER_THREAD;
}

static void init_lists(struct sp_slot_list lists[SP_SLOT_SORTS]) {
    for (int sort = 0; sort < SP_SLOT_SORTS; sort++) {
        sp_list_init(&lists[sort].slots);
        sp_list_init(&lists[sort].mute);
    }
}

// Takes one of the first slots with nothing pending, or none. Others that it looks at go to the
// end.
static struct sp_stream *take_spent_of(struct sp_list *slots, struct sp_slot_list *list) {
    for (int i = 0; i < LOOKS && !sp_list_empty(slots); i++) {
        struct sp_stream *stream =
            SP_CONTAINER_OF(sp_list_pop_front(slots), struct sp_stream, links.unused);
        if (is_spent(stream))
            return stream;
        struct sp_fence recorded = {stream->slot, sp_load_acquire(&stream->recorded)};
        bool is_mute = measure_of(stream)(recorded); // no event stands behind what isn't complete
        sp_list_push_back(is_mute ? &list->mute : &list->slots, &stream->links.unused);
    }
    return NULL;
}

// -------------------------------------------------------------------------------------- the tables

static struct sp_stream **name_bucket(const struct sp_stream_name *name) {
    return &sp_registry.by_name[sp_hash(name->word[0] ^ (name->word[1] >> 4) ^ name->word[2]) %
                                SP_REGISTRY_BUCKETS];
}

static struct sp_stream *find_locked(const struct sp_stream_name *name) {
    struct sp_stream *stream = *name_bucket(name);
    while (stream && !sp_stream_has_name(stream, name))
        stream = stream->links.next_by_name;
    return stream;
}

struct sp_stream *sp_registry_find(const struct sp_stream_name *name) {
    sp_lock_acquire(&sp_registry.lock);
    struct sp_stream *stream = find_locked(name);
    // A thread's own default stream is named by that thread alone, which has not ended then.
    if (stream && sort_of(stream->handle) == SP_SLOT_PER_THREAD && atomic_load(&stream->gone)) {
        sp_list_remove(&stream->links.unused);
        atomic_store(&stream->gone, false);
    }
    sp_lock_release(&sp_registry.lock);
    return stream;
}

static struct sp_stream **handle_bucket(CUstream handle) {
    return &sp_registry.by_handle[sp_hash((uintptr_t)handle) % SP_REGISTRY_BUCKETS];
}

static void unlink_handle(struct sp_stream *stream) {
    struct sp_stream **link = handle_bucket(stream->handle);
    while (*link && *link != stream)
        link = &(*link)->links.next_by_handle;
    if (*link)
        *link = stream->links.next_by_handle;
}

// Whoever borrows the stream says so before it looks at known_as: what is read here in the opposite
// order misses no borrower.
struct sp_stream *sp_registry_find_in_use_by(CUstream handle) {
    sp_lock_acquire(&sp_registry.lock);
    struct sp_stream *stream = *handle_bucket(handle);
    while (stream &&
           (stream->handle != handle || (atomic_load(&stream->known_as) == 0 &&
                                         atomic_load(&stream->handle_use.borrowers) == 0)))
        stream = stream->links.next_by_handle;
    sp_lock_release(&sp_registry.lock);
    return stream;
}

static struct sp_registry_known **context_bucket(CUcontext handle) {
    return &sp_registry.contexts[sp_hash((uintptr_t)handle) % SP_REGISTRY_CONTEXTS];
}

// Returns the context that is taken for alive at a handle, or null.
static struct sp_registry_known *context_at_locked(CUcontext handle) {
    struct sp_registry_known *context = *context_bucket(handle);
    while (context && context->handle != handle)
        context = context->next_in_bucket;
    return context;
}

static struct sp_registry_known *find_context_locked(CUcontext handle, uint64_t id) {
    struct sp_registry_known *context = context_at_locked(handle);
    return context && context->id == id ? context : NULL;
}

// ----------------------------------------------------------------------------------------- the end

// The context was destroyed: all work in it has completed, and its events are gone. A thread that
// has told its own default stream by the handle might do so again, as long as it lives.
static void end_context_locked(struct sp_registry_known *context) {
    struct sp_list *first;
    while ((first = sp_list_pop_front(&context->streams))) {
        struct sp_stream *stream = SP_CONTAINER_OF(first, struct sp_stream, links.of_context);
        sp_mark_drop_events(stream);
        sp_lock_acquire(&stream->lock);
        atomic_store(&stream->event, NULL);
        sp_fence_set_clear(&stream->clock);
        sp_fence_set_clear(&stream->acquired.clock);
        stream->acquired.has_more = false;
        sp_lock_release(&stream->lock);
        sp_progress_publish(stream, sp_progress_close(stream), SP_SYNCHRONIZED);
        sp_mark_drop_all(stream);
        sp_stream_forget_handle(stream);
        unlink_handle(stream);
        sp_list_remove(&stream->links.unused);
        enum sp_slot_sort sort = sort_of(stream->handle);
        bool may_be_told_again = sort == SP_SLOT_PER_THREAD &&
                                 sp_load_relaxed(&stream->handle_use.was_cached) &&
                                 !sp_load_relaxed(&stream->gone);
        if (!may_be_told_again && !sp_load_relaxed(&stream->bound_to_context))
            sp_list_push_back(&sp_registry.ended[sort].slots, &stream->links.unused);
    }
    struct sp_registry_known **link = context_bucket(context->handle);
    while (*link != context)
        link = &(*link)->next_in_bucket;
    *link = context->next_in_bucket;
    sp_list_remove(&context->link);
    sp_registry.context_count--;
    free(context);
}

void sp_registry_end_context(const struct sp_registry_context *name) {
    sp_lock_acquire(&sp_registry.lock);
    struct sp_registry_known *context = find_context_locked(name->handle, name->id);
    if (context)
        end_context_locked(context);
    sp_lock_release(&sp_registry.lock);
}

static void set_gone_locked(struct sp_stream *stream) {
    sp_stream_forget_handle(stream);
    if (atomic_exchange(&stream->gone, true))
        return;
    if (sort_of(stream->handle) == SP_SLOT_CREATED)
        unlink_handle(stream);
    struct sp_registry_known *context = find_context_locked(stream->context, stream->context_id);
    struct sp_slot_list *lists = context ? context->unused : sp_registry.ended;
    bool is_barred = !context && sp_load_relaxed(&stream->bound_to_context);
    if (!is_barred && sp_list_empty(&stream->links.unused))
        sp_list_push_back(&lists[sort_of(stream->handle)].slots, &stream->links.unused);
}

void sp_registry_set_gone(struct sp_stream *stream, const struct sp_stream_name *name) {
    sp_lock_acquire(&sp_registry.lock);
    if (sp_stream_has_name(stream, name))
        set_gone_locked(stream);
    sp_lock_release(&sp_registry.lock);
}

// ------------------------------------------------------------------------------------- new streams

// Returns a slot that no stream ever had, to be counted once it has been described; null without
// host memory, or when the table is full. All streams of a slot are identified, or none is.
static struct sp_stream *new_slot(const struct sp_stream_description *fresh) {
    uint32_t slot = sp_load_relaxed(&sp_stream_slot_count);
    uint32_t chunk = slot >> SP_STREAM_CHUNK_SHIFT;
    if (chunk == SP_STREAM_CHUNKS)
        return NULL;
    if (!sp_load_relaxed(&sp_stream_chunks[chunk])) {
        size_t size = SP_STREAM_CHUNK * sizeof(struct sp_stream);
        struct sp_stream *streams = aligned_alloc(_Alignof(struct sp_stream), size);
        if (!streams)
            return NULL;
        memset(streams, 0, size);
        sp_store_release(&sp_stream_chunks[chunk], streams);
    }
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

// The marks of the slot's last stream leave their events to the next one, which is of the same
// context. One that isn't complete says what the old stream ran after, and the new one doesn't.
static struct sp_stream *used_slot(struct sp_registry_known *context, enum sp_slot_sort sort) {
    struct sp_stream *stream = NULL;
    struct sp_slot_list *lists[] = {&context->unused[sort], &sp_registry.ended[sort]};
    for (int i = 0; i < 2 && !stream; i++) {
        stream = take_spent_of(&lists[i]->slots, lists[i]);
        if (!stream)
            stream = take_spent_of(&lists[i]->mute, lists[i]);
    }
    if (!stream)
        return NULL;
    struct sp_stream_name name = sp_stream_name_of(stream);
    struct sp_stream **link = name_bucket(&name);
    while (*link && *link != stream)
        link = &(*link)->links.next_by_name;
    if (*link)
        *link = stream->links.next_by_name;
    sp_list_remove(&stream->links.of_context);
    sp_mark_drop_all(stream);
    return stream;
}

// Gives the slot to a stream, which doesn't run after what the last one ran after. A number that is
// closed because of what the stream is, is closed with the lock held: so it is below the first one,
// or it is this stream that was looked at.
static void describe(struct sp_stream *stream, const struct sp_stream_description *fresh) {
    // Others may tell of it just now.
    sp_store_plain(&stream->handle, fresh->handle);
    sp_lock_acquire(&stream->lock);
    sp_store_plain(&stream->first, sp_load_relaxed(&stream->sequence));
    sp_fence_set_clear(&stream->clock);
    if (!sp_stream_is_of(stream, fresh->context, fresh->context_id)) {
        stream->chain.orphaned = false; // all that the chain of an anonymous stream covered is over
        stream->device = fresh->device;
        stream->context = fresh->context;
        stream->context_id = fresh->context_id;
    }
    sp_store_relaxed(&stream->kind, (int)fresh->kind);
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

// Returns a new stream's context, which may be new; null without host memory. One with another id
// at the handle was destroyed.
static struct sp_registry_known *context_of(const struct sp_stream_description *fresh) {
    struct sp_registry_known *context = context_at_locked(fresh->context);
    if (context && context->id == fresh->context_id)
        return context;
    if (context)
        end_context_locked(context);
    context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->handle = fresh->context;
    context->id = fresh->context_id;
    context->device = fresh->device;
    sp_list_init(&context->streams);
    init_lists(context->unused);
    context->next_in_bucket = *context_bucket(fresh->context);
    *context_bucket(fresh->context) = context;
    sp_list_push_back(&sp_registry.queue, &context->link);
    sp_registry.context_count++;
    return context;
}

// A created stream with the handle of an earlier one in the same context shows that this is gone.
// Anonymous streams with one handle have one name, so there is none to be found here.
static struct sp_stream *add_locked(const struct sp_stream_description *fresh) {
    struct sp_stream *stream = find_locked(&fresh->name);
    struct sp_registry_known *context = stream ? NULL : context_of(fresh);
    if (!context)
        return stream;
    struct sp_stream *next;
    for (stream = *handle_bucket(fresh->handle); stream; stream = next) {
        next = stream->links.next_by_handle;
        if (stream->handle == fresh->handle &&
            sp_stream_is_of(stream, fresh->context, fresh->context_id))
            set_gone_locked(stream);
    }
    stream = used_slot(context, sort_of(fresh->handle));
    if (!stream)
        stream = new_slot(fresh);
    if (!stream)
        return NULL;
    describe(stream, fresh);
    sp_list_push_back(&context->streams, &stream->links.of_context);
    struct sp_stream **same = name_bucket(&fresh->name);
    stream->links.next_by_name = *same;
    *same = stream;
    if (sort_of(stream->handle) == SP_SLOT_CREATED) {
        same = handle_bucket(stream->handle);
        stream->links.next_by_handle = *same;
        *same = stream;
    }
    return stream;
}

struct sp_stream *sp_registry_add(const struct sp_stream_description *fresh) {
    sp_lock_acquire(&sp_registry.lock);
    if (!sp_registry.is_ready) {
        init_lists(sp_registry.ended);
        sp_list_init(&sp_registry.queue);
        sp_registry.is_ready = true;
    }
    struct sp_stream *stream = add_locked(fresh);
    sp_lock_release(&sp_registry.lock);
    return stream;
}

// --------------------------------------------------------------------------------------- questions

int sp_registry_find_pending(struct sp_stream_description *fresh, struct sp_stream **pending,
                             int most) {
    int count = 0, looks = 0;
    sp_lock_acquire(&sp_registry.lock);
    struct sp_registry_known *context = find_context_locked(fresh->context, fresh->context_id);
    fresh->device = context ? context->device : -1;
    struct sp_list *gone = context ? &context->unused[sort_of(fresh->handle)].slots : NULL;
    for (struct sp_list *link = gone; gone && looks < most && link->next != gone; looks++) {
        link = link->next;
        struct sp_stream *stream = SP_CONTAINER_OF(link, struct sp_stream, links.unused);
        if (sp_progress_has_pending_events(stream))
            pending[count++] = stream;
    }
    sp_lock_release(&sp_registry.lock);
    return count;
}

uint32_t sp_registry_context_count(void) {
    sp_lock_acquire(&sp_registry.lock);
    uint32_t count = sp_registry.context_count;
    sp_lock_release(&sp_registry.lock);
    return count;
}

// The stream that tells so stands in front from then on: mostly it does so the next time, too.
static bool has_pending_frees(struct sp_registry_known *context) {
    SP_LIST_FOR_EACH_OF(struct sp_stream, stream, links.of_context, &context->streams) {
        struct sp_fence last = {stream->slot, sp_load_relaxed(&stream->freed)};
        if (sp_progress_is_past(last))
            continue;
        sp_list_remove(&stream->links.of_context);
        sp_list_push_front(&context->streams, &stream->links.of_context);
        return true;
    }
    return false;
}

uint32_t sp_registry_name_contexts(struct sp_registry_context *names, uint32_t most,
                                   const struct sp_stream *alive, bool pending) {
    uint32_t count = 0;
    sp_lock_acquire(&sp_registry.lock);
    for (uint64_t left = sp_min(most, sp_registry.context_count); left > 0; left--) {
        struct sp_list *link = sp_list_pop_front(&sp_registry.queue);
        sp_list_push_back(&sp_registry.queue, link);
        struct sp_registry_known *context = SP_CONTAINER_OF(link, struct sp_registry_known, link);
        bool is_alive = alive && sp_stream_is_of(alive, context->handle, context->id);
        if (!is_alive && (!pending || has_pending_frees(context)))
            names[count++] = (struct sp_registry_context){context->handle, context->id};
    }
    sp_lock_release(&sp_registry.lock);
    return count;
}
