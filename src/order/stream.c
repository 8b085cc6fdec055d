#include "order/stream.h"

#include "base/cold.h"
#include "order/context.h"
#include "order/end.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 4096 };

// The table of all streams. `lock` guards growth; chunks and count are published with release.
static struct {
    struct sp_lock lock;
    _Atomic uint32_t count;
    struct sp_stream *buckets[BUCKETS];
    struct sp_stream *gone; // whose slots can be used again once all of theirs has completed
} table;

struct sp_stream *_Atomic sp_stream_chunks[SP_STREAM_CHUNKS];
_Thread_local struct sp_stream *sp_streams_by_id[SP_STREAMS_BY_ID];
_Thread_local struct sp_stream *sp_streams_by_handle[SP_STREAMS_BY_HANDLE];

// --------------------------------------------------------------------------------------------- names

// Who finds the name, by a pointer from an earlier stream of the slot and no lock, sees what the slot was described with.
static uint64_t word_of(const struct sp_stream *stream, int index) {
    return atomic_load_explicit(&stream->key.word[index], memory_order_acquire);
}

static bool has_name(const struct sp_stream *stream, const struct sp_stream_name *name) {
    return word_of(stream, 0) == name->word[0] && word_of(stream, 1) == name->word[1] &&
           word_of(stream, 2) == name->word[2];
}

static void set_name(struct sp_stream *stream, const struct sp_stream_name *name) {
    for (int i = 0; i < 3; i++)
        atomic_store_explicit(&stream->key.word[i], name->word[i], memory_order_release);
}

static void set_known_as(struct sp_stream *stream, uintptr_t name) {
    atomic_store_explicit(&stream->known_as, name, memory_order_release);
}

static uint64_t hash_of(const struct sp_stream_name *name) {
    return sp_stream_hash(name->word[0] ^ (name->word[1] >> 4) ^ name->word[2]);
}

// ----------------------------------------------------------------------------------------- the registry

uint32_t sp_stream_count(void) {
    return atomic_load_explicit(&table.count, memory_order_acquire);
}

static struct sp_stream **bucket_of(const struct sp_stream_name *name) {
    return &table.buckets[hash_of(name) % BUCKETS];
}

static struct sp_stream *find_in_bucket(const struct sp_stream_name *name) {
    struct sp_stream *stream = *bucket_of(name);
    while (stream && !has_name(stream, name))
        stream = stream->next_in_bucket;
    return stream;
}

// The memory of the next slot, or null without host memory.
static struct sp_stream *fresh_slot(void) {
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
    atomic_store_explicit(&stream->sequence, 1, memory_order_relaxed);
    return stream;
}

// Others walk the slots without a lock, so a fresh one is counted when it has been described.
static void publish_slot(const struct sp_stream *stream) {
    if (stream->slot == atomic_load_explicit(&table.count, memory_order_relaxed))
        atomic_store_explicit(&table.count, stream->slot + 1, memory_order_release);
}

static void unlink_from_bucket(struct sp_stream *stream) {
    struct sp_stream_name name = {{word_of(stream, 0), word_of(stream, 1), word_of(stream, 2)}};
    struct sp_stream **link = bucket_of(&name);
    while (*link && *link != stream)
        link = &(*link)->next_in_bucket;
    if (*link)
        *link = stream->next_in_bucket;
}

// A slot of a stream of the same context that is gone and of which nothing is pending, or null. Other
// threads read a slot's context without a lock, and its spare events belong to it: so it stays what it is. Nor does a slot's
// stream become a default one: a pool may leave more to lanes whose streams it can borrow.
static struct sp_stream *used_slot(const struct sp_stream_description *fresh) {
    for (struct sp_stream **link = &table.gone; *link; link = &(*link)->next_gone) {
        struct sp_stream *stream = *link;
        bool spent = sp_stream_is_spent(stream);
        bool fits = sp_stream_is_of(stream, fresh->context, fresh->context_id) &&
                    stream->is_default == sp_stream_is_default(fresh->handle);
        if (!fits || !spent)
            continue;
        *link = stream->next_gone;
        unlink_from_bucket(stream);
        sp_stream_forget(stream);
        return stream;
    }
    return NULL;
}

static void set_gone_locked(struct sp_stream *stream) {
    set_known_as(stream, 0);
    if (!stream->identified || atomic_exchange(&stream->gone, true))
        return;
    stream->next_gone = table.gone;
    table.gone = stream;
}

void sp_stream_set_gone(struct sp_stream *stream, uint64_t word) {
    sp_lock_acquire(&table.lock);
    if (word_of(stream, 0) == word)
        set_gone_locked(stream);
    sp_lock_release(&table.lock);
}

static void describe_slot(struct sp_stream *stream, const struct sp_stream_description *fresh) {
    stream->first = atomic_load_explicit(&stream->sequence, memory_order_relaxed);
    __atomic_store_n(&stream->handle, fresh->handle, __ATOMIC_RELAXED); // others may tell of it just now
    if (!sp_stream_is_of(stream, fresh->context, fresh->context_id)) {
        stream->device = fresh->device;
        stream->identified = fresh->identified;
        stream->is_default = sp_stream_is_default(fresh->handle);
        stream->context = fresh->context;
        stream->context_id = fresh->context_id;
    }
    atomic_store_explicit(&stream->kind, (int)fresh->kind, memory_order_relaxed);
    atomic_store_explicit(&stream->acts, !fresh->identified || fresh->kind != SP_STREAM_NON_BLOCKING,
                          memory_order_relaxed);
    atomic_store_explicit(&stream->gone, false, memory_order_relaxed);
    set_known_as(stream, 0);
    set_name(stream, &fresh->name);
}

// What a new stream tells of older ones. A context with the handle of an earlier one shows that the earlier
// one was destroyed, which completed its work and took its events along. A stream with the handle of an
// earlier one in the same context shows that the earlier stream is gone.
static void learn_of_the_dead_locked(const struct sp_stream_description *fresh) {
    uint32_t count = sp_stream_count();
    for (uint32_t slot = 0; slot < count; slot++) {
        struct sp_stream *stream = sp_stream_at(slot);
        if (stream->context != fresh->context)
            continue;
        if (!sp_stream_is_of(stream, fresh->context, fresh->context_id))
            sp_stream_end_with_context(stream);
        else if (stream->identified && !sp_stream_is_default(fresh->handle) &&
                 stream->handle == fresh->handle)
            set_gone_locked(stream);
    }
}

// Adds the stream unless another thread has been faster; returns the one in the table, or null without host
// memory.
static struct sp_stream *add_locked(const struct sp_stream_description *fresh) {
    struct sp_stream *stream = find_in_bucket(&fresh->name);
    if (stream)
        return stream;
    learn_of_the_dead_locked(fresh);
    stream = used_slot(fresh);
    if (!stream)
        stream = fresh_slot();
    if (!stream)
        return NULL;
    describe_slot(stream, fresh);
    publish_slot(stream);
    stream->next_in_bucket = *bucket_of(&fresh->name);
    *bucket_of(&fresh->name) = stream;
    return stream;
}

static CUresult register_stream(CUstream handle, const struct sp_stream_name *name,
                                struct sp_stream **stream) {
    struct sp_stream_description fresh = {.name = *name};
    CUresult error = sp_stream_describe(handle, &fresh);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&table.lock);
    *stream = add_locked(&fresh);
    sp_lock_release(&table.lock);
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult find_or_register(CUstream handle, const struct sp_stream_name *name,
                                 struct sp_stream **stream) {
    sp_lock_acquire(&table.lock);
    *stream = find_in_bucket(name);
    sp_lock_release(&table.lock);
    if (!*stream) {
        CUresult error = register_stream(handle, name, stream);
        if (error != CUDA_SUCCESS)
            return error;
    }
    sp_streams_by_id[hash_of(name) % SP_STREAMS_BY_ID] = *stream;
    return CUDA_SUCCESS;
}

CUresult sp_stream_resolve_id(CUstream handle, uint64_t id, struct sp_stream **stream) {
    return find_or_register(handle, &(struct sp_stream_name){{id, 0, 0}}, stream);
}

// The legacy streams that this thread has named last, by the id of the context that was current then. A context has one such stream
// as long as it lives, so its id, which the driver tells in two thirds of the time, stands for the stream's. Green contexts, too, have an
// id each: see the conformance program's group gpu.
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
static CUresult ask_for_legacy(CUstream handle, unsigned long long context_id, struct legacy *legacy,
                               struct sp_stream **stream) {
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
    struct sp_stream *cached = sp_streams_by_id[hash_of(&name) % SP_STREAMS_BY_ID];
    if (cached && has_name(cached, &name)) {
        *stream = cached;
        return CUDA_SUCCESS;
    }
    return find_or_register(handle, &name, stream);
}

// ------------------------------------------------------------------------------------ remembered handles

static _Atomic bool remembers; // any

void sp_stream_remember(struct sp_stream *stream, CUstream handle) {
    uintptr_t name = (uintptr_t)sp_stream_proper_handle(handle);
    if (!atomic_load_explicit(&remembers, memory_order_relaxed))
        atomic_store(&remembers, true);
    if (atomic_load_explicit(&stream->known_as, memory_order_relaxed) != name)
        set_known_as(stream, name);
    sp_streams_by_handle[sp_stream_hash(name) % SP_STREAMS_BY_HANDLE] = stream;
}

// Whoever borrows it from here on finds that it isn't known.
static void forget_handle_of(struct sp_stream *stream) {
    atomic_store(&stream->known_as, 0);
    for (unsigned round = 0; atomic_load(&stream->borrowers) != 0; round++)
        sp_lock_pause(round);
}

void sp_streams_forget_handle(CUstream handle, const struct sp_stream *of) {
    uintptr_t name = (uintptr_t)sp_stream_proper_handle(handle);
    uint32_t count = atomic_load(&remembers) ? sp_stream_count() : 0;
    for (uint32_t slot = 0; slot < count; slot++) {
        struct sp_stream *stream = sp_stream_at(slot);
        if (stream == of || atomic_load_explicit(&stream->known_as, memory_order_relaxed) == name)
            forget_handle_of(stream);
    }
}

void sp_streams_forget_handles(void) {
    uint32_t count = atomic_load(&remembers) ? sp_stream_count() : 0;
    for (uint32_t slot = 0; slot < count; slot++)
        forget_handle_of(sp_stream_at(slot));
}

// ------------------------------------------------------------------------------------------ gone contexts

enum { LIVING = 16 };

// Contexts that a pass has found alive, by one stream of each. The latest few will do: one that was forgotten is asked
// again.
struct living {
    const struct sp_stream *streams[LIVING];
    uint32_t count;
};

static bool is_known_alive(const struct living *living, const struct sp_stream *stream) {
    for (uint32_t i = 0; i < living->count && i < LIVING; i++) {
        if (sp_stream_is_of(stream, living->streams[i]->context, living->streams[i]->context_id))
            return true;
    }
    return false;
}

static bool has_pending_frees(const struct sp_stream *stream) {
    return atomic_load_explicit(&stream->freed, memory_order_relaxed) > sp_stream_completed(stream);
}

static void end_context(CUcontext context, uint64_t id) {
    sp_lock_acquire(&table.lock);
    uint32_t count = sp_stream_count();
    for (uint32_t slot = 0; slot < count; slot++) {
        if (sp_stream_is_of(sp_stream_at(slot), context, id))
            sp_stream_end_with_context(sp_stream_at(slot));
    }
    sp_lock_release(&table.lock);
}

bool sp_streams_end_with_gone_contexts(const struct sp_stream *alive) {
    struct living living = {{alive}, alive != NULL};
    bool ended = false;
    uint32_t count = sp_stream_count();
    for (uint32_t slot = 0; slot < count; slot++) {
        const struct sp_stream *stream = sp_stream_at(slot);
        if (!has_pending_frees(stream) || is_known_alive(&living, stream))
            continue;
        if (sp_context_is_gone(stream->context, stream->context_id)) {
            end_context(stream->context, stream->context_id);
            ended = true;
        } else {
            living.streams[living.count++ % LIVING] = stream;
        }
    }
    return ended;
}

bool sp_stream_is_of_current_context(const struct sp_stream *stream) {
    CUcontext context = NULL;
    uint64_t id;
    return sp_context_current(&context, &id) == CUDA_SUCCESS && sp_stream_is_of(stream, context, id);
}

void sp_streams_close(void) {
    sp_streams_forget_strict();
    uint32_t count = atomic_load(&table.count);
    for (uint32_t slot = 0; slot < count; slot++) {
        sp_stream_destroy_events(sp_stream_at(slot));
        memset(sp_stream_at(slot), 0, sizeof(struct sp_stream));
        set_name(sp_stream_at(slot), &(struct sp_stream_name){{UINT64_MAX, UINT64_MAX, UINT64_MAX}});
    }
    memset(table.buckets, 0, sizeof table.buckets);
    table.gone = NULL;
    atomic_store(&table.count, 0);
}
