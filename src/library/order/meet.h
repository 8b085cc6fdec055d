// Meeting a stream: a handle that a caller has just passed to us has a name that the calling thread
// doesn't remember.
#ifndef STREAMPOOL_ORDER_MEET_H
#define STREAMPOOL_ORDER_MEET_H

#include "order/stream.h"

// Finds the stream with the name, or asks the driver for what else there is to know of it and adds
// it to the registry. The calling thread remembers it.
struct sp_outcome sp_meet_stream(CUstream handle, const struct sp_stream_name *name,
                                 struct sp_stream **stream);

#endif
