// Marks: records of private events in a stream, behind its frees.
//
// A *mark* is (event, the number that its record closed, the stream's clock as it was then). It is
// never changed once it is published, and counted: a stream keeps its newest ones, and a user's
// event keeps the one that stands before its record (order/event.h). Two things can be learned from
// a mark:
//
//   complete   its event was found complete: then so are all frees up to its number, and all that
//              its clock holds (order/poll.h)
//   ordered    a stream waits for its event: then that stream runs after all frees up to its
//              number, and after all that its clock holds. This is joined to the waiting stream's
//              clock (order/learn.h)
#ifndef STREAMPOOL_ORDER_MARK_H
#define STREAMPOOL_ORDER_MARK_H

#include "order/progress.h"

struct sp_mark {
    _Atomic uint32_t references;
    CUevent event;
    struct sp_stream *stream;
    uint64_t sequence;
    uint64_t clock_version; // of the stream, when the clock was copied
    uint32_t epoch;         // of the slot, when the event was made
    struct sp_clock clock;
    struct sp_mark *next_spare;
};

// Records a mark behind all frees so far, or finds that the newest one does. Null when there is
// nothing to mark: the stream never freed anything and is ordered behind nothing. The reference is
// the caller's. Only inside a call that was given the stream.
CUresult sp_mark_stream(struct sp_stream *stream, struct sp_mark **mark);
void sp_mark_release(struct sp_mark *mark);
void sp_mark_keep(struct sp_mark *mark);

// Gives back the host memory of a mark that nobody refers to; its event is left as it is.
void sp_mark_free(struct sp_mark *mark);

// The same for who needs no mark in hand.
CUresult sp_mark_record(struct sp_stream *stream);

// Records one whether there is anything to mark or not. The reference is the caller's.
CUresult sp_mark_anew(struct sp_stream *stream, struct sp_mark **mark);

// The same behind a free on an identified stream, which it notes: so there is something to mark,
// and nobody is asked whether. The number that the free was stamped with is an open one or was one
// before; the free is noted whether the record can be made or not.
CUresult sp_mark_record_freed(struct sp_stream *stream);

// The oldest mark of a stream that covers a number, or null. The reference is the caller's.
struct sp_mark *sp_mark_covering(struct sp_stream *stream, uint64_t sequence);

// Destroys the events of spare marks, but for a few. Only inside a call that was given the stream,
// or with its context current.
void sp_mark_trim_spares(struct sp_stream *stream);

// The stream keeps one mark no longer, or none up to a number.
void sp_mark_drop(struct sp_stream *stream, const struct sp_mark *mark);
void sp_mark_drop_until(struct sp_stream *stream, uint64_t until);

#endif
