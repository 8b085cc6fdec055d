// Learning of order: a stream that waits for a mark runs after what the mark stands for.
//
// The wait comes first and is learned from only when the driver has taken it. What is learned is
// joined to the stream's clock. A wait is made only inside a call that was given the waiting
// stream.
#ifndef STREAMPOOL_ORDER_LEARN_H
#define STREAMPOOL_ORDER_LEARN_H

#include "order/mark.h"

// Makes the stream wait for a mark, and joins it to the stream's clock.
struct sp_outcome sp_learn_wait_mark(struct sp_stream *stream, struct sp_mark *mark);

// True when a wait for the mark would teach the stream nothing: by its clock it runs after all that
// the mark stands for, as far as that is not complete.
bool sp_learn_knows(struct sp_stream *stream, const struct sp_mark *mark);

// Makes the stream wait for a fence: for the oldest mark that covers it, or the chain of an
// anonymous stream. Nothing is done when the fence is complete. SP_NO_EVENT when none stands behind
// it.
struct sp_outcome sp_learn_wait_fence(struct sp_stream *stream, struct sp_fence fence);

// Says that the stream runs after a fence. It is for callers that have made it so.
void sp_learn_join(struct sp_stream *stream, struct sp_fence fence);

// Copies what the stream runs after into an empty clock. Without host memory the copy says less.
void sp_learn_copy_clock(struct sp_stream *stream, struct sp_clock *clock);

#endif
