// Turns tell which streams have events that nobody has found complete yet, so that some can be
// asked without a look at all.
//
// A stream joins the turn of its context when an event is recorded on it, and leaves it when it
// comes up and has nothing pending any more. A question takes the one that has waited longest and
// puts it back behind all others, so each is asked in as many questions as there are streams.
// Contexts share the turns; a stream of another context that comes up is put back.
#ifndef STREAMPOOL_ORDER_TURN_H
#define STREAMPOOL_ORDER_TURN_H

#include "base/cold.h"
#include "order/stream.h"

// Says that an event was recorded on the stream, and noted under its lock. A stream that has its
// turn keeps it: a thread that asks it just now sees what was noted before it takes the turn back.
void sp_turn_join(struct sp_stream *stream);
static inline void sp_turn_joined(struct sp_stream *stream) {
    if (SP_UNLIKELY(!sp_load_relaxed(&stream->turn.is_in)))
        sp_turn_join(stream);
}

// Takes the stream whose turn it is among those of a context (and of others that share the turns),
// or none. The caller puts it back, or leaves it out, by sp_turn_end().
struct sp_stream *sp_turn_next(uint64_t context_id);

// Puts a stream back that was taken, behind all others, or leaves it out when it has nothing
// pending any more.
void sp_turn_end(struct sp_stream *stream);

#endif
