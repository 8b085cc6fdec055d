// The chain of an anonymous stream, for tests. The rest of order/anonymous.c is reached through
// order/identity.h.
#ifndef STREAMPOOL_ORDER_ANONYMOUS_H
#define STREAMPOOL_ORDER_ANONYMOUS_H

#include "order/stream.h"

// Tells up to which number the chain is complete when the stream of this name is: 0 where the
// record was made by an earlier one, as far as is known.
uint64_t sp_anonymous_chain_end(struct sp_stream *stream);

// Asks the chain of a stream, of which a synchronise is known to have passed the record that closed
// this number. It does nothing for the number 0.
struct sp_outcome sp_anonymous_confirm(struct sp_stream *stream, uint64_t sequence);

#endif
