#include "order/registry.h"

#include "order/mark.h"

#include <stdlib.h>

struct sp_registry sp_registry;

// ------------------------------------------------------------------------------------------- names

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

static void unlink_name(struct sp_stream *stream) {
    struct sp_stream_name name = {
        {sp_stream_word(stream, 0), sp_stream_word(stream, 1), sp_stream_word(stream, 2)}};
    struct sp_stream **link = name_bucket(&name);
    while (*link && *link != stream)
        link = &(*link)->links.next_by_name;
    if (*link)
        *link = stream->links.next_by_name;
}

// ----------------------------------------------------------------------------------------- handles

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

// ---------------------------------------------------------------------------------------- contexts

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

// Adds the context of a new stream. Null without host memory.
static struct sp_registry_known *add_context_locked(const struct sp_slot_description *fresh) {
    struct sp_registry_known *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->handle = fresh->context;
    context->id = fresh->context_id;
    context->device = fresh->device;
    sp_list_init(&context->streams);
    sp_slot_list_init(context->unused);
    context->next_in_bucket = *context_bucket(fresh->context);
    *context_bucket(fresh->context) = context;
    sp_list_push_back(&sp_registry.queue, &context->link);
    sp_registry.context_count++;
    return context;
}

// ----------------------------------------------------------------------------------------- the end

// A thread that has told its own default stream by the handle might do so again, as long as it
// lives.
static bool may_be_told_again(const struct sp_stream *stream) {
    return sp_slot_sort_of(stream) == SP_SLOT_PER_THREAD &&
           sp_load_relaxed(&stream->handle_use.was_cached) && !sp_load_relaxed(&stream->gone);
}

static void end_stream_locked(struct sp_stream *stream) {
    sp_mark_drop_events(stream);
    sp_slot_end(stream);
    sp_mark_drop_all(stream);
    sp_stream_forget_handle(stream);
    unlink_handle(stream);
    sp_list_remove(&stream->links.of_context);
    sp_list_remove(&stream->links.unused);
    if (!may_be_told_again(stream) && !sp_load_relaxed(&stream->bound_to_context))
        sp_list_push_back(&sp_registry.ended[sp_slot_sort_of(stream)].slots, &stream->links.unused);
}

static void end_context_locked(struct sp_registry_known *context) {
    while (!sp_list_empty(&context->streams))
        end_stream_locked(
            SP_CONTAINER_OF(sp_list_first(&context->streams), struct sp_stream, links.of_context));
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
    if (sp_slot_sort_of(stream) == SP_SLOT_CREATED)
        unlink_handle(stream);
    struct sp_registry_known *context = find_context_locked(stream->context, stream->context_id);
    struct sp_slot_list *lists = context ? context->unused : sp_registry.ended;
    bool is_barred = !context && sp_load_relaxed(&stream->bound_to_context);
    if (!is_barred && sp_list_empty(&stream->links.unused))
        sp_list_push_back(&lists[sp_slot_sort_of(stream)].slots, &stream->links.unused);
}

void sp_registry_set_gone(struct sp_stream *stream, uint64_t word) {
    sp_lock_acquire(&sp_registry.lock);
    if (sp_stream_word(stream, 0) == word)
        set_gone_locked(stream);
    sp_lock_release(&sp_registry.lock);
}

void sp_registry_set_threadless(struct sp_stream *stream, const struct sp_stream_name *name) {
    sp_lock_acquire(&sp_registry.lock);
    if (sp_stream_has_name(stream, name))
        set_gone_locked(stream);
    sp_lock_release(&sp_registry.lock);
}

// ------------------------------------------------------------------------------------- new streams

// The marks of the slot's last stream leave their events to the next one, which is of the same
// context. One that isn't complete says what the old stream ran after, and the new one doesn't.
static struct sp_stream *used_slot(struct sp_registry_known *context, enum sp_slot_sort sort) {
    struct sp_stream *stream = sp_slot_list_take(&context->unused[sort]);
    if (!stream)
        stream = sp_slot_list_take(&sp_registry.ended[sort]);
    if (!stream)
        return NULL;
    unlink_name(stream);
    sp_list_remove(&stream->links.of_context);
    sp_mark_drop_all(stream);
    return stream;
}

// A context with another id at the handle was destroyed. Null without host memory.
static struct sp_registry_known *context_of(const struct sp_slot_description *fresh) {
    struct sp_registry_known *context = context_at_locked(fresh->context);
    if (context && context->id != fresh->context_id) {
        end_context_locked(context);
        context = NULL;
    }
    return context ? context : add_context_locked(fresh);
}

// A created stream with the handle of an earlier one in the same context shows that the earlier one
// is gone. Anonymous streams with one handle have one name, so there is none to be found here.
static void learn_of_the_gone_locked(const struct sp_slot_description *fresh) {
    struct sp_stream *stream = *handle_bucket(fresh->handle);
    while (stream) {
        struct sp_stream *next = stream->links.next_by_handle;
        if (stream->handle == fresh->handle &&
            sp_stream_is_of(stream, fresh->context, fresh->context_id))
            set_gone_locked(stream);
        stream = next;
    }
}

static struct sp_stream *add_locked(const struct sp_slot_description *fresh) {
    struct sp_stream *stream = find_locked(&fresh->name);
    struct sp_registry_known *context = stream ? NULL : context_of(fresh);
    if (!context)
        return stream;
    learn_of_the_gone_locked(fresh);
    stream = used_slot(context, sp_slot_sort_of_handle(fresh->handle));
    if (!stream)
        stream = sp_slot_make(fresh);
    if (!stream)
        return NULL;
    sp_slot_describe(stream, fresh);
    sp_list_push_back(&context->streams, &stream->links.of_context);
    struct sp_stream **same = name_bucket(&fresh->name);
    stream->links.next_by_name = *same;
    *same = stream;
    if (sp_slot_sort_of(stream) == SP_SLOT_CREATED) {
        same = handle_bucket(stream->handle);
        stream->links.next_by_handle = *same;
        *same = stream;
    }
    return stream;
}

struct sp_stream *sp_registry_add(const struct sp_slot_description *fresh) {
    sp_lock_acquire(&sp_registry.lock);
    if (!sp_registry.is_ready) {
        sp_slot_list_init(sp_registry.ended);
        sp_list_init(&sp_registry.queue);
        sp_registry.is_ready = true;
    }
    struct sp_stream *stream = add_locked(fresh);
    sp_lock_release(&sp_registry.lock);
    return stream;
}

struct sp_stream *sp_registry_find(const struct sp_stream_name *name) {
    sp_lock_acquire(&sp_registry.lock);
    struct sp_stream *stream = find_locked(name);
    // A thread's own default stream is named by that thread alone, which has not ended then.
    if (stream && sp_slot_sort_of(stream) == SP_SLOT_PER_THREAD && atomic_load(&stream->gone)) {
        sp_list_remove(&stream->links.unused);
        atomic_store(&stream->gone, false);
    }
    sp_lock_release(&sp_registry.lock);
    return stream;
}

// --------------------------------------------------------------------------------------- questions

static int find_pending_in(struct sp_list *slots, struct sp_stream **pending, int most) {
    int count = 0, looks = 0;
    SP_LIST_FOR_EACH(link, slots) {
        struct sp_stream *stream = SP_CONTAINER_OF(link, struct sp_stream, links.unused);
        if (looks++ == most)
            break;
        if (sp_progress_has_pending_events(stream))
            pending[count++] = stream;
    }
    return count;
}

int sp_registry_find_pending(const struct sp_slot_description *fresh, struct sp_stream **pending,
                             int most) {
    int count = 0;
    sp_lock_acquire(&sp_registry.lock);
    struct sp_registry_known *context = find_context_locked(fresh->context, fresh->context_id);
    if (context)
        count = find_pending_in(&context->unused[sp_slot_sort_of_handle(fresh->handle)].slots,
                                pending, most);
    sp_lock_release(&sp_registry.lock);
    return count;
}

int sp_registry_device(const struct sp_slot_description *fresh) {
    sp_lock_acquire(&sp_registry.lock);
    const struct sp_registry_known *context =
        find_context_locked(fresh->context, fresh->context_id);
    int device = context ? context->device : -1;
    sp_lock_release(&sp_registry.lock);
    return device;
}

uint32_t sp_registry_context_count(void) {
    sp_lock_acquire(&sp_registry.lock);
    uint32_t count = sp_registry.context_count;
    sp_lock_release(&sp_registry.lock);
    return count;
}

static bool has_pending_frees(const struct sp_registry_known *context) {
    SP_LIST_FOR_EACH(link, &context->streams) {
        const struct sp_stream *stream = SP_CONTAINER_OF(link, struct sp_stream, links.of_context);
        struct sp_fence last = {stream->slot, sp_load_relaxed(&stream->freed)};
        if (!sp_progress_is_past(last))
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
        const struct sp_registry_known *context =
            SP_CONTAINER_OF(link, struct sp_registry_known, link);
        bool is_alive = alive && sp_stream_is_of(alive, context->handle, context->id);
        if (!is_alive && (!pending || has_pending_frees(context)))
            names[count++] = (struct sp_registry_context){context->handle, context->id};
    }
    sp_lock_release(&sp_registry.lock);
    return count;
}
