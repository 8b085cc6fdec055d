// Freeing what is more than a put into the stream's own lane (region/at_hand.h).
#ifndef STREAMPOOL_CALLS_FREE_H
#define STREAMPOOL_CALLS_FREE_H

#include "calls/release.h"

// Does what a put of the lane's own stream has left to do. Without the lane's lock.
poolError_t sp_free_finish(struct sp_lane *lane, uintptr_t owner, struct sp_stream *stream,
                           uint64_t sequence, struct sp_put put);

// Frees anything for anybody: without a stream null, on one whose capture state has been checked.
// `owner` is what the page map says of the pointer.
poolError_t sp_free_other(void *pointer, uintptr_t owner, struct sp_stream *stream);

// Frees anything behind the points of several different streams, whose capture states have been
// checked. The caller tells the streams alone.
poolError_t sp_free_behind(void *pointer, uintptr_t owner, struct sp_release_point *points,
                           uint32_t count);

#endif
