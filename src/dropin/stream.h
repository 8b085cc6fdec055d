// Streams by their handles.
#ifndef STREAMPOOL_DROPIN_STREAM_H
#define STREAMPOOL_DROPIN_STREAM_H

#include "driver/abi.h"

#include <stdbool.h>

// The stream of a `_ptsz` form, in which stream 0 is the calling thread's default stream.
static inline CUstream sp_stream_per_thread(CUstream stream) {
    return stream ? stream : CU_STREAM_PER_THREAD;
}

static inline bool sp_stream_is_created(CUstream stream) {
    return stream > CU_STREAM_PER_THREAD;
}

static inline bool sp_stream_is_legacy(CUstream stream) {
    return stream <= CU_STREAM_LEGACY;
}

#endif
