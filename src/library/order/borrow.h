// Borrowed streams: passed to the driver outside of any call that was given them.
//
// Otherwise nothing does that: the stream could be destroyed meanwhile, or be capturing. It is for
// programs that promise that none of their streams ever captures, and that each is destroyed
// through the library, which then waits until it is given back. The legacy stream of a context is
// never destroyed without it, and is that of the current context: it can be borrowed where the
// context is certain to be alive, and while it is, the context is the current one.
#ifndef STREAMPOOL_ORDER_BORROW_H
#define STREAMPOOL_ORDER_BORROW_H

#include "order/stream.h"

// Whether streams of this kind can be borrowed, if their program promises that: those that more
// than one thread can name, and that the driver can tell from others.
bool sp_borrow_is_possible(const struct sp_stream *stream);

// False when it isn't there to be had. `callers` is the stream that the caller was just passed, or
// null. One at a time for each thread.
bool sp_borrow_stream(struct sp_stream *stream, const struct sp_stream *callers);
void sp_borrow_end(struct sp_stream *stream);

#endif
