// Streams come and go. They come by resolving a handle that was just passed to us. They go by a
// call that destroys one, with their thread, or with their context. Meanwhile a thread finds those
// that it has named last in a cache, and may borrow one.
//
// Where the driver has ids, the common case is one driver call and no lock.
#ifndef STREAMPOOL_ORDER_RESOLVE_H
#define STREAMPOOL_ORDER_RESOLVE_H

#include "base/cold.h"
#include "order/identity.h"

// --------------------------------------------------------------------------------------- the cache
//
// Each thread has two small tables. One is by name: an entry is good if the stream's key is the
// name looked for. The other is by handle, for a program that promises to destroy its streams
// through the library: there a handle tells the stream with no driver call. Who a default stream is
// depends on the current context, and on the thread, which has its own table: so a default handle
// is only cached of a program that promises to have one context, and its slot goes to another
// stream only when its thread has ended or its context is gone.
//
// A library that is loaded into a running program gets little thread-local memory: so a thread has
// a pointer there, to tables that stay empty if it has nothing to cache, or no host memory for it.

enum { SP_STREAM_CACHE_NAMES = 32, SP_STREAM_CACHE_HANDLES = 16, SP_STREAM_CACHE_LEGACIES = 4 };

// A context's legacy stream: see resolve.c.
struct sp_legacy {
    unsigned long long context_id; // 0: none
    unsigned long long id;
    struct sp_stream *stream;
};

struct sp_stream_cache {
    struct sp_stream *by_name[SP_STREAM_CACHE_NAMES];
    struct sp_stream *by_handle[SP_STREAM_CACHE_HANDLES];
    struct sp_legacy legacies[SP_STREAM_CACHE_LEGACIES];
    struct sp_own_default *defaults; // the thread's own default streams, which end with it
};
extern _Thread_local __attribute__((tls_model("initial-exec"),
                                    visibility("hidden"))) struct sp_stream_cache *sp_stream_cache;

// The place of a name: of an identified stream the id alone says which one, since a driver counts
// its ids one by one. The slot of the stream there may be another one's by now.
static inline uint64_t sp_stream_cache_place(const struct sp_stream_name *name) {
    return (name->word[0] ^ (name->word[1] >> 4) ^ name->word[2]) % SP_STREAM_CACHE_NAMES;
}

// Returns the stream with a handle, or null when it isn't in the thread's cache.
static inline struct sp_stream *sp_stream_cache_find(CUstream handle) {
    uintptr_t name = (uintptr_t)sp_stream_proper_handle(handle);
    struct sp_stream *stream = sp_stream_cache->by_handle[sp_hash(name) % SP_STREAM_CACHE_HANDLES];
    bool is_it = stream && sp_load_acquire(&stream->known_as) == name;
    return is_it ? stream : NULL;
}

// Adds the stream that the handle was just resolved to.
void sp_stream_cache_add(struct sp_stream *stream, CUstream handle);

// Makes every thread forget a handle, before the stream that it names (null: it isn't told) is
// destroyed, and waits for each that has borrowed that stream, even if the handle was forgotten
// before. The second forgets all handles.
void sp_stream_cache_forget_handle(CUstream handle, struct sp_stream *of);
void sp_stream_cache_forget_handles(void);

// --------------------------------------------------------------------------------------- resolving

// Finds the stream with a name that isn't in the calling thread's cache, or asks the driver for
// what else there is to know of it and adds it to the registry, and to the thread's cache.
struct sp_outcome sp_resolve_name(CUstream handle, const struct sp_stream_name *name,
                                  struct sp_stream **stream);

// Finds the legacy stream of the current context, where streams are identified.
struct sp_outcome sp_resolve_legacy(CUstream handle, struct sp_stream **stream);

// Returns SP_CAPTURES when the stream takes part in a capture, and the driver's failure when even
// asking is one (the legacy stream beside a capturing one; no context).
static inline struct sp_outcome sp_resolve_capture(CUstream handle) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUresult code = sp_driver->cuStreamIsCapturing(handle, &status);
    if (SP_UNLIKELY(code != CUDA_SUCCESS))
        return sp_outcome_of_code(code, "cuStreamIsCapturing");
    if (SP_UNLIKELY(status != CU_STREAM_CAPTURE_STATUS_NONE))
        return sp_outcome_of(SP_CAPTURES);
    return sp_outcome_done();
}

// The slot in the thread's cache for an id may be another stream's by now: a thread that finds
// the id there sees what the slot was described with.
static inline struct sp_outcome sp_resolve_stream(CUstream handle, struct sp_stream **stream) {
    unsigned long long id = 0;
    if (SP_UNLIKELY(!sp_driver->cuStreamGetId))
        return sp_anonymous.resolve(handle, stream);
    if ((uintptr_t)handle <= (uintptr_t)CU_STREAM_LEGACY)
        return sp_resolve_legacy(handle, stream);
    CUresult code = sp_driver->cuStreamGetId(handle, &id);
    if (SP_UNLIKELY(code != CUDA_SUCCESS))
        return sp_outcome_of_code(code, "cuStreamGetId");
    struct sp_stream *known = sp_stream_cache->by_name[id % SP_STREAM_CACHE_NAMES];
    if (SP_UNLIKELY(!known || sp_load_acquire(&known->key.word[0]) != id))
        return sp_resolve_name(handle, &(struct sp_stream_name){{id}}, stream);
    *stream = known;
    return sp_outcome_done();
}

// --------------------------------------------------------------------------------------- borrowing
//
// A *borrowed* stream is passed to the driver outside of any call that was given it. It could be
// destroyed meanwhile, or be capturing: so nothing else does that, and programs promise for it that
// none of their streams ever captures, and that each is destroyed through the library, which then
// waits until it is given back. While somebody who sees them all says that no stream captures, the
// second is enough (process/promises.h). The legacy stream of a context is never destroyed without
// it: it can be borrowed where the context is certain to be alive, which then is the current one.

// True when streams of this kind can be borrowed, if their program promises that: those that more
// than one thread can name, and whose frees leave something to be recorded.
bool sp_borrow_is_possible(const struct sp_stream *stream);

// True while created streams may be borrowed that are known by their handles, though no program has
// promised that they never capture. The others begin that; end it, and wait until none is borrowed.
extern _Atomic bool sp_borrow_allowed;
static inline bool sp_borrow_is_allowed(void) {
    return sp_load_relaxed(&sp_borrow_allowed);
}
void sp_borrow_allow(void);
void sp_borrow_suspend(void);

// Borrows the stream, or gives it back. False when it isn't there to be had. `callers` is the
// stream that the caller was just passed, or null; `is_promised` says that the program has promised
// what it takes. A thread borrows one stream at a time.
bool sp_borrow_stream(struct sp_stream *stream, const struct sp_stream *callers, bool is_promised);
void sp_borrow_end(struct sp_stream *stream);

// ----------------------------------------------------------------------------------------- the end

// Marks what the stream freed, and destroys it. It is null when the handle's stream is capturing.
struct sp_outcome sp_end_stream(struct sp_stream *stream, CUstream handle);

// Has streams be destroyed by this function, in place of the driver's.
void sp_end_set_destroyer(CUresult (*destroy)(CUstream stream));

// Ends the streams of contexts that were destroyed or reset, as far as the driver can tell: what
// was freed there is complete. Each context with frees pending is asked once, but that of `alive`
// (may be null), a stream that the caller was just passed. True when something was learned.
bool sp_end_gone_contexts(const struct sp_stream *alive);

// Asks a few contexts likewise, by turns.
bool sp_end_some_gone_contexts(const struct sp_stream *alive);

#endif
