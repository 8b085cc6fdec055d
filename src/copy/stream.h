// A stream, as the host waits for it.
#ifndef STREAMPOOL_COPY_STREAM_H
#define STREAMPOOL_COPY_STREAM_H

#include "driver/driver.h"

// Waits for what the stream was given so far: others may give it more meanwhile.
struct sp_outcome sp_stream_await(CUstream stream);

#endif
