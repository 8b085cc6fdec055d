// Many pieces at once: poolCopyBatchAsync.
//
// A piece is *direct* where the device can copy it by itself; else one of its sides is pageable.
// Small pieces are gathered in *groups*: a block of the chunks' pool has what the kernel is to copy
// (gather.h), and behind that the bytes of pageable pieces, which the caller packs before the
// launch or unpacks behind it. On a full device (full.h) the driver copies what a group has. Large
// pageable pieces are copies of their own.
#ifndef STREAMPOOL_COPY_BATCH_H
#define STREAMPOOL_COPY_BATCH_H

#include "copy/transfer.h"

struct sp_batch {
    void *const *to;
    const void *const *from;
    const size_t *sizes;
    size_t count;
    CUstream stream;
    int device; // the stream's, whose context is current
    bool captures;
};

poolError_t sp_batch_copy(const struct sp_batch *batch);

#endif
