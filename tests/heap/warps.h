// A model of warps on a CPU, under which the heap's device code runs as C11.
//
// A lane is a thread of the system. Lanes of a warp that call together meet: who is together is
// drawn by lot at each call, from one lane to all that come in time. A collective waits for the
// lanes of its mask and for no others, and fails the test where these don't make the same call.
//
// Lanes run in one of two ways:
//
//   WARPS_FREE     as the system lets them, and now and then one stands back before an atomic
//                  operation. For the race detector.
//   WARPS_STEPPED  one at a time, which hands over to another at moments drawn by lot. The same
//                  seed gives the same course, but for what hangs on addresses.
//
// Outside of warps_run there is one lane, which is always alone: a test calls the heap directly.
#ifndef STREAMPOOL_TESTS_HEAP_WARPS_H
#define STREAMPOOL_TESTS_HEAP_WARPS_H

#include <setjmp.h>
#include <stdint.h>

void warps_step(void);

// The device code's atomic operations stop here first.
#define POOL_HEAP_STEP() warps_step()
#include <streampool/heap.cuh>

enum { WARPS_LANES_MOST = 8 };

enum warps_way { WARPS_FREE, WARPS_STEPPED };

struct warps {
    enum warps_way way;
    uint32_t warps;
    uint32_t lanes; // of each, at most WARPS_LANES_MOST
    uint64_t seed;
    void (*kernel)(void *argument, uint32_t thread); // threads are numbered through all warps
    void *argument;
};

// Runs the kernel in all lanes, and waits for their end.
void warps_run(const struct warps *warps);

// A moment at which others may run; a kernel's loop that waits for another lane calls it.
void warps_wait(void);

// Ends what the calling thread does when it comes to its `step`-th step from now on, before that
// operation, and goes on at `place`: so it stops in the middle of a call, as a thread that traps.
// With 0 it never does. Only for a lane that is alone in its warp, as others would wait for it.
void warps_stop_at(uint32_t step, jmp_buf *place);

#endif
