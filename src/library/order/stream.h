// Streams as the allocator knows them: who they are, how far they have come, and what they run
// after.
//
// Every stream that a call has named has a *slot* in one table for the process. A slot is never
// moved and never freed, so a fence can name it by number and a thread can keep a pointer to it. It
// stands for one incarnation of a stream, since handles come back, and is used again as
// order/registry.h says. Sequence numbers go on counting, so an old fence of it stays complete.
//
// Sequence numbers. `sequence` is the number that a free gets. Each act that could tell somebody
// how far the stream has come closes it: the act takes the number n and opens n + 1, then makes the
// driver call, and when that has succeeded a point behind every free with a number up to n is
// known. So equal numbers mean frees that nobody can tell apart, and the common free writes nothing
// here that others read often. `completed` is the highest number up to which the host knows that
// all work is done; only a completed driver call raises it. `synchronized` is the highest number
// that a synchronise has shown to be complete: it depends on the program, and not on how fast the
// device was.
//
//   synchronized <= completed < sequence; first <= sequence; the numbers of marks are < sequence
//
// Each stream's own lock guards its marks, its clock and its chain, and a number is closed under
// it. No lock is held across a driver call. Numbers are atomics.
#ifndef STREAMPOOL_ORDER_STREAM_H
#define STREAMPOOL_ORDER_STREAM_H

#include "base/atomic.h"
#include "base/list.h"
#include "base/lock.h"
#include "base/number.h"
#include "driver/driver.h"
#include "order/fence.h"

// A stream's kind says how it stands to the legacy default stream of its context.
enum sp_stream_kind { SP_STREAM_NON_BLOCKING, SP_STREAM_BLOCKING, SP_STREAM_LEGACY };

// A stream is looked up by (id, 0, 0) if it is identified, else by (context id, handle, thread
// number or 0). See order/identity.h.
struct sp_stream_name {
    uint64_t word[3];
};

enum { SP_STREAM_MARKS = 8 };

struct sp_stream {
    // Each malloc and free reads this cache line. It is written when a record or a question closes
    // a number.
    //
    // The stream's name is written when the slot is given to it, and read by threads that look
    // whether the slot is still that stream's.
    _Alignas(64) struct { _Atomic uint64_t word[3]; } key;
    _Atomic uint64_t sequence;
    _Atomic uint64_t freed;     // no free was stamped with a higher number
    _Atomic uintptr_t known_as; // the proper handle that it is told by with no question; 0: by none
    uint32_t slot;
    int device;
    bool identified;   // for order/identity.h
    bool is_default;   // as all streams of the slot, which others may look at
    _Atomic bool acts; // see order/action.h
    // Holds enum sp_stream_kind. An anonymous stream is non-blocking if one of its name ever was.
    _Atomic int kind;

    // Other threads learn from these how far the stream has come, and whose it is.
    _Alignas(64) _Atomic uint64_t completed;
    _Atomic uint64_t synchronized;
    _Atomic uint64_t recorded; // the highest number that a record closed
    _Atomic uint64_t acted;    // the highest number that an action stands behind
    // The event of an identified legacy stream's actions, or of an anonymous stream's chain. Null
    // until it is first needed; see sp_private_event_of().
    _Atomic(CUevent) event;
    uint64_t first; // the first number of this incarnation
    CUstream handle;
    _Atomic(CUcontext) context;
    _Atomic uint64_t context_id; // sp_context_id's
    _Atomic bool gone;           // nothing new comes of it: see order/registry.h
    _Atomic bool strict;         // a pool that goes by synchronises alone has a lane for it
    // Stays with the slot: lanes of its streams have memory that ends with the context.
    _Atomic bool bound_to_context;
    // By threads that name the stream by its handle, with no question to the driver.
    struct {
        _Atomic bool was_cached;
        _Atomic uint32_t borrowers; // see order/resolve.h
        _Atomic uint32_t learned;   // so often a thread has made it known
    } handle_use;

    // Its places in the registry's lists; guarded by the registry's lock.
    struct {
        struct sp_stream *next_by_name;
        struct sp_stream *next_by_handle;
        struct sp_list of_context; // in its context's list
        struct sp_list unused;     // among the slots to be used again
    } links;
    // Its place in a queue of those that are asked: see order/progress.h.
    struct {
        struct sp_list link; // guarded by the queue's lock
        _Atomic bool is_in;  // written under the stream's lock
    } queued;
    _Atomic bool was_idle; // when its events were last asked: a hint for order/poll.c

    struct sp_lock lock; // guards what follows
    // Its marks (see order/mark.h): those that no synchronise is known to have passed, the oldest
    // first; one of another stream, for order/event.c; and some to be recorded again.
    struct {
        struct sp_mark *recent[SP_STREAM_MARKS];
        uint32_t recent_count;
        struct sp_mark *waited_for;
        struct sp_mark *spares;       // with an event each
        _Atomic uint32_t spare_count; // written under the lock
        uint32_t epoch;               // counts the contexts that the slot has lost
    } marks;
    struct sp_fence_set clock;
    uint64_t clock_version; // counts the joins
    // Fences of memory that the stream was given while they were pending.
    struct {
        struct sp_fence_set clock;
        bool has_more; // others, for which there was no host memory
    } acquired;
    // The end of an anonymous stream's chain: see order/anonymous.c.
    struct {
        uint64_t sequence; // the highest number that a record of the stream's event closed
        bool orphaned;     // the stream that made that record was destroyed through the library
    } chain;
};

// ----------------------------------------------------------------------------------------- handles

static inline bool sp_stream_is_default(CUstream handle) {
    return handle == NULL || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD;
}

static inline bool sp_stream_is_legacy(CUstream handle) {
    return (uintptr_t)handle <= (uintptr_t)CU_STREAM_LEGACY;
}

// The null stream is the legacy one by another name.
static inline CUstream sp_stream_proper_handle(CUstream handle) {
    return handle ? handle : CU_STREAM_LEGACY;
}

// ------------------------------------------------------------------------------------------- names

static inline uint64_t sp_stream_word(const struct sp_stream *stream, int index) {
    return sp_load_acquire(&stream->key.word[index]);
}

// A thread that finds the name, by a pointer from an earlier stream of the slot and with no lock,
// sees what the slot was described with.
static inline bool sp_stream_has_name(const struct sp_stream *stream,
                                      const struct sp_stream_name *name) {
    for (int i = 0; i < 3; i++) {
        if (sp_stream_word(stream, i) != name->word[i])
            return false;
    }
    return true;
}

// The name of a stream whose slot stays its own meanwhile.
static inline struct sp_stream_name sp_stream_name_of(const struct sp_stream *stream) {
    return (struct sp_stream_name){
        {sp_stream_word(stream, 0), sp_stream_word(stream, 1), sp_stream_word(stream, 2)}};
}

// The driver's id, or 0 where it tells none.
static inline uint64_t sp_stream_id(const struct sp_stream *stream) {
    return stream->identified ? sp_stream_word(stream, 0) : 0;
}

static inline enum sp_stream_kind sp_stream_kind_of(const struct sp_stream *stream) {
    return (enum sp_stream_kind)sp_load_relaxed(&stream->kind);
}

// A stream that acts takes part in the legacy stream's order: see order/action.h.
static inline bool sp_stream_acts(const struct sp_stream *stream) {
    return sp_load_relaxed(&stream->acts);
}

// Reads the handle of a stream whose slot may be given to another one at the same time.
static inline CUstream sp_stream_handle_now(const struct sp_stream *stream) {
    return sp_load_plain(&stream->handle);
}

// Has no thread know the stream by its handle.
static inline void sp_stream_forget_handle(struct sp_stream *stream) {
    atomic_store(&stream->known_as, 0);
}

// True when the stream is one of this incarnation of a context.
static inline bool sp_stream_is_of(const struct sp_stream *stream, CUcontext context, uint64_t id) {
    return stream->context == context && stream->context_id == id;
}

// ------------------------------------------------------------------------------------------- slots

enum {
    SP_STREAM_CHUNK_SHIFT = 8,
    SP_STREAM_CHUNK = 1 << SP_STREAM_CHUNK_SHIFT,
    SP_STREAM_CHUNKS = 4096
};
#define SP_STREAM_HIDDEN __attribute__((visibility("hidden")))
extern SP_STREAM_HIDDEN struct sp_stream *_Atomic sp_stream_chunks[SP_STREAM_CHUNKS];
extern SP_STREAM_HIDDEN _Atomic uint32_t sp_stream_slot_count; // published as the chunks are

// The stream of a slot that a fence names.
static inline struct sp_stream *sp_stream_at(uint32_t slot) {
    struct sp_stream *chunk = sp_load_acquire(&sp_stream_chunks[slot >> SP_STREAM_CHUNK_SHIFT]);
    return &chunk[slot & (SP_STREAM_CHUNK - 1)];
}

// The number of slots. Each of them has been described.
static inline uint32_t sp_stream_count(void) {
    return sp_load_acquire(&sp_stream_slot_count);
}

// ---------------------------------------------------------------------------------- foreign memory

// True when the driver frees its memory in a stream's order (CUDA 11.2).
static inline bool sp_stream_frees_foreign(void) {
    return sp_driver->cuMemFreeAsync != NULL;
}

// Frees memory of the driver's own allocators in the order of a stream that the caller was just
// passed. With none it is freed at once: then the driver waits for the device, and needs a current
// context. An address that is no memory of the driver's is an error of the driver's own.
static inline struct sp_outcome sp_stream_free_foreign(CUdeviceptr address,
                                                       const struct sp_stream *stream) {
    if (!stream)
        return sp_outcome_of_driver(sp_driver->cuMemFree(address), "cuMemFree");
    return sp_outcome_of_driver(sp_driver->cuMemFreeAsync(address, sp_stream_handle_now(stream)),
                                "cuMemFreeAsync");
}

#endif
