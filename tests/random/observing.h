// In an observed program streams, captures and contexts are noted, as the drop-in does in programs
// that it is loaded into. Some streams come unseen.
//
// In a program that isn't observed each function makes the call alone.
#ifndef STREAMPOOL_TESTS_RANDOM_OBSERVING_H
#define STREAMPOOL_TESTS_RANDOM_OBSERVING_H

#include "random/world.h"

void observing_begin(const struct plan *plan);

// Of a stream that the driver has just made.
void observing_created(struct thread *thread, const struct stream *stream);

// By the driver's own call.
CUresult observing_destroy(const struct thread *thread, CUstream handle);
CUresult observing_destroy_context(const struct thread *thread, unsigned context);

CUresult observing_begin_capture(const struct thread *thread, CUstream handle);
CUresult observing_end_capture(const struct thread *thread, CUstream handle, CUgraph *graph);

// From the current pool where the pool is null.
poolError_t observing_malloc(const struct thread *thread, void **pointer, size_t size,
                             poolMemPool_t pool, CUstream handle);
poolError_t observing_free(const struct thread *thread, void *pointer, CUstream handle);

// The library's own calls.
poolError_t observing_record(const struct thread *thread, CUevent event, CUstream handle);
poolError_t observing_wait(const struct thread *thread, CUstream handle, CUevent event);
poolError_t observing_synchronize(const struct thread *thread, CUstream handle);
poolError_t observing_query(const struct thread *thread, CUstream handle);

#endif
