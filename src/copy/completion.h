// Completions, and the table of their handles: a handle is a number and a place in the table, so
// that one that was destroyed is told from a later one in its place.
#ifndef STREAMPOOL_COPY_COMPLETION_H
#define STREAMPOOL_COPY_COMPLETION_H

#include "copy/ahead.h"

#include <streampool/copy.h>

// Sees to a place for a completion, before the copy is made. Null without memory.
struct sp_completion *sp_completion_make(void);

// Gives it back where the copy wasn't made.
void sp_completion_unmake(struct sp_completion *completion);

// The copy is under way, or is behind an event that the stream has, or is complete. Returns the
// handle.
poolCopyCompletion_t sp_completion_of_ahead(struct sp_completion *completion,
                                            struct sp_ahead *ahead);
poolCopyCompletion_t sp_completion_of_event(struct sp_completion *completion, CUevent event);
poolCopyCompletion_t sp_completion_of_nothing(struct sp_completion *completion);

// Null where there is none.
struct sp_completion *sp_completion_find(poolCopyCompletion_t handle);

poolError_t sp_completion_query(struct sp_completion *completion);
poolError_t sp_completion_synchronize(struct sp_completion *completion);

// The caller of sp_completion_find() is through with it.
void sp_completion_leave(struct sp_completion *completion);

// Takes the handle away and gives the completion back. False where there is none.
bool sp_completion_destroy(poolCopyCompletion_t handle);

#endif
