#include "order/stream.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_SHIFT = 8, CHUNK_SIZE = 1 << CHUNK_SHIFT, MAX_CHUNKS = 4096, BUCKETS = 4096, CACHED = 32 };

// The table of all streams. `lock` guards growth; chunks and count are published with release.
static struct {
    struct sp_lock lock;
    _Atomic uint32_t count;
    struct sp_stream *_Atomic chunks[MAX_CHUNKS];
    struct sp_stream *buckets[BUCKETS];
} table;

// The streams that this thread has named last. An entry is good if the stream's key is the one looked for.
static _Thread_local struct sp_stream *cache[CACHED] __attribute__((tls_model("initial-exec")));

// ------------------------------------------------------------------------------------------- identity

static bool same_key(const struct sp_stream_key *a, const struct sp_stream_key *b) {
    return a->word[0] == b->word[0] && a->word[1] == b->word[1] && a->word[2] == b->word[2];
}

static uint64_t hash_key(const struct sp_stream_key *key) {
    uint64_t mixed = (key->word[0] ^ (key->word[1] >> 4) ^ key->word[2]) * 0x9E3779B97F4A7C15u;
    return mixed >> 32;
}

static bool is_per_thread(CUstream handle) {
    return handle == CU_STREAM_PER_THREAD;
}

static bool is_default(CUstream handle) {
    return handle == NULL || handle == CU_STREAM_LEGACY || is_per_thread(handle);
}

// A number for the calling host thread that is never used again.
static uint64_t thread_number(void) {
    static _Atomic uint64_t last;
    static _Thread_local uint64_t number;
    if (number == 0)
        number = atomic_fetch_add(&last, 1) + 1;
    return number;
}

// A default stream is one of the current context.
static CUresult context_of(CUstream handle, CUcontext *context) {
    if (!is_default(handle))
        return sp_native_noted(sp_driver->cuStreamGetCtx(handle, context), "cuStreamGetCtx");
    CUresult error = sp_native_noted(sp_driver->cuCtxGetCurrent(context), "cuCtxGetCurrent");
    if (error == CUDA_SUCCESS && !*context)
        return CUDA_ERROR_INVALID_CONTEXT;
    return error;
}

static CUresult anonymous_key(CUstream handle, struct sp_stream_key *key) {
    CUcontext context = NULL;
    CUresult error = context_of(handle, &context);
    key->word[0] = (uint64_t)(uintptr_t)context;
    key->word[1] = (uint64_t)(uintptr_t)(handle ? handle : CU_STREAM_LEGACY);
    key->word[2] = is_per_thread(handle) ? thread_number() : 0;
    return error;
}

static CUresult identify(CUstream handle, struct sp_stream_key *key) {
    if (!sp_driver->cuStreamGetId)
        return anonymous_key(handle, key);
    unsigned long long id = 0;
    CUresult error = sp_driver->cuStreamGetId(handle, &id);
    *key = (struct sp_stream_key){{id, 0, 0}};
    return sp_native_noted(error, "cuStreamGetId");
}

CUresult sp_stream_check_capture(CUstream handle) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult error = sp_driver->cuStreamIsCapturing(handle, &status);
    if (error != CUDA_SUCCESS)
        return sp_native_noted(error, "cuStreamIsCapturing");
    return status == CU_STREAM_CAPTURE_STATUS_NONE ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

static uint64_t close_sequence(struct sp_stream *stream);
static void publish_completed(struct sp_stream *stream, uint64_t sequence);

// ----------------------------------------------------------------------------------------- the registry

struct sp_stream *sp_stream_at(uint32_t slot) {
    struct sp_stream *chunk = atomic_load_explicit(&table.chunks[slot >> CHUNK_SHIFT], memory_order_acquire);
    return &chunk[slot & (CHUNK_SIZE - 1)];
}

static struct sp_stream *find_in_bucket(const struct sp_stream_key *key, uint64_t hash) {
    struct sp_stream *stream = table.buckets[hash % BUCKETS];
    while (stream && !same_key(&stream->key, key))
        stream = stream->next_in_bucket;
    return stream;
}

// The memory of the next slot, or null without host memory.
static struct sp_stream *next_slot(uint32_t slot) {
    uint32_t chunk = slot >> CHUNK_SHIFT;
    if (chunk == MAX_CHUNKS)
        return NULL;
    if (!atomic_load_explicit(&table.chunks[chunk], memory_order_relaxed)) {
        struct sp_stream *streams = calloc(CHUNK_SIZE, sizeof *streams);
        if (!streams)
            return NULL;
        atomic_store_explicit(&table.chunks[chunk], streams, memory_order_release);
    }
    return sp_stream_at(slot);
}

// Adds `fresh` unless another thread has been faster; returns the stream in the table.
static struct sp_stream *add_locked(const struct sp_stream *fresh, uint64_t hash) {
    struct sp_stream *known = find_in_bucket(&fresh->key, hash);
    if (known)
        return known;
    uint32_t slot = atomic_load_explicit(&table.count, memory_order_relaxed);
    struct sp_stream *stream = next_slot(slot);
    if (!stream)
        return NULL;
    memcpy(stream, fresh, sizeof *stream);
    stream->slot = slot;
    stream->next_in_bucket = table.buckets[hash % BUCKETS];
    table.buckets[hash % BUCKETS] = stream;
    atomic_store_explicit(&table.count, slot + 1, memory_order_release);
    return stream;
}

static CUresult device_of(CUcontext context, int *device) {
    CUcontext popped;
    CUresult error = sp_native_noted(sp_driver->cuCtxPushCurrent(context), "cuCtxPushCurrent");
    if (error != CUDA_SUCCESS)
        return error;
    error = sp_native_noted(sp_driver->cuCtxGetDevice(device), "cuCtxGetDevice");
    sp_driver->cuCtxPopCurrent(&popped);
    return error;
}

static CUresult context_id_of(CUcontext context, uint64_t *id) {
    unsigned long long value = 0;
    if (!sp_driver->cuCtxGetId)
        return CUDA_SUCCESS;
    CUresult error = sp_native_noted(sp_driver->cuCtxGetId(context, &value), "cuCtxGetId");
    *id = value;
    return error;
}

static CUresult describe(CUstream handle, struct sp_stream *fresh) {
    fresh->handle = handle;
    fresh->identified = sp_driver->cuStreamGetId != NULL;
    fresh->first = 1;
    atomic_init(&fresh->sequence, 1);
    CUresult error = context_of(handle, &fresh->context);
    if (error != CUDA_SUCCESS)
        return error;
    error = context_id_of(fresh->context, &fresh->context_id);
    if (error != CUDA_SUCCESS)
        return error;
    return device_of(fresh->context, &fresh->device);
}

// A context with the handle of an earlier one shows that the earlier one was destroyed, which completed its
// work and took its events along.
static void end_earlier_contexts(const struct sp_stream *fresh) {
    uint32_t count = atomic_load_explicit(&table.count, memory_order_acquire);
    for (uint32_t slot = 0; slot < count; slot++) {
        struct sp_stream *stream = sp_stream_at(slot);
        if (stream->context != fresh->context || stream->context_id == fresh->context_id)
            continue;
        sp_lock_acquire(&stream->lock);
        memset(stream->events, 0, sizeof stream->events);
        sp_lock_release(&stream->lock);
        publish_completed(stream, close_sequence(stream));
    }
}

static CUresult register_stream(CUstream handle, const struct sp_stream_key *key, uint64_t hash,
                                struct sp_stream **stream) {
    struct sp_stream fresh = {.key = *key};
    CUresult error = describe(handle, &fresh);
    if (error != CUDA_SUCCESS)
        return error;
    end_earlier_contexts(&fresh);
    sp_lock_acquire(&table.lock);
    *stream = add_locked(&fresh, hash);
    sp_lock_release(&table.lock);
    return *stream ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

static CUresult resolve_slowly(CUstream handle, const struct sp_stream_key *key, uint64_t hash,
                               struct sp_stream **stream) {
    sp_lock_acquire(&table.lock);
    *stream = find_in_bucket(key, hash);
    sp_lock_release(&table.lock);
    if (!*stream) {
        CUresult error = register_stream(handle, key, hash, stream);
        if (error != CUDA_SUCCESS)
            return error;
    }
    cache[hash % CACHED] = *stream;
    return CUDA_SUCCESS;
}

CUresult sp_stream_resolve(CUstream handle, struct sp_stream **stream) {
    struct sp_stream_key key;
    CUresult error = identify(handle, &key);
    if (error != CUDA_SUCCESS)
        return error;
    uint64_t hash = hash_key(&key);
    struct sp_stream *cached = cache[hash % CACHED];
    if (cached && same_key(&cached->key, &key)) {
        *stream = cached;
        return CUDA_SUCCESS;
    }
    return resolve_slowly(handle, &key, hash, stream);
}

bool sp_fence_is_complete(struct sp_fence fence) {
    return fence.sequence <= sp_stream_completed(sp_stream_at(fence.slot));
}

enum sp_rule sp_stream_decide(const struct sp_stream *taker, struct sp_fence fence) {
    struct sp_rule_facts facts = {taker->slot, taker->first, sp_stream_completed(sp_stream_at(fence.slot))};
    return sp_rule_decide(fence, &facts);
}

// ----------------------------------------------------------------------------- sequences and their events

static uint64_t close_sequence(struct sp_stream *stream) {
    return atomic_fetch_add_explicit(&stream->sequence, 1, memory_order_acq_rel);
}

static void raise_to(_Atomic uint64_t *number, uint64_t sequence) {
    uint64_t known = atomic_load_explicit(number, memory_order_relaxed);
    while (known < sequence && !atomic_compare_exchange_weak_explicit(
                                   number, &known, sequence, memory_order_release, memory_order_relaxed))
        ;
}

static _Atomic uint64_t news;

uint64_t sp_streams_news(void) {
    return atomic_load_explicit(&news, memory_order_acquire);
}

static void publish_completed(struct sp_stream *stream, uint64_t sequence) {
    if (sequence <= sp_stream_completed(stream))
        return;
    raise_to(&stream->completed, sequence);
    atomic_fetch_add_explicit(&news, 1, memory_order_release);
}

static CUstreamCaptureMode enter_relaxed_mode(void) {
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    return mode;
}

static void leave_relaxed_mode(CUstreamCaptureMode mode) {
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
}

// An event belongs to the stream's context, which need not be the current one.
static CUresult create_event(const struct sp_stream *stream, CUevent *event) {
    CUcontext popped;
    CUresult error = sp_native_noted(sp_driver->cuCtxPushCurrent(stream->context), "cuCtxPushCurrent");
    if (error != CUDA_SUCCESS)
        return error;
    error = sp_native_noted(sp_driver->cuEventCreate(event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    sp_driver->cuCtxPopCurrent(&popped);
    return error;
}

static struct sp_recorded_event *oldest(struct sp_stream *stream) {
    struct sp_recorded_event *found = &stream->events[0];
    for (int i = 1; i < SP_STREAM_EVENTS; i++) {
        if (stream->events[i].sequence < found->sequence)
            found = &stream->events[i];
    }
    return found;
}

// An event to record: the stream's oldest, which a later one covers, if all entries are taken; else a new
// one.
static CUresult take_event(struct sp_stream *stream, CUevent *event) {
    sp_lock_acquire(&stream->lock);
    struct sp_recorded_event *entry = oldest(stream);
    *event = entry->event;
    *entry = (struct sp_recorded_event){NULL, 0};
    sp_lock_release(&stream->lock);
    return *event ? CUDA_SUCCESS : create_event(stream, event);
}

// Puts an event into the oldest entry; what stood there is covered by it, or is the older one of the two.
static void keep_event(struct sp_stream *stream, CUevent event, uint64_t sequence) {
    sp_lock_acquire(&stream->lock);
    struct sp_recorded_event *entry = oldest(stream);
    CUevent surplus = entry->event;
    *entry = (struct sp_recorded_event){event, sequence};
    sp_lock_release(&stream->lock);
    raise_to(&stream->recorded, sequence);
    if (surplus)
        sp_driver->cuEventDestroy(surplus);
}

// An event that didn't wait for the chain of an anonymous stream would say nothing of the frees of earlier
// streams with its handle.
static CUresult record_behind_chain(struct sp_stream *stream, CUevent event) {
    sp_lock_acquire(&stream->lock);
    CUevent chain = stream->chain;
    sp_lock_release(&stream->lock);
    CUresult error = CUDA_SUCCESS;
    if (chain)
        error = sp_native_noted(sp_driver->cuStreamWaitEvent(stream->handle, chain, 0), "cuStreamWaitEvent");
    return error == CUDA_SUCCESS
               ? sp_native_noted(sp_driver->cuEventRecord(event, stream->handle), "cuEventRecord")
               : error;
}

CUresult sp_stream_record(struct sp_stream *stream) {
    CUevent event = NULL;
    CUresult error = take_event(stream, &event);
    if (error != CUDA_SUCCESS)
        return error;
    uint64_t sequence = close_sequence(stream);
    CUstreamCaptureMode mode = enter_relaxed_mode();
    error = record_behind_chain(stream, event);
    leave_relaxed_mode(mode);
    if (error != CUDA_SUCCESS) {
        sp_driver->cuEventDestroy(event);
        return error;
    }
    keep_event(stream, event, sequence);
    return CUDA_SUCCESS;
}

// The chain of an anonymous stream: see the top of stream.h. The first caller makes the event.
static CUresult chain_event(struct sp_stream *stream, CUevent *event) {
    sp_lock_acquire(&stream->lock);
    *event = stream->chain;
    sp_lock_release(&stream->lock);
    if (*event)
        return CUDA_SUCCESS;
    CUevent made = NULL;
    CUresult error = create_event(stream, &made);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&stream->lock);
    if (!stream->chain)
        stream->chain = made;
    *event = stream->chain;
    sp_lock_release(&stream->lock);
    if (*event != made)
        sp_driver->cuEventDestroy(made);
    return CUDA_SUCCESS;
}

static CUresult extend_chain(const struct sp_stream *stream, CUevent event) {
    CUstreamCaptureMode mode = enter_relaxed_mode();
    CUresult error =
        sp_native_noted(sp_driver->cuStreamWaitEvent(stream->handle, event, 0), "cuStreamWaitEvent");
    if (error == CUDA_SUCCESS)
        error = sp_native_noted(sp_driver->cuEventRecord(event, stream->handle), "cuEventRecord");
    leave_relaxed_mode(mode);
    return error;
}

CUresult sp_stream_free_point(struct sp_stream *stream, uint64_t *sequence) {
    if (stream->identified) {
        *sequence = atomic_load_explicit(&stream->sequence, memory_order_acquire);
        return CUDA_SUCCESS;
    }
    CUevent event = NULL;
    CUresult error = chain_event(stream, &event);
    if (error != CUDA_SUCCESS)
        return error;
    uint64_t closed = close_sequence(stream);
    error = extend_chain(stream, event);
    if (error != CUDA_SUCCESS)
        return error;
    sp_lock_acquire(&stream->lock);
    if (stream->chain_sequence < closed)
        stream->chain_sequence = closed;
    sp_lock_release(&stream->lock);
    raise_to(&stream->recorded, closed);
    *sequence = closed;
    return CUDA_SUCCESS;
}

CUresult sp_stream_before_reuse(struct sp_stream *stream) {
    if (stream->identified)
        return CUDA_SUCCESS;
    sp_lock_acquire(&stream->lock);
    CUevent event = stream->chain_sequence > sp_stream_completed(stream) ? stream->chain : NULL;
    sp_lock_release(&stream->lock);
    if (!event)
        return CUDA_SUCCESS;
    CUstreamCaptureMode mode = enter_relaxed_mode();
    CUresult error =
        sp_native_noted(sp_driver->cuStreamWaitEvent(stream->handle, event, 0), "cuStreamWaitEvent");
    leave_relaxed_mode(mode);
    return error;
}

// ---------------------------------------------------------------------------- learning what has completed

// One event: publishes its sequence number when it has completed.
static CUresult poll_event(struct sp_stream *stream, CUevent event, uint64_t sequence) {
    if (!event || sequence <= sp_stream_completed(stream))
        return CUDA_SUCCESS;
    CUresult error = sp_driver->cuEventQuery(event);
    if (error == CUDA_ERROR_NOT_READY)
        return CUDA_SUCCESS;
    if (error != CUDA_SUCCESS)
        return sp_native_noted(error, "cuEventQuery");
    publish_completed(stream, sequence);
    return CUDA_SUCCESS;
}

static CUresult poll_locked(struct sp_stream *stream) {
    CUresult first = CUDA_SUCCESS;
    for (int i = 0; i < SP_STREAM_EVENTS; i++) {
        CUresult error = poll_event(stream, stream->events[i].event, stream->events[i].sequence);
        first = first == CUDA_SUCCESS ? error : first;
    }
    CUresult error = poll_event(stream, stream->chain, stream->chain_sequence);
    return first == CUDA_SUCCESS ? error : first;
}

CUresult sp_stream_poll(struct sp_stream *stream) {
    if (atomic_load_explicit(&stream->recorded, memory_order_acquire) <= sp_stream_completed(stream))
        return CUDA_SUCCESS;
    CUstreamCaptureMode mode = enter_relaxed_mode();
    sp_lock_acquire(&stream->lock);
    CUresult error = poll_locked(stream);
    sp_lock_release(&stream->lock);
    leave_relaxed_mode(mode);
    return error;
}

// The current context, as (handle, id); no context is (null, 0).
static CUresult current_context(CUcontext *context, uint64_t *id) {
    *id = 0;
    CUresult error = sp_native_noted(sp_driver->cuCtxGetCurrent(context), "cuCtxGetCurrent");
    if (error != CUDA_SUCCESS || !*context)
        return error;
    return context_id_of(*context, id);
}

bool sp_stream_is_of_current_context(const struct sp_stream *stream) {
    CUcontext context = NULL;
    uint64_t id;
    return current_context(&context, &id) == CUDA_SUCCESS && context == stream->context &&
           id == stream->context_id;
}

static CUresult poll_context(CUcontext context, uint64_t id) {
    CUresult first = CUDA_SUCCESS;
    uint32_t count = atomic_load_explicit(&table.count, memory_order_acquire);
    for (uint32_t slot = 0; slot < count; slot++) {
        struct sp_stream *stream = sp_stream_at(slot);
        if (stream->context != context || stream->context_id != id)
            continue;
        CUresult error = sp_stream_poll(stream);
        first = first == CUDA_SUCCESS ? error : first;
    }
    return first;
}

CUresult sp_streams_poll_context_of(const struct sp_stream *stream) {
    return poll_context(stream->context, stream->context_id);
}

CUresult sp_streams_poll_current_context(void) {
    CUcontext context = NULL;
    uint64_t id;
    CUresult error = current_context(&context, &id);
    return error == CUDA_SUCCESS && context ? poll_context(context, id) : error;
}

// What a synchronise or a query of the stream itself has shown. Of an anonymous stream it says nothing about
// the work of an earlier one with the same handle; the chain does.
static void publish_seen(struct sp_stream *stream, uint64_t sequence) {
    if (stream->identified)
        publish_completed(stream, sequence);
    else
        sp_stream_poll(stream);
}

CUresult sp_stream_synchronize(struct sp_stream *stream, CUstream handle) {
    uint64_t sequence = close_sequence(stream);
    CUresult error = sp_native_noted(sp_driver->cuStreamSynchronize(handle), "cuStreamSynchronize");
    if (error == CUDA_SUCCESS)
        publish_seen(stream, sequence);
    return error;
}

CUresult sp_stream_query(struct sp_stream *stream, CUstream handle) {
    uint64_t sequence = close_sequence(stream);
    CUresult error = sp_driver->cuStreamQuery(handle);
    if (error == CUDA_SUCCESS)
        publish_seen(stream, sequence);
    return sp_native_noted(error, "cuStreamQuery");
}

// Closes every stream of a context and notes the numbers in `closed`, by slot; 0 for other streams.
static void close_context(CUcontext context, uint64_t id, uint64_t *closed, uint32_t count) {
    for (uint32_t slot = 0; slot < count; slot++) {
        struct sp_stream *stream = sp_stream_at(slot);
        if (stream->context == context && stream->context_id == id)
            closed[slot] = close_sequence(stream);
    }
}

static void publish_context(const uint64_t *closed, uint32_t count) {
    for (uint32_t slot = 0; slot < count; slot++)
        publish_completed(sp_stream_at(slot), closed[slot]);
}

// A context's synchronise covers all of its streams, those destroyed since included.
CUresult sp_context_synchronize(void) {
    CUcontext context = NULL;
    uint64_t id;
    CUresult error = current_context(&context, &id);
    if (error != CUDA_SUCCESS)
        return error;
    uint32_t count = atomic_load_explicit(&table.count, memory_order_acquire);
    uint64_t *closed = calloc(count ? count : 1, sizeof *closed);
    if (closed)
        close_context(context, id, closed, count);
    error = sp_native_noted(sp_driver->cuCtxSynchronize(), "cuCtxSynchronize");
    if (error == CUDA_SUCCESS && closed)
        publish_context(closed, count);
    free(closed);
    return error;
}

// ------------------------------------------------------------------------------------------- for tests

static void destroy_events(struct sp_stream *stream) {
    for (int i = 0; i < SP_STREAM_EVENTS; i++) {
        if (stream->events[i].event)
            sp_driver->cuEventDestroy(stream->events[i].event);
    }
    if (stream->chain)
        sp_driver->cuEventDestroy(stream->chain);
}

void sp_streams_close(void) {
    uint32_t count = atomic_load(&table.count);
    for (uint32_t slot = 0; slot < count; slot++) {
        destroy_events(sp_stream_at(slot));
        memset(sp_stream_at(slot), 0, sizeof(struct sp_stream));
        sp_stream_at(slot)->key = (struct sp_stream_key){{UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    }
    memset(table.buckets, 0, sizeof table.buckets);
    atomic_store(&table.count, 0);
}
