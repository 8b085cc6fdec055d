// A machine for device heaps that needs no GPU: a pool in an arena of the host's memory, streams
// that are queues, and kernels that run as C functions, one thread at a time.
//
// What is enqueued runs at once, as far as events let it. A stream that is held runs nothing until
// it is let go. All functions may be called from any thread.
#ifndef STREAMPOOL_TESTS_HEAP_HOST_MODEL_H
#define STREAMPOOL_TESTS_HEAP_HOST_MODEL_H

#include "devheap/machine.h"

#include <stdbool.h>

enum { MODEL_STREAMS = 6 };

struct model;

// The arena has so many units of 2 MiB. The first allocation begins 512 bytes behind a multiple of
// those.
struct model *model_make(uint32_t units);

// Fails the test where memory of the pool, memory of the host or an event wasn't given back.
void model_end(struct model *model);

poolMemPool_t model_pool(struct model *model);
CUstream model_stream(struct model *model, unsigned index);

void model_hold(struct model *model, CUstream stream);
void model_let_go(struct model *model, CUstream stream);
void model_capture(struct model *model, CUstream stream, bool captures);

// Enqueues a program's kernel.
void model_work(struct model *model, CUstream stream, void (*work)(void *), void *given);

// Lets the pool have no more than so many bytes that are live.
void model_limit(struct model *model, size_t bytes);

// Leaves a gap of 2 MiB behind each allocation.
void model_scatter(struct model *model);

// Lets one call of the seam fail: the n-th from now on, 1 for the next. Returns how many were made
// since the last time. 0: none fails.
unsigned model_fail(struct model *model, unsigned nth);

// True once the call failed that was to.
bool model_has_failed(struct model *model);

// Lets every call of the driver fail from now on, as behind a kernel that trapped.
void model_break(struct model *model);

size_t model_live(struct model *model);    // bytes that were taken and not given back
size_t model_pending(struct model *model); // bytes that were given behind work that isn't complete

// Blocks until no more bytes are live, for what another thread gives back. Fails the test where
// they are fewer.
void model_await_live(struct model *model, size_t bytes);

#endif
