// The chain of an anonymous stream: one event behind every free that there ever was under its name.
//
// Where the driver has no cuStreamGetId, a stream's name may stand for another stream at each call:
// see the top of order/stream.h. So each free makes the stream wait for the chain's last record and
// records it anew, and who takes memory under the name waits for it first. An identified stream has
// no chain, and these calls make no driver call for it.
#ifndef STREAMPOOL_ORDER_CHAIN_H
#define STREAMPOOL_ORDER_CHAIN_H

#include "order/progress.h"

// Before taking memory that this stream freed: nothing for an identified stream, a wait for an
// anonymous one.
CUresult sp_stream_order_behind_chain(struct sp_stream *stream);
static inline CUresult sp_identity_before_reuse(struct sp_stream *stream) {
    return stream->identified ? CUDA_SUCCESS : sp_stream_order_behind_chain(stream);
}

// The sequence number for memory that is freed now; records it where the stream is anonymous. Call
// it before anything is changed: it may fail.
CUresult sp_stream_note_freed(struct sp_stream *stream, uint64_t *sequence);

// The number that a free of an identified stream gets now. It is to be noted before the memory can
// be found, or by the free's own record: see sp_mark_record_freed().
static inline uint64_t sp_progress_number(const struct sp_stream *stream) {
    return atomic_load_explicit(&stream->sequence, memory_order_acquire);
}

// The common case, with no call and no way to fail: of an identified stream that has freed
// something under the number already.
static inline bool sp_progress_is_noted(const struct sp_stream *stream, uint64_t *sequence) {
    *sequence = sp_progress_number(stream);
    return stream->identified &&
           atomic_load_explicit(&stream->freed, memory_order_relaxed) >= *sequence;
}

static inline CUresult sp_identity_at_free(struct sp_stream *stream, uint64_t *sequence) {
    return sp_progress_is_noted(stream, sequence) ? CUDA_SUCCESS
                                                  : sp_stream_note_freed(stream, sequence);
}

// Puts all work of an anonymous stream so far in front of its chain's end, and tells the number
// that this closed.
CUresult sp_stream_extend_chain(struct sp_stream *stream, uint64_t *closed);

// Up to which number the chain is complete when the stream of this name is: 0 where the record was
// made by an earlier one, as far as is known.
uint64_t sp_anonymous_chain_end(struct sp_stream *stream);

// The stream of this name was destroyed.
void sp_stream_orphan_chain(struct sp_stream *stream);

#endif
