// The registry: all streams that were ever met, by name, by handle and by context.
//
// The slot of one that is gone is used again, so there are as many slots as streams were alive, or
// had work pending, at a time:
//
//   gone    The stream was destroyed through the library, its handle came back with another id, or
//           the thread whose default stream it is has ended. Its slot goes to the next stream of
//           the same context, once nothing of it is pending: neither what it freed nor what it was
//           given while that was pending, which lies about in the stream's lanes.
//           One that the driver's own call destroyed passes for alive until its handle comes back.
//   ended   The stream's context was destroyed or reset: that completed its work and took its
//           events along. Its slot goes to the next stream of any context, but where memory in its
//           lanes has ended with the context (vmm/view.h): then it is used no more.
//
// A slot keeps its sort: created, legacy, or a thread's own default stream. Pools leave more to
// lanes whose streams can be borrowed, and threads cache default streams by handles that all share.
//
// A single lock guards all of it. The registry makes no driver call. Nothing here takes time in
// proportion to the streams or contexts that there are, but what says so.
#ifndef STREAMPOOL_ORDER_REGISTRY_H
#define STREAMPOOL_ORDER_REGISTRY_H

#include "order/progress.h"

// ----------------------------------------------------------------------------------------- streams

// A description says what a new stream is.
struct sp_stream_description {
    struct sp_stream_name name;
    CUstream handle;
    CUcontext context;
    uint64_t context_id;
    int device;
    enum sp_stream_kind kind;
    bool identified;
    bool acts; // see order/action.h
};

// Returns the stream with a name, or null. A thread's own default stream isn't gone any more then.
struct sp_stream *sp_registry_find(const struct sp_stream_name *name);

// Returns a stream that is told by the handle with no question, or borrowed (see order/resolve.h),
// or null.
struct sp_stream *sp_registry_find_in_use_by(CUstream handle);

// Adds the stream unless another thread has been faster. Returns the one in the registry, or null
// without host memory.
struct sp_stream *sp_registry_add(const struct sp_stream_description *fresh);

// Says that the stream was given memory with these fences.
void sp_registry_note_acquired(struct sp_stream *stream, const struct sp_fence_set *fences);

// Says that the stream of this name was destroyed, or that the thread has ended whose default
// stream it is. A slot that is another stream's by now is left alone. An anonymous stream may be a
// thread's, whose name has a number that no other thread gets.
void sp_registry_set_gone(struct sp_stream *stream, const struct sp_stream_name *name);

// Looks at what is known of a new stream's context before the stream is added: sets its device if
// it has streams here already, else -1, and looks among up to `most` streams that are gone, of the
// new one's sort, for those that have events to be asked. Returns their number.
int sp_registry_find_pending(struct sp_stream_description *fresh, struct sp_stream **pending,
                             int most);

// ---------------------------------------------------------------------------------------- contexts

// A context by its name: it may be gone when it is looked up again.
struct sp_registry_context {
    CUcontext handle;
    uint64_t id;
};

// The number of contexts that are taken for alive.
uint32_t sp_registry_context_count(void);

// Names up to `most` contexts, those named longest ago first, but not that of `alive` (may be
// null), and with `pending` only those in which frees are pending. Returns their number.
uint32_t sp_registry_name_contexts(struct sp_registry_context *names, uint32_t most,
                                   const struct sp_stream *alive, bool pending);

// Says that a context was destroyed or reset. It takes as long as that has had streams at a time.
void sp_registry_end_context(const struct sp_registry_context *name);

// ------------------------------------------------------ the registry itself, for tests that end it

enum sp_slot_sort { SP_SLOT_CREATED, SP_SLOT_LEGACY, SP_SLOT_PER_THREAD, SP_SLOT_SORTS };

// The slots of streams that are gone, by links.unused, those looked at longest ago first.
struct sp_slot_list {
    struct sp_list slots;
    struct sp_list mute; // of which something is pending, and no event can tell of it
};

// A context that has streams here and is taken for alive.
struct sp_registry_known {
    struct sp_registry_known *next_in_bucket;
    struct sp_list link; // in the queue
    CUcontext handle;
    uint64_t id;
    int device;
    struct sp_list streams; // by links.of_context
    struct sp_slot_list unused[SP_SLOT_SORTS];
};

enum { SP_REGISTRY_BUCKETS = 4096, SP_REGISTRY_CONTEXTS = 256 };
struct sp_registry {
    struct sp_lock lock; // guards all of it
    struct sp_stream *by_name[SP_REGISTRY_BUCKETS];
    struct sp_stream *by_handle[SP_REGISTRY_BUCKETS]; // created ones, neither gone nor ended
    struct sp_slot_list ended[SP_SLOT_SORTS];
    struct sp_registry_known *contexts[SP_REGISTRY_CONTEXTS]; // by handle
    struct sp_list queue; // of contexts: the one that was asked longest ago comes first
    uint32_t context_count;
    bool is_ready; // the lists are made
};

extern __attribute__((visibility("hidden"))) struct sp_registry sp_registry;

#endif
