// Learning of order: a stream that waits for a mark runs after what the mark stands for. And the
// marks that say what a record of the program's event in a stream would.
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
void sp_learn_copy_clock(struct sp_stream *stream, struct sp_fence_set *clock);

// ------------------------------------------------------------------------ what a record would say
//
// A record covers what the stream has freed, and what it runs after. A mark of its own covers all
// of that, and costs a record of a private event. But often there are marks that do so already: the
// stream's newest one, for the frees; and for what the stream runs after since then, the mark of
// another stream that it was made to wait for last. The program's event stands behind both. Whoever
// waits for it waits for these two marks as well, and learns of each what is true of that mark
// alone: so nothing depends on what became of the program's event meanwhile.
//
// So a record is due where something was freed since the newest mark, or the stream has waited for
// several others since, or for one in another context.

enum { SP_EQUIVALENT_MARKS = 2 };

enum sp_equivalent {
    SP_EQUIVALENT_NONE,  // a record is due: sp_mark_stream()
    SP_EQUIVALENT_FOUND, // `marks` were set; the references are the caller's
    SP_EQUIVALENT_SAME,  // `marks` are these already
};

// Finds the marks that are equivalent to a record; both are null where there is nothing to cover,
// and two of them always come in the same order. `marks` are null at first, or others have
// references to them as long as the call lasts.
enum sp_equivalent sp_learn_find_equivalent(struct sp_stream *stream,
                                            struct sp_mark *marks[SP_EQUIVALENT_MARKS]);

#endif
