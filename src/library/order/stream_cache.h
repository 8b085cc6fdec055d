// A thread's cache of the streams that it has named last, and streams that threads borrow by it.
//
// Each thread has two small tables. One is by name: an entry is good if the stream's key is the
// name looked for. The other is by handle, for a program that promises to destroy its streams
// through the library: there a handle tells the stream with no driver call. Who a default stream is
// depends on the current context, so a default handle is only to be believed, and to be cached,
// of a program that promises to have one context. A thread's own default stream has the same handle
// in every thread, but each thread has its own table. The slot of a default stream is given to
// another stream only when its thread has ended or its context is gone.
//
// The tables aren't in thread-local memory, of which a library that is loaded into a running
// program gets little: each thread has a pointer there. A thread that has nothing to cache, or
// no host memory for it, points to tables that stay empty.
//
// A *borrowed* stream is passed to the driver outside of any call that was given it. Nothing else
// does that: the stream could be destroyed meanwhile, or be capturing. It is for programs that
// promise that none of their streams ever captures, and that each is destroyed through the library,
// which then waits until it is given back. While somebody who sees them all says that no stream
// captures, the second is enough (process/promises.h). The legacy stream of a context is never
// destroyed without it, and is that of the current context: it can be borrowed where the context is
// certain to be alive, and while it is, the context is the current one.
#ifndef STREAMPOOL_ORDER_STREAM_CACHE_H
#define STREAMPOOL_ORDER_STREAM_CACHE_H

#include "order/stream.h"

enum { SP_STREAM_CACHE_NAMES = 32, SP_STREAM_CACHE_HANDLES = 16, SP_STREAM_CACHE_LEGACIES = 4 };

// A context's legacy stream: see order/resolve.c.
struct sp_legacy {
    unsigned long long context_id; // 0: none
    unsigned long long id;
    struct sp_stream *stream;
};

struct sp_stream_cache {
    struct sp_stream *by_name[SP_STREAM_CACHE_NAMES];
    struct sp_stream *by_handle[SP_STREAM_CACHE_HANDLES];
    struct sp_legacy legacies[SP_STREAM_CACHE_LEGACIES];
};
extern _Thread_local __attribute__((tls_model("initial-exec"),
                                    visibility("hidden"))) struct sp_stream_cache *sp_stream_cache;

// Returns the calling thread's own tables, to be written; null without host memory.
struct sp_stream_cache *sp_stream_cache_own(void);

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
// destroyed, and waits for each thread that has borrowed that stream, even if the handle was
// forgotten before.
void sp_stream_cache_forget_handle(CUstream handle, struct sp_stream *of);

// Makes every thread forget all handles.
void sp_stream_cache_forget_handles(void);

// Makes the calling thread forget all streams.
void sp_stream_cache_forget_by_thread(void);

// ----------------------------------------------------------------------------------------
// borrowing

// True when streams of this kind can be borrowed, if their program promises that: those that more
// than one thread can name, and whose frees leave something to be recorded.
bool sp_borrow_is_possible(const struct sp_stream *stream);

// True while created streams may be borrowed that are known by their handles, though no program has
// promised that they never capture.
extern _Atomic bool sp_borrow_allowed;
static inline bool sp_borrow_is_allowed(void) {
    return sp_load_relaxed(&sp_borrow_allowed);
}

// Begins that; ends it, and waits until none is borrowed.
void sp_borrow_allow(void);
void sp_borrow_suspend(void);

// Borrows the stream. False when it isn't there to be had. `callers` is the stream that the caller
// was just passed, or null; `is_promised` says that the program has promised what it takes. A
// thread borrows one stream at a time.
bool sp_borrow_stream(struct sp_stream *stream, const struct sp_stream *callers, bool is_promised);

// Gives the stream back.
void sp_borrow_end(struct sp_stream *stream);

#endif
