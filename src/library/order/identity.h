// Identity: how a stream, and a context, is told from an earlier one with the same handle.
//
// The answer depends on the driver. Nothing else asks which of these implementations it is:
//
//   sp_identified   drivers from CUDA 12.0, whose ids tell incarnations, contexts and per-thread
//                   default streams apart: order/identified.c
//   sp_anonymous    drivers before, where a name may stand for several streams: order/anonymous.c
//
// The hot calls below decide by a branch, and cost an identified stream no call.
#ifndef STREAMPOOL_ORDER_IDENTITY_H
#define STREAMPOOL_ORDER_IDENTITY_H

#include "order/action.h"

struct sp_identity {
    // The first two are null for identified streams, whose callers do without.
    //
    // Finds the stream behind a handle that was just passed to us, or makes it known: see
    // order/resolve.h.
    struct sp_outcome (*resolve)(CUstream handle, struct sp_stream **stream);

    // Orders the stream behind all that was freed under its name, before it takes such memory.
    struct sp_outcome (*before_reuse)(struct sp_stream *stream);

    // Makes the record that follows stand behind all that was freed under the stream's name. The
    // caller has relaxed the capture mode.
    struct sp_outcome (*before_record)(struct sp_stream *stream);

    // Notes a free, and tells its number.
    struct sp_outcome (*note_freed)(struct sp_stream *stream, uint64_t *sequence);

    // Makes true of every stream with the name what the stream has just been ordered behind.
    struct sp_outcome (*after_wait)(struct sp_stream *stream);

    // Makes a stream wait for a fence that no mark covers. SP_NO_EVENT when none stands behind
    // the fence.
    struct sp_outcome (*wait_unmarked)(struct sp_stream *stream, struct sp_fence fence);

    // Asks for what was freed and has no mark. The caller has relaxed the capture mode.
    struct sp_outcome (*poll_unmarked)(struct sp_stream *stream);

    // Makes the action that is owed (see order/action.h), inside a call that was given the stream.
    // It may block where the stream's queue is full.
    struct sp_outcome (*act)(struct sp_stream *stream, enum sp_owed owed);

    // Make the program's own call with the stream, and learn from it: see order/poll.h.
    struct sp_outcome (*synchronize)(struct sp_stream *stream, CUstream handle);
    struct sp_outcome (*query)(struct sp_stream *stream, CUstream handle, bool *complete);

    // Says that the stream was destroyed that had the name.
    void (*set_destroyed)(struct sp_stream *stream, const struct sp_stream_name *name);

    // Tell contexts apart: see order/context.h. The second tells 0 for a context of which no stream
    // is known to have been met. The third is false when the driver doesn't say.
    struct sp_outcome (*context_id)(CUcontext context, uint64_t *id);
    struct sp_outcome (*known_context_id)(CUcontext context, uint64_t *id);
    bool (*context_is_gone)(CUcontext context, uint64_t id);
};

extern __attribute__((visibility("hidden"))) const struct sp_identity sp_identified;
extern __attribute__((visibility("hidden"))) const struct sp_identity sp_anonymous;

// True when the driver has ids of streams. It has those of contexts then, too.
static inline bool sp_identity_has_ids(void) {
    return sp_driver->cuStreamGetId != NULL;
}

// The implementation for the driver that is loaded.
static inline const struct sp_identity *sp_identity_now(void) {
    return sp_identity_has_ids() ? &sp_identified : &sp_anonymous;
}

// The implementation for a stream, whose slot has noted which one it is.
static inline const struct sp_identity *sp_identity_of(const struct sp_stream *stream) {
    return stream->identified ? &sp_identified : &sp_anonymous;
}

// True when each free on the stream records an event, and the stream waits before each reuse; else
// a free takes a number alone.
static inline bool sp_identity_records_each_free(const struct sp_stream *stream) {
    return !stream->identified;
}

// Is called before the stream takes memory that it freed.
static inline struct sp_outcome sp_identity_before_reuse(struct sp_stream *stream) {
    return stream->identified ? sp_outcome_done() : sp_anonymous.before_reuse(stream);
}

// Tells the sequence number of memory that is freed now, and notes it, before anything is changed,
// since it may fail. In common an identified stream has freed something under the number already.
static inline struct sp_outcome sp_identity_at_free(struct sp_stream *stream, uint64_t *sequence) {
    *sequence = sp_progress_number(stream);
    bool is_noted = stream->identified && sp_load_relaxed(&stream->freed) >= *sequence;
    return is_noted ? sp_outcome_done() : sp_identity_of(stream)->note_freed(stream, sequence);
}

// ------------------------------------------------------------------- of anonymous.c, for its tests

// Tells up to which number the chain is complete when the stream of this name is: 0 where the
// record was made by an earlier one, as far as is known.
uint64_t sp_anonymous_chain_end(struct sp_stream *stream);

// Asks the chain, of which a synchronise has passed the record that closed this number, or waits
// for it. It does nothing for the number 0.
struct sp_outcome sp_anonymous_confirm(struct sp_stream *stream, uint64_t sequence, bool waits);

enum { SP_SENTINEL_BUCKETS = 64 };

// A sentinel is that of the latest context at a handle, gone or not. A reader may see the id of the
// one before with the memory of the next one. These two never belong together, so what it concludes
// is that the context of that id is gone; and it is.
struct sp_sentinel {
    struct sp_sentinel *next;
    CUcontext context;
    void *_Atomic memory; // written before `id`
    _Atomic uint64_t id;
};

struct sp_sentinels {
    struct sp_lock lock; // guards writing
    struct sp_sentinel *_Atomic buckets[SP_SENTINEL_BUCKETS];
};

extern __attribute__((visibility("hidden"))) struct sp_sentinels sp_sentinels;

#endif
