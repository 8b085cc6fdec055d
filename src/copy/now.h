// A copy through chunks that is made at once: the caller gives the stream each part when the host
// has filled its chunk, or empties each chunk when the device has filled it, and waits for the
// device by events.
#ifndef STREAMPOOL_COPY_NOW_H
#define STREAMPOOL_COPY_NOW_H

#include "copy/transfer.h"

poolError_t sp_copy_now(const struct sp_copy *copy);
poolError_t sp_copy_now_with(const struct sp_copy *copy, const struct poolCopySettings *settings);

#endif
