// The end of the library's state, which a process needs no more than once, and a test program once
// for each test. No other thread is about.
#ifndef STREAMPOOL_TESTS_INSIDE_TEARDOWN_H
#define STREAMPOOL_TESTS_INSIDE_TEARDOWN_H

#include "region/pool.h"

// Unmaps and frees everything that the library holds, address ranges and events included. The
// library is as it was before the first call then.
void inside_teardown(void);

// Unmaps everything of the pool, whatever is live, and ends the pool.
void inside_demolish(struct sp_pool *pool);

#endif
