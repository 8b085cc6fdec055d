// Known contexts: those that have streams here and are taken for alive, with their streams.
//
// The contexts stand in one table, by handle, and in one row, in which the context that was asked
// longest ago comes first. All calls are made with the registry's lock held, which guards all of
// it.
#ifndef STREAMPOOL_ORDER_KNOWN_CONTEXT_H
#define STREAMPOOL_ORDER_KNOWN_CONTEXT_H

#include "order/slot.h"

struct sp_known_context {
    struct sp_known_context *next_in_bucket;
    struct sp_list link; // in the row
    CUcontext handle;
    uint64_t id;
    int device;
    struct sp_list streams;                    // by links.of_context
    struct sp_slot_list unused[SP_SLOT_SORTS]; // the slots of streams that are gone
};

uint32_t sp_known_context_count(void);

// Returns the context that is taken for alive at a handle, or null.
struct sp_known_context *sp_known_context_at(CUcontext handle);

// Returns the context with this handle and id, or null.
struct sp_known_context *sp_known_context_find(CUcontext handle, uint64_t id);

// Adds the context of a new stream. Null without host memory.
struct sp_known_context *sp_known_context_add(const struct sp_slot_description *fresh);

// Removes a context that has no streams any more.
void sp_known_context_remove(struct sp_known_context *context);

// Puts the first context of the row behind all others, and returns it. There is one.
struct sp_known_context *sp_known_context_next(void);

#endif
