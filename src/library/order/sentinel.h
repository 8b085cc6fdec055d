// Sentinels tell a context from an earlier one at its handle where the driver has no cuCtxGetId.
//
// A sentinel is a few bytes of pinned host memory that the library allocates in a context when it
// first meets one of its streams. They belong to the context and go with it. The driver numbers its
// allocations (the attribute CU_POINTER_ATTRIBUTE_BUFFER_ID) and no number comes back, though
// handles and addresses do: so the sentinel's number is the context's id. While the driver has that
// number for the address, the context is alive. When it has another one, or knows no such memory,
// the context is gone. Any other answer tells nothing. On an H200 the question costs 26 ns, needs
// no current context, and does no harm whatever has become of the memory.
//
// All of it is thread safe. Looking one up takes no lock, and no lock is held across a driver call.
#ifndef STREAMPOOL_ORDER_SENTINEL_H
#define STREAMPOOL_ORDER_SENTINEL_H

#include "base/lock.h"
#include "driver/driver.h"

#include <stdbool.h>
#include <stdint.h>

// Tells the id of a context that is alive, by one question to the driver. The first time, and when
// its handle stood for another one before, it gets a sentinel, and the driver may wait for work of
// the device.
struct sp_outcome sp_sentinel_id(CUcontext context, uint64_t *id);

// Tells the id of a context that has a sentinel, and 0 for one that has none: then no stream of it
// is known.
struct sp_outcome sp_sentinel_known_id(CUcontext context, uint64_t *id);

// True when the context that had this id is gone. False when the driver doesn't say.
bool sp_sentinel_is_gone(CUcontext context, uint64_t id);

// The table, for sentinel.c, and for tests that empty it.
enum { SP_SENTINEL_BUCKETS = 64 };

// A sentinel is that of the latest context at a handle. It stays when the context is gone, until
// another one takes its place.
//
// A reader may see the id of the one before with the memory of the next one. These two never belong
// together, so what it concludes is that the context of that id is gone; and it is.
struct sp_sentinel {
    struct sp_sentinel *next;
    CUcontext context;
    void *_Atomic memory; // written before `id`
    _Atomic uint64_t id;
};

struct sp_sentinels {
    struct sp_lock lock; // guards writing
    struct sp_sentinel *_Atomic buckets[SP_SENTINEL_BUCKETS];
};

extern __attribute__((visibility("hidden"))) struct sp_sentinels sp_sentinels;

#endif
