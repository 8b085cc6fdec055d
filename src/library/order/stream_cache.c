#include "order/stream_cache.h"

#include "order/context.h"
#include "order/identity.h"
#include "order/registry.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static struct sp_stream_cache nothing; // is never written
_Thread_local struct sp_stream_cache *sp_stream_cache = &nothing;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; // of a thread that has tables of its own
static bool has_key;

// A later destructor of the program's may use a stream once more, and then gets tables once more.
static void end(void *tables) {
    sp_stream_cache = &nothing;
    free(tables);
}

static void make_key(void) {
    has_key = pthread_key_create(&key, end) == 0;
}

// A library that is unloaded leaves no thread with a call to it.
__attribute__((destructor)) static void delete_key(void) {
    if (has_key)
        pthread_key_delete(key);
}

struct sp_stream_cache *sp_stream_cache_own(void) {
    if (sp_stream_cache != &nothing)
        return sp_stream_cache;
    pthread_once(&once, make_key);
    struct sp_stream_cache *made = has_key ? calloc(1, sizeof *made) : NULL;
    if (!made || pthread_setspecific(key, made) != 0) {
        free(made);
        return NULL;
    }
    return sp_stream_cache = made;
}

static _Atomic bool has_handles; // any handle

void sp_stream_cache_add(struct sp_stream *stream, CUstream handle) {
    uintptr_t name = (uintptr_t)sp_stream_proper_handle(handle);
    if (!sp_load_relaxed(&has_handles))
        atomic_store(&has_handles, true);
    if (sp_load_relaxed(&stream->known_as) != name) {
        sp_store_relaxed(&stream->handle_use.was_cached, true);
        sp_store_release(&stream->known_as, name);
        atomic_fetch_add(&stream->handle_use.learned, 1);
    }
    struct sp_stream_cache *own = sp_stream_cache_own();
    if (own)
        own->by_handle[sp_hash(name) % SP_STREAM_CACHE_HANDLES] = stream;
}

// A thread that borrows the stream from here on finds that it isn't known.
static void forget_handle_of(struct sp_stream *stream) {
    sp_stream_forget_handle(stream);
    for (unsigned round = 0; atomic_load(&stream->handle_use.borrowers) != 0; round++)
        sp_lock_pause(round);
}

// A default stream can't be destroyed.
void sp_stream_cache_forget_handle(CUstream handle, struct sp_stream *of) {
    struct sp_stream *in_use;
    if (!atomic_load(&has_handles) || sp_stream_is_default(handle))
        return;
    while ((in_use = sp_registry_find_in_use_by(handle)))
        forget_handle_of(in_use);
    if (of)
        forget_handle_of(of);
}

void sp_stream_cache_forget_handles(void) {
    uint32_t count = atomic_load(&has_handles) ? sp_stream_count() : 0;
    for (uint32_t slot = 0; slot < count; slot++)
        forget_handle_of(sp_stream_at(slot));
}

void sp_stream_cache_forget_by_thread(void) {
    if (sp_stream_cache != &nothing)
        memset(sp_stream_cache, 0, sizeof *sp_stream_cache);
}

// ----------------------------------------------------------------------------------------
// borrowing

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
