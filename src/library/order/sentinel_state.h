// The table of sentinels, for sentinel.c, and for tests that empty it.
#ifndef STREAMPOOL_ORDER_SENTINEL_STATE_H
#define STREAMPOOL_ORDER_SENTINEL_STATE_H

#include "base/lock.h"
#include "order/sentinel.h"

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
