// Memory in flight: free, and in no list.
//
// A thread that moves free memory from a lane to the regions, makes a slab, or looks whether pieces
// can be put together holds that memory for a moment with no lock held: who looks everywhere finds
// nothing of it. Or a block is freed where he has looked, and another taken where he has not. So a
// look that found nothing says that nothing is there only if all was still meanwhile
// (docs/notes/locks.md):
//
//   no free memory was in flight, and nothing was allocated or freed
//
// Before a request is refused it looks once more, until one look was made while all was still.
#ifndef STREAMPOOL_REGION_IN_FLIGHT_H
#define STREAMPOOL_REGION_IN_FLIGHT_H

#include "base/biased_lock.h"

#include <stdbool.h>
#include <stdint.h>

// How often memory was taken out of lists, and put into some again.
struct sp_in_flight {
    _Atomic uint64_t taken;
    _Atomic uint64_t put;
};

// Called before free memory leaves its list, or with the lock of that list held; and once it is in
// a list again, or somebody's.
static inline void sp_in_flight_take(struct sp_in_flight *in_flight) {
    sp_add_relaxed(&in_flight->taken, 1);
    if (sp_this_thread->watches == in_flight)
        sp_this_thread->taken++;
}
static inline void sp_in_flight_put(struct sp_in_flight *in_flight) {
    atomic_fetch_add_explicit(&in_flight->put, 1, memory_order_release);
}

struct sp_pool;

// The figures of a pool that change when memory moves.
struct sp_stillness {
    uint64_t put;
    uint64_t used;   // bytes
    uint64_t served; // allocations
};

// Note how it is when a look begins, and tell whether all was still up to its end, but for what the
// calling thread itself did. They take the pool's lock. A thread makes one look at a time.
struct sp_stillness sp_in_flight_begin_look(struct sp_pool *pool);
bool sp_in_flight_end_look(struct sp_pool *pool, const struct sp_stillness *begin);

// True as long as one thread alone has used the library, or another one came when that had ended:
// then all is still.
static inline bool sp_in_flight_is_ruled_out(void) {
    return sp_biased_lock_threads() <= 1;
}

// True when some memory is in flight now.
bool sp_in_flight_is_any(const struct sp_pool *pool);

// Waits while memory is in flight, up to `pauses`, which count down to 0: some tens of
// milliseconds for SP_IN_FLIGHT_PAUSES of them.
enum { SP_IN_FLIGHT_PAUSES = 512 };
void sp_in_flight_await(const struct sp_pool *pool, unsigned *pauses);

#endif
