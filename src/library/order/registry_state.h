// The state of the registry, for registry.c, and for tests that end it.
#ifndef STREAMPOOL_ORDER_REGISTRY_STATE_H
#define STREAMPOOL_ORDER_REGISTRY_STATE_H

#include "order/slot.h"

enum { SP_REGISTRY_BUCKETS = 4096 };

struct sp_registry {
    struct sp_lock lock; // guards the known contexts, too
    struct sp_stream *by_name[SP_REGISTRY_BUCKETS];
    struct sp_stream *by_handle[SP_REGISTRY_BUCKETS]; // created ones, neither gone nor ended
    struct sp_slot_list ended[SP_SLOT_SORTS];
    bool is_ready; // the lists are made
};

extern __attribute__((visibility("hidden"))) struct sp_registry sp_registry;

#endif
