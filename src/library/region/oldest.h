// Pending memory that is had by the cheapest wait.
//
// A stream that waits for an event runs no sooner than the work before it. Of all events behind
// free memory the oldest ones are the likeliest to be complete by the time that the stream comes to
// its wait, and a wait for a complete event takes no time. So a request that waits by choice, since
// the pool could grow as well, takes the memory with the oldest event, even where other memory fits
// better. Which event is older, of two on different streams, isn't known: what counts is how many
// events of its stream it has to wait for beyond those that are known to be complete.
#ifndef STREAMPOOL_REGION_OLDEST_H
#define STREAMPOOL_REGION_OLDEST_H

#include "region/request.h"

// With the pool's lock held: takes a block that is large enough and can be had by waiting, BUSY,
// out of its tier. Behind the fewest streams' work, of those behind the oldest event, of those the
// smallest. Null when there is none. Of very many lanes and blocks it looks at some.
struct sp_block *sp_oldest_take_aside(const struct sp_request *request);

#endif
