// The library's worker thread, as tests need it.
#ifndef STREAMPOOL_TESTS_INSIDE_WORKER_H
#define STREAMPOOL_TESTS_INSIDE_WORKER_H

// Waits until the worker has done what it can do now.
void inside_worker_rest(void);

// Ends the worker and empties its queue. The next call starts it again.
void inside_worker_stop(void);

#endif
