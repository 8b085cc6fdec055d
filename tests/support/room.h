// How much an allocation must get: what a plain ledger says that fits.
//
// An extent is free when no byte of a live block lies in it. A request of a pool fits in what the
// device has free and in all free extents of its pools, as far as the pool's limit allows. The
// library's own opinion of what is free is not asked.
#ifndef STREAMPOOL_TESTS_SUPPORT_ROOM_H
#define STREAMPOOL_TESTS_SUPPORT_ROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "region/pool.h"

// Whether a byte of a live block of the test lies there.
struct test_live {
    bool (*lies_in)(const void *blocks, uint64_t address, uint64_t size);
    const void *blocks;
};

// The bytes that a request of the pool may ask for and must get, once nothing is pending.
uint64_t test_room(const struct test_live *live, struct sp_pool *pool);

// The same for a stream, less what the promise excepts: what was freed where that stream's requests
// can't ask. Puts what the lanes hold among the free blocks, to look at it.
uint64_t test_room_in_reach(const struct test_live *live, struct sp_pool *pool, CUstream stream);

// The bytes of the device's extents in which memory lies that is free and that the stream can't ask
// about, whatever else is live there. Looks at it likewise.
uint64_t test_out_of_reach(struct sp_device *device, CUstream stream);

// Whether the simulated driver completes work late: the library's own event may be pending there,
// so a request is made twice; and whether work ends though nobody waits for it, as on a real
// device.
bool test_completes_late(void);
bool test_work_ends_by_itself(void);

#endif
