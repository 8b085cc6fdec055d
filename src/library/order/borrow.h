// Borrowed streams: passed to the driver outside of any call that was given them.
//
// Nothing else does that: the stream could be destroyed meanwhile, or be capturing. It is for
// programs that promise that none of their streams ever captures, and that each is destroyed
// through the library, which then waits until it is given back. While somebody who sees them all
// says that no stream captures, the second is enough (process/promises.h). The legacy stream of a
// context is never destroyed without it, and is that of the current context: it can be borrowed
// where the context is certain to be alive, and while it is, the context is the current one.
#ifndef STREAMPOOL_ORDER_BORROW_H
#define STREAMPOOL_ORDER_BORROW_H

#include "order/stream.h"

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
