#include "order/registry.h"

#include "order/context.h"
#include "order/end.h"
#include "order/poll.h"
#include "order/turn.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096, CONTEXT_BUCKETS = 256 };

// How many slots, streams and contexts are looked at where a look at all would take too long.
enum { LOOKS = 8 };

// What a slot stays.
enum sort { CREATED, LEGACY, PER_THREAD, SORTS };

// Slots to be used again, by `unused`; the one that was looked at longest ago first.
struct unused {
    struct sp_list slots;
    struct sp_list mute; // of which something is pending, and no event can tell of it
};

// A context that is taken for alive, and its streams.
struct context {
    struct context *next_in_bucket;
    struct sp_list link; // in table.contexts
    CUcontext handle;
    uint64_t id;
    int device;
    struct sp_list streams;      // by of_context
    struct unused unused[SORTS]; // the slots of streams that are gone
};

static struct {
    struct sp_lock lock;
    _Atomic uint32_t count; // of slots; published with release, as are the chunks
    struct sp_stream *by_name[BUCKETS];
    struct sp_stream *by_handle[BUCKETS]; // created ones that are neither gone nor ended
    struct context *by_context[CONTEXT_BUCKETS];
    struct sp_list contexts; // the one that was asked longest ago first
    uint32_t context_count;
    struct unused unused[SORTS]; // the slots of streams that have ended
    bool is_ready;
} table;

struct sp_stream *_Atomic sp_stream_chunks[SP_STREAM_CHUNKS];

static void init_unused(struct unused unused[SORTS]) {
    for (int sort = 0; sort < SORTS; sort++) {
        sp_list_init(&unused[sort].slots);
        sp_list_init(&unused[sort].mute);
    }
}

static void make_ready_locked(void) {
    if (table.is_ready)
        return;
    sp_list_init(&table.contexts);
    init_unused(table.unused);
    table.is_ready = true;
}

static enum sort sort_of(CUstream handle) {
    if (!sp_stream_is_default(handle))
        return CREATED;
    return sp_stream_is_legacy(handle) ? LEGACY : PER_THREAD;
}

// The handle of a slot's stream changes, its sort doesn't.
static enum sort sort_of_slot(const struct sp_stream *stream) {
    return sort_of(sp_stream_handle_now(stream));
}

// ------------------------------------------------------------------------------------------- names

static uint64_t word_of(const struct sp_stream *stream, int index) {
    return atomic_load_explicit(&stream->key.word[index], memory_order_acquire);
}

static struct sp_stream_name name_of(const struct sp_stream *stream) {
    return (struct sp_stream_name){{word_of(stream, 0), word_of(stream, 1), word_of(stream, 2)}};
}

static void set_name(struct sp_stream *stream, const struct sp_stream_name *name) {
    for (int i = 0; i < 3; i++)
        atomic_store_explicit(&stream->key.word[i], name->word[i], memory_order_release);
}

static struct sp_stream **name_bucket(const struct sp_stream_name *name) {
    return &table.by_name[sp_stream_name_hash(name) % BUCKETS];
}

static struct sp_stream *find_locked(const struct sp_stream_name *name) {
    struct sp_stream *stream = *name_bucket(name);
    while (stream && !sp_stream_has_name(stream, name))
        stream = stream->next_by_name;
    return stream;
}

static void link_name(struct sp_stream *stream) {
    struct sp_stream_name name = name_of(stream);
    struct sp_stream **bucket = name_bucket(&name);
    stream->next_by_name = *bucket;
    *bucket = stream;
}

static void unlink_name(struct sp_stream *stream) {
    struct sp_stream_name name = name_of(stream);
    struct sp_stream **link = name_bucket(&name);
    while (*link && *link != stream)
        link = &(*link)->next_by_name;
    if (*link)
        *link = stream->next_by_name;
}

// ----------------------------------------------------------------------------------------- handles

static struct sp_stream **handle_bucket(CUstream handle) {
    return &table.by_handle[sp_stream_hash((uintptr_t)handle) % BUCKETS];
}

static void link_handle(struct sp_stream *stream) {
    if (sort_of_slot(stream) != CREATED)
        return;
    struct sp_stream **bucket = handle_bucket(stream->handle);
    stream->next_by_handle = *bucket;
    *bucket = stream;
}

static void unlink_handle(struct sp_stream *stream) {
    struct sp_stream **link = handle_bucket(stream->handle);
    while (*link && *link != stream)
        link = &(*link)->next_by_handle;
    if (*link)
        *link = stream->next_by_handle;
}

static bool is_known_as(const struct sp_stream *stream, uintptr_t name) {
    return atomic_load_explicit(&stream->known_as, memory_order_relaxed) == name;
}

struct sp_stream *sp_registry_find_known_as(CUstream handle) {
    uintptr_t name = (uintptr_t)sp_stream_proper_handle(handle);
    sp_lock_acquire(&table.lock);
    struct sp_stream *stream = *handle_bucket(handle);
    while (stream && !is_known_as(stream, name))
        stream = stream->next_by_handle;
    sp_lock_release(&table.lock);
    return stream;
}

// ------------------------------------------------------------------------------------------- slots

uint32_t sp_stream_count(void) {
    return atomic_load_explicit(&table.count, memory_order_acquire);
}

// The memory of the next slot, or null without host memory.
static struct sp_stream *fresh_slot(const struct sp_stream_description *fresh) {
    uint32_t slot = atomic_load_explicit(&table.count, memory_order_relaxed);
    uint32_t chunk = slot >> SP_STREAM_CHUNK_SHIFT;
    if (chunk == SP_STREAM_CHUNKS)
        return NULL;
    if (!atomic_load_explicit(&sp_stream_chunks[chunk], memory_order_relaxed)) {
        struct sp_stream *streams =
            aligned_alloc(_Alignof(struct sp_stream), SP_STREAM_CHUNK * sizeof *streams);
        if (!streams)
            return NULL;
        memset(streams, 0, SP_STREAM_CHUNK * sizeof *streams);
        atomic_store_explicit(&sp_stream_chunks[chunk], streams, memory_order_release);
    }
    struct sp_stream *stream = sp_stream_at(slot);
    stream->slot = slot;
    stream->identified = fresh->identified; // and so are all streams of the slot
    stream->is_default = sp_stream_is_default(fresh->handle);
    sp_list_init(&stream->of_context);
    sp_list_init(&stream->unused);
    sp_list_init(&stream->in_turn);
    atomic_store_explicit(&stream->sequence, 1, memory_order_relaxed);
    return stream;
}

// Others walk the slots without a lock, so a fresh one is counted when it has been described.
static void publish_slot(const struct sp_stream *stream) {
    if (stream->slot == atomic_load_explicit(&table.count, memory_order_relaxed))
        atomic_store_explicit(&table.count, stream->slot + 1, memory_order_release);
}

// One of the first slots of a list of which nothing is pending. The others go behind all that are
// there.
static struct sp_stream *take_spent(struct sp_list *slots, struct unused *unused) {
    for (int i = 0; i < LOOKS && !sp_list_empty(slots); i++) {
        struct sp_stream *stream =
            SP_CONTAINER_OF(sp_list_pop_front(slots), struct sp_stream, unused);
        if (sp_slot_is_spent(stream))
            return stream;
        sp_list_push_back(sp_progress_has_pending_events(stream) ? &unused->slots : &unused->mute,
                          &stream->unused);
    }
    return NULL;
}

static struct sp_stream *take_unused(struct unused *unused) {
    struct sp_stream *stream = take_spent(&unused->slots, unused);
    return stream ? stream : take_spent(&unused->mute, unused);
}

static struct sp_stream *used_slot(struct context *context, enum sort sort) {
    struct sp_stream *stream = take_unused(&context->unused[sort]);
    if (!stream)
        stream = take_unused(&table.unused[sort]);
    if (!stream)
        return NULL;
    unlink_name(stream);
    sp_list_remove(&stream->of_context);
    sp_slot_forget(stream);
    return stream;
}

static void describe(struct sp_stream *stream, const struct sp_stream_description *fresh) {
    stream->first = atomic_load_explicit(&stream->sequence, memory_order_relaxed);
    // Others may tell of it just now.
    __atomic_store_n(&stream->handle, fresh->handle, __ATOMIC_RELAXED);
    if (!sp_stream_is_of(stream, fresh->context, fresh->context_id)) {
        sp_slot_begin(stream);
        stream->device = fresh->device;
        stream->context = fresh->context;
        stream->context_id = fresh->context_id;
    }
    atomic_store_explicit(&stream->kind, (int)fresh->kind, memory_order_relaxed);
    atomic_store_explicit(&stream->acts,
                          !fresh->identified || fresh->kind != SP_STREAM_NON_BLOCKING,
                          memory_order_relaxed);
    atomic_store_explicit(&stream->gone, false, memory_order_relaxed);
    atomic_store_explicit(&stream->known_as, 0, memory_order_release);
    atomic_store_explicit(&stream->was_remembered, false, memory_order_relaxed);
    set_name(stream, &fresh->name);
}

// ---------------------------------------------------------------------------------------- contexts

static struct context **context_bucket(CUcontext handle) {
    return &table.by_context[sp_stream_hash((uintptr_t)handle) % CONTEXT_BUCKETS];
}

// The one that is taken for alive at a handle.
static struct context *find_context(CUcontext handle) {
    struct context *context = *context_bucket(handle);
    while (context && context->handle != handle)
        context = context->next_in_bucket;
    return context;
}

static struct context *add_context(const struct sp_stream_description *fresh) {
    struct context *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    context->handle = fresh->context;
    context->id = fresh->context_id;
    context->device = fresh->device;
    sp_list_init(&context->streams);
    init_unused(context->unused);
    context->next_in_bucket = *context_bucket(fresh->context);
    *context_bucket(fresh->context) = context;
    sp_list_push_back(&table.contexts, &context->link);
    table.context_count++;
    return context;
}

static void remove_context(struct context *context) {
    struct context **link = context_bucket(context->handle);
    while (*link != context)
        link = &(*link)->next_in_bucket;
    *link = context->next_in_bucket;
    sp_list_remove(&context->link);
    table.context_count--;
    free(context);
}

// A thread that has told its own default stream by the handle might do so again, as long as it
// lives.
static bool may_be_told_again(const struct sp_stream *stream) {
    return sort_of_slot(stream) == PER_THREAD &&
           atomic_load_explicit(&stream->was_remembered, memory_order_relaxed) &&
           !atomic_load_explicit(&stream->gone, memory_order_relaxed);
}

static void end_stream_locked(struct sp_stream *stream) {
    sp_slot_end(stream);
    atomic_store_explicit(&stream->known_as, 0, memory_order_release);
    unlink_handle(stream);
    sp_list_remove(&stream->of_context);
    sp_list_remove(&stream->unused);
    if (!may_be_told_again(stream))
        sp_list_push_back(&table.unused[sort_of_slot(stream)].slots, &stream->unused);
}

// Takes as long as the context has had streams at a time.
static void end_context_locked(struct context *context) {
    while (!sp_list_empty(&context->streams))
        end_stream_locked(
            SP_CONTAINER_OF(sp_list_first(&context->streams), struct sp_stream, of_context));
    remove_context(context);
}

// The context of a new stream. One with another id at its handle was destroyed. Null without host
// memory.
static struct context *context_of(const struct sp_stream_description *fresh) {
    struct context *context = find_context(fresh->context);
    if (context && context->id != fresh->context_id) {
        end_context_locked(context);
        context = NULL;
    }
    return context ? context : add_context(fresh);
}

// -------------------------------------------------------------------------------- going and coming

static void set_gone_locked(struct sp_stream *stream) {
    atomic_store_explicit(&stream->known_as, 0, memory_order_release);
    if (atomic_exchange(&stream->gone, true))
        return;
    if (sort_of_slot(stream) == CREATED)
        unlink_handle(stream);
    struct context *context = find_context(stream->context);
    bool is_of_it = context && context->id == stream->context_id;
    struct unused *unused = is_of_it ? context->unused : table.unused;
    if (sp_list_empty(&stream->unused))
        sp_list_push_back(&unused[sort_of_slot(stream)].slots, &stream->unused);
}

void sp_registry_set_gone(struct sp_stream *stream, uint64_t word) {
    sp_lock_acquire(&table.lock);
    if (word_of(stream, 0) == word && stream->identified)
        set_gone_locked(stream);
    sp_lock_release(&table.lock);
}

// Of an anonymous one, too: its name has a number of the thread's, which no other thread gets.
void sp_registry_set_threadless(struct sp_stream *stream, const struct sp_stream_name *name) {
    sp_lock_acquire(&table.lock);
    if (sp_stream_has_name(stream, name))
        set_gone_locked(stream);
    sp_lock_release(&table.lock);
}

// A created stream with the handle of an earlier one in the same context shows that the earlier one
// is gone.
static void learn_of_the_gone_locked(const struct sp_stream_description *fresh) {
    struct sp_stream *stream = *handle_bucket(fresh->handle);
    while (stream) {
        struct sp_stream *next = stream->next_by_handle;
        if (stream->handle == fresh->handle && stream->identified &&
            sp_stream_is_of(stream, fresh->context, fresh->context_id))
            set_gone_locked(stream);
        stream = next;
    }
}

// Adds the stream unless another thread has been faster; returns the one in the table, or null
// without host memory.
static struct sp_stream *add_locked(const struct sp_stream_description *fresh) {
    struct sp_stream *stream = find_locked(&fresh->name);
    struct context *context = stream ? NULL : context_of(fresh);
    if (!context)
        return stream;
    learn_of_the_gone_locked(fresh);
    stream = used_slot(context, sort_of(fresh->handle));
    if (!stream)
        stream = fresh_slot(fresh);
    if (!stream)
        return NULL;
    describe(stream, fresh);
    publish_slot(stream);
    sp_list_push_back(&context->streams, &stream->of_context);
    link_name(stream);
    link_handle(stream);
    return stream;
}

// The device of a context that has streams here already, else -1 and how many others have.
static int known_device(const struct sp_stream_description *fresh, uint32_t *others) {
    sp_lock_acquire(&table.lock);
    const struct context *context = find_context(fresh->context);
    int device = context && context->id == fresh->context_id ? context->device : -1;
    *others = table.context_count;
    sp_lock_release(&table.lock);
    return device;
}

// Streams that are gone, of the context and sort of a new one, and have events to be asked.
static int pending_among_the_gone(const struct sp_stream_description *fresh,
                                  struct sp_stream *pending[LOOKS]) {
    int count = 0, looks = 0;
    sp_lock_acquire(&table.lock);
    const struct context *context = find_context(fresh->context);
    if (context && context->id == fresh->context_id) {
        SP_LIST_FOR_EACH(link, &context->unused[sort_of(fresh->handle)].slots) {
            struct sp_stream *stream = SP_CONTAINER_OF(link, struct sp_stream, unused);
            if (looks++ == LOOKS)
                break;
            if (sp_progress_has_pending_events(stream))
                pending[count++] = stream;
        }
    }
    sp_lock_release(&table.lock);
    return count;
}

// The context is alive: its new stream was just passed to us. What the driver says of the events,
// others will hear.
static void ask_the_gone(const struct sp_stream_description *fresh) {
    struct sp_stream *pending[LOOKS];
    int count = pending_among_the_gone(fresh, pending);
    for (int i = 0; i < count; i++)
        sp_poll_stream(pending[i]);
}

// Where a context comes to many, some may have gone that nobody has asked about.
static CUresult describe_handle(CUstream handle, struct sp_stream_description *fresh) {
    uint32_t others;
    CUresult error = sp_stream_describe(handle, fresh);
    if (error != CUDA_SUCCESS)
        return error;
    fresh->device = known_device(fresh, &others);
    if (fresh->device >= 0)
        return CUDA_SUCCESS;
    if (others >= LOOKS)
        sp_end_some_gone_contexts(NULL);
    return sp_context_device(fresh->context, &fresh->device);
}

CUresult sp_registry_add(CUstream handle, const struct sp_stream_name *name,
                         struct sp_stream **stream) {
    struct sp_stream_description fresh = {.name = *name};
    CUresult error = describe_handle(handle, &fresh);
    if (error != CUDA_SUCCESS)
        return error;
    ask_the_gone(&fresh);
    sp_lock_acquire(&table.lock);
    make_ready_locked();
    *stream = add_locked(&fresh);
    sp_lock_release(&table.lock);
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

// A thread's own default stream is named by that thread alone, which has not ended then.
static void take_back_locked(struct sp_stream *stream) {
    if (sort_of_slot(stream) != PER_THREAD || !atomic_load(&stream->gone))
        return;
    sp_list_remove(&stream->unused);
    atomic_store(&stream->gone, false);
}

struct sp_stream *sp_registry_find(const struct sp_stream_name *name) {
    sp_lock_acquire(&table.lock);
    struct sp_stream *stream = find_locked(name);
    if (stream)
        take_back_locked(stream);
    sp_lock_release(&table.lock);
    return stream;
}

// ----------------------------------------------------------------------------------- gone contexts

// A context by its name: it may be gone when it is looked up again.
struct context_name {
    CUcontext handle;
    uint64_t id;
};

static bool has_pending_frees(const struct context *context) {
    SP_LIST_FOR_EACH(link, &context->streams) {
        const struct sp_stream *stream = SP_CONTAINER_OF(link, struct sp_stream, of_context);
        if (atomic_load_explicit(&stream->freed, memory_order_relaxed) >
            sp_progress_completed(stream))
            return true;
    }
    return false;
}

// Names up to `most` contexts but that of `alive`, and puts those that it has looked at behind all
// others; the ones with frees pending alone, or any.
static uint32_t name_contexts(struct context_name *names, uint32_t most,
                              const struct sp_stream *alive, bool pending) {
    uint32_t count = 0;
    sp_lock_acquire(&table.lock);
    for (uint32_t left = most < table.context_count ? most : table.context_count; left > 0;
         left--) {
        struct sp_list *link = sp_list_pop_front(&table.contexts);
        const struct context *context = SP_CONTAINER_OF(link, struct context, link);
        sp_list_push_back(&table.contexts, link);
        bool is_alive = alive && sp_stream_is_of(alive, context->handle, context->id);
        if (!is_alive && (!pending || has_pending_frees(context)))
            names[count++] = (struct context_name){context->handle, context->id};
    }
    sp_lock_release(&table.lock);
    return count;
}

static bool end_if_gone(const struct context_name *name) {
    if (!sp_context_is_gone(name->handle, name->id))
        return false;
    sp_lock_acquire(&table.lock);
    struct context *context = find_context(name->handle);
    if (context && context->id == name->id)
        end_context_locked(context);
    sp_lock_release(&table.lock);
    return true;
}

static bool end_those_gone(const struct context_name *names, uint32_t count) {
    bool ended = false;
    for (uint32_t i = 0; i < count; i++)
        ended = end_if_gone(&names[i]) || ended;
    return ended;
}

// A context that comes meanwhile is asked next time. Without host memory nothing is asked, and
// nothing learned.
bool sp_end_gone_contexts(const struct sp_stream *alive) {
    sp_lock_acquire(&table.lock);
    uint32_t most = table.context_count;
    sp_lock_release(&table.lock);
    struct context_name *names = most > 0 ? malloc(most * sizeof *names) : NULL;
    bool ended = names && end_those_gone(names, name_contexts(names, most, alive, true));
    free(names);
    return ended;
}

bool sp_end_some_gone_contexts(const struct sp_stream *alive) {
    struct context_name names[LOOKS];
    return end_those_gone(names, name_contexts(names, LOOKS, alive, false));
}

// --------------------------------------------------------------------------------------- for tests

static void close_slot(struct sp_stream *stream) {
    sp_stream_destroy_events(stream);
    memset(stream, 0, sizeof *stream);
    set_name(stream, &(struct sp_stream_name){{UINT64_MAX, UINT64_MAX, UINT64_MAX}});
}

void sp_registry_close(void) {
    sp_progress_forget_strict();
    sp_turn_close_all();
    uint32_t count = atomic_load(&table.count);
    for (uint32_t slot = 0; slot < count; slot++)
        close_slot(sp_stream_at(slot));
    make_ready_locked();
    while (!sp_list_empty(&table.contexts))
        remove_context(SP_CONTAINER_OF(sp_list_first(&table.contexts), struct context, link));
    memset(table.by_name, 0, sizeof table.by_name);
    memset(table.by_handle, 0, sizeof table.by_handle);
    table.is_ready = false;
    atomic_store(&table.count, 0);
}
