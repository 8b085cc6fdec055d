// Streams as the allocator knows them: who they are, how far they have come, and what they run
// after.
//
// Every stream that a call has named has a *slot* in one table for the process, never moved and
// never freed, so that a fence can name it by number and a thread can keep a pointer to it. A slot
// stands for one incarnation of a stream: the driver gives a new stream the handle of the one just
// destroyed, so a handle alone says nothing. Who a stream is:
//
//   identified   the driver has cuStreamGetId (12.0): the id tells incarnations, contexts and
//                per-thread default streams apart, and is all that is looked up.
//   anonymous    it has not: (context id, handle, host thread for a per-thread stream) names a
//                stream and every later stream with its handle. All that they free is chained
//                through one event: before each record the stream waits for the event's last
//                record, so the event covers every free there ever was under this name, and whoever
//                takes memory here waits on it first. On one and the same stream such a wait costs
//                nothing, on a recycled handle it is what is right.
//
// The slot of a stream that is gone is used again once everything that it did has completed: see
// order/registry.h. Sequence numbers go on counting there, so an old fence of the slot stays what
// it is, complete.
//
// Sequence numbers. `sequence` is what a free gets now. Whatever could tell somebody how far the
// stream has come closes it: it takes the number n and opens n + 1, then makes the driver call, and
// when that has succeeded a point behind every free with a number up to n is known. So equal
// numbers mean frees that nobody can tell apart, and the common free writes nothing here that
// others read often. `completed` is the highest number up to which the host knows that all work is
// done; it only grows, and only a completed driver call raises it. `synchronized` is the same,
// learned from a synchronise alone: it depends on the program and not on how fast the device was.
//
//   synchronized <= completed < sequence; first <= sequence; the numbers of marks are < sequence
//
// Locks. The registry's lock guards the table. Each stream's own lock guards its marks, its clock
// and its chain, and a number is closed under it. None is held across a driver call. Numbers are
// atomics.
#ifndef STREAMPOOL_ORDER_STREAM_H
#define STREAMPOOL_ORDER_STREAM_H

#include "base/list.h"
#include "base/lock.h"
#include "driver/driver.h"
#include "order/clock.h"
#include "order/identity.h"
#include "order/rule.h"

#include <stdatomic.h>

// (id, 0, 0) of an identified stream; (context id, handle, thread number or 0) of an anonymous one.
// The words are written when a slot is given to a stream, and read by threads that look whether it
// is theirs.
struct sp_stream_key {
    _Atomic uint64_t word[3];
};

enum { SP_STREAM_MARKS = 4 };

struct sp_stream {
    // What each malloc and free reads, one cache line; written when a record or a question closes a
    // number.
    _Alignas(64) struct sp_stream_key key;
    _Atomic uint64_t sequence;
    _Atomic uint64_t freed;     // no free was stamped with a higher number
    _Atomic uintptr_t known_as; // the proper handle that it is told by with no question; 0: by none
    uint32_t slot;
    int device;
    bool identified;
    bool is_default;   // as all streams of the slot, which others may look at
    _Atomic bool acts; // see order/action.h
    // Enum sp_stream_kind; of an anonymous stream non-blocking if one of its name ever was.
    _Atomic int kind;

    // What others learn of it.
    _Alignas(64) _Atomic uint64_t completed;
    _Atomic uint64_t synchronized;
    _Atomic uint64_t recorded; // the highest number that a record closed
    _Atomic uint64_t acted;    // and that an action stands behind; see order/action.h
    _Atomic(CUevent) action;   // of a legacy stream: the event of its actions
    uint64_t first;            // the first number of this incarnation
    CUstream handle;
    _Atomic(CUcontext) context;
    _Atomic uint64_t context_id; // sp_context_id's
    _Atomic bool gone;           // nothing new comes of it: see order/registry.h
    _Atomic bool strict;         // a pool that goes by synchronises alone has a lane for it
    _Atomic bool was_remembered; // by its handle, in whatever thread
    _Atomic uint32_t borrowers;  // see order/borrow.h

    // Guarded by the registry's lock:
    struct sp_stream *next_by_name;
    struct sp_stream *next_by_handle;
    struct sp_list of_context; // in its context's list
    struct sp_list unused;     // among the slots to be used again
    struct sp_list in_turn;    // guarded by the lock of the turn: see order/turn.h

    // Guarded by the stream's lock:
    struct sp_lock lock;
    // The newest records that no synchronise is known to have passed.
    struct sp_mark *marks[SP_STREAM_MARKS];
    struct sp_mark *spare_marks;  // with an event each, to be recorded again
    _Atomic uint32_t spare_count; // written under the lock
    bool ended;                   // with its context, and all events with it
    // Counts the contexts that the slot's streams have ended with.
    uint32_t epoch;
    _Atomic bool has_turn; // written under the lock; see order/turn.h
    struct sp_clock clock;
    struct sp_clock acquired; // fences of memory that was taken while they were pending
    bool acquired_more;       // others, for which there was no host memory
    uint64_t clock_version;   // counts the joins
    CUevent chain;            // of an anonymous stream, once it has freed something
    uint64_t chain_sequence;  // the highest number that a record of `chain` closed
    bool chain_orphaned;      // the stream that made that record was destroyed through the library
};

// The streams that this thread has named last, by the driver's id: an entry is good if the stream's
// key is the one looked for. And by the handle, see below.
enum { SP_STREAMS_BY_ID = 32, SP_STREAMS_BY_HANDLE = 16 };
#define SP_STREAMS_OF_THREAD                                                                       \
    extern _Thread_local __attribute__((tls_model("initial-exec"), visibility("hidden")))
SP_STREAMS_OF_THREAD struct sp_stream *sp_streams_by_id[SP_STREAMS_BY_ID];
SP_STREAMS_OF_THREAD struct sp_stream *sp_streams_by_handle[SP_STREAMS_BY_HANDLE];

static inline uint64_t sp_stream_hash(uint64_t word) {
    return (word * 0x9E3779B97F4A7C15u) >> 32;
}
static inline uint64_t sp_stream_name_hash(const struct sp_stream_name *name) {
    return sp_stream_hash(name->word[0] ^ (name->word[1] >> 4) ^ name->word[2]);
}

// Who finds the name, by a pointer from an earlier stream of the slot and no lock, sees what the
// slot was described with.
static inline bool sp_stream_has_name(const struct sp_stream *stream,
                                      const struct sp_stream_name *name) {
    for (int i = 0; i < 3; i++) {
        if (atomic_load_explicit(&stream->key.word[i], memory_order_acquire) != name->word[i])
            return false;
    }
    return true;
}

// The stream behind a handle that a caller has just passed to us; made known if it is new. The
// common case is one driver call and no lock.
CUresult sp_stream_resolve_id(CUstream handle, uint64_t id, struct sp_stream **stream);
CUresult sp_stream_resolve_anonymous(CUstream handle, struct sp_stream **stream);
CUresult sp_stream_resolve_legacy(CUstream handle, struct sp_stream **stream);
static inline CUresult sp_stream_resolve_by_id(CUstream handle, unsigned long long *id,
                                               struct sp_stream **stream) {
    CUresult error = sp_driver->cuStreamGetId(handle, id);
    if (error != CUDA_SUCCESS)
        return sp_native_noted(error, "cuStreamGetId");
    struct sp_stream *known = sp_streams_by_id[sp_stream_hash(*id) % SP_STREAMS_BY_ID];
    // The slot may be another stream's by now: who finds the id sees what the slot was described
    // with.
    if (!known || atomic_load_explicit(&known->key.word[0], memory_order_acquire) != *id)
        return sp_stream_resolve_id(handle, *id, stream);
    *stream = known;
    return CUDA_SUCCESS;
}
static inline CUresult sp_identity_resolve(CUstream handle, struct sp_stream **stream) {
    unsigned long long id = 0;
    if (!sp_identity_has_ids())
        return sp_stream_resolve_anonymous(handle, stream);
    return sp_stream_is_legacy(handle) ? sp_stream_resolve_legacy(handle, stream)
                                       : sp_stream_resolve_by_id(handle, &id, stream);
}

// For a program that promises to destroy its streams through the library: a stream by its handle,
// with no driver call. Null when the thread doesn't remember it. Who a default stream is depends on
// the current context, so that is only to be believed, and to be remembered, of a program that
// promises to have one. A thread's own default stream has the same handle in every thread; but each
// has its own table, and no slot of a default stream is ever given to another one.
static inline struct sp_stream *sp_remember_find(CUstream handle) {
    uintptr_t name = (uintptr_t)sp_stream_proper_handle(handle);
    struct sp_stream *stream = sp_streams_by_handle[sp_stream_hash(name) % SP_STREAMS_BY_HANDLE];
    bool is_it = stream && atomic_load_explicit(&stream->known_as, memory_order_acquire) == name;
    return is_it ? stream : NULL;
}

// Remembers the stream that the handle was just resolved to.
void sp_remember_stream(struct sp_stream *stream, CUstream handle);

// Makes every thread forget a handle, before the stream that it names (null: it isn't told) is
// destroyed, and waits for who has borrowed that, even if it was forgotten before; and all handles.
void sp_remember_forget_handle(CUstream handle, struct sp_stream *of);
void sp_remember_forget_handles(void);

// The calling thread remembers no stream any more.
void sp_remember_forget_by_thread(void);

// The stream of a slot that a fence names.
enum {
    SP_STREAM_CHUNK_SHIFT = 8,
    SP_STREAM_CHUNK = 1 << SP_STREAM_CHUNK_SHIFT,
    SP_STREAM_CHUNKS = 4096
};
#define SP_STREAM_HIDDEN __attribute__((visibility("hidden")))
extern SP_STREAM_HIDDEN struct sp_stream *_Atomic sp_stream_chunks[SP_STREAM_CHUNKS];
static inline struct sp_stream *sp_stream_at(uint32_t slot) {
    struct sp_stream *chunk = atomic_load_explicit(&sp_stream_chunks[slot >> SP_STREAM_CHUNK_SHIFT],
                                                   memory_order_acquire);
    return &chunk[slot & (SP_STREAM_CHUNK - 1)];
}
uint32_t sp_stream_count(void);

// The stream with this first word of its name was destroyed: once all of it has completed, its slot
// is given to another. A slot that is another stream's by now is left alone. Of an anonymous
// stream, whose name others may have, nothing is said.
void sp_registry_set_gone(struct sp_stream *stream, uint64_t word);

// The same for a thread's own default stream, when the thread ends.
void sp_registry_set_threadless(struct sp_stream *stream, const struct sp_stream_name *name);

// Ends the streams of contexts that were destroyed or reset, as far as the driver can tell: what
// was freed there is complete. Each context with frees pending is asked once, but that of `alive`
// (may be null), a stream that the caller was just passed. True when something was learned. The
// second asks of a few contexts, by turns.
bool sp_end_gone_contexts(const struct sp_stream *alive);
bool sp_end_some_gone_contexts(const struct sp_stream *alive);

// For who only tells of a stream: its slot may be given to another one meanwhile.
static inline CUstream sp_stream_handle_now(const struct sp_stream *stream) {
    return __atomic_load_n(&stream->handle, __ATOMIC_RELAXED);
}

// Of one incarnation of a context; and of the calling thread's current one.
static inline bool sp_stream_is_of(const struct sp_stream *stream, CUcontext context, uint64_t id) {
    return stream->context == context && stream->context_id == id;
}
bool sp_stream_is_of_current_context(const struct sp_stream *stream);

// For tests, with no other thread about: forgets all streams.
void sp_registry_close(void);

#endif
