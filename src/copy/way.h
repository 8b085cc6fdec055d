// The way that a copy goes: straight, by the driver's own copy of pageable memory, or by way of
// chunks, now or ahead. The kind of the host's memory, the size and the form of the call say which.
#ifndef STREAMPOOL_COPY_WAY_H
#define STREAMPOOL_COPY_WAY_H

#include "copy/completion.h"
#include "copy/transfer.h"

// Refuses what can't be copied. The stream's context is current, here and below.
poolError_t sp_way_check(const struct sp_copy *copy);

// Gives the copy to its stream. With a place for a completion that is made at once, and `handle`
// receives it.
poolError_t sp_way_give(const struct sp_copy *copy, struct sp_completion *completion,
                        poolCopyCompletion_t *handle);

#endif
