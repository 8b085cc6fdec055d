// Actions: what makes the legacy stream's order real for memory that passes through the library.
//
// The driver orders the legacy stream of a context with the context's blocking streams (per-thread
// default streams among them), both ways, at each *action*: a piece of work, a wait, a record.
// CUDA's own allocations of reused memory and its frees are actions. Ours enqueue nothing, and that
// shows in two ways (measured on an H200; the conformance rows driver_... ask every driver):
//
//   - A query or a synchronise of a blocking stream answers at once while work runs on the legacy
//     stream that the blocking stream's next action would wait for. So an answer about the stream
//     itself says nothing of what was freed on it; the event of a mark behind the free does.
//   - A program may allocate on a stream, synchronise that and use the memory from anywhere; or
//     allocate on the legacy stream, and use the memory on a blocking one. Neither waits for the
//     work that the memory was freed behind, unless an action of the stream stands behind it.
//
// So a stream that takes part in this order *acts*: an allocation on it *owes* an action where its
// memory may carry work that the stream has no action behind.
//
// On a blocking stream the action is the record of a mark and a wait for it: a synchronise of the
// stream passes over a record that only the legacy stream's work keeps pending, and waits for a
// wait that is. (It waits for the record of an event with timing or for blocking waits as well; the
// one costs twice as much, the other an interrupt for each.) On the legacy stream any record is
// one, and nobody waits for it: so one event serves for all. It owes whatever streams the library
// knows: a program may allocate and free on it alone, and compute on blocking streams that no call
// names. An anonymous stream acts, since its name may be that of a blocking one.
#ifndef STREAMPOOL_ORDER_ACTION_H
#define STREAMPOOL_ORDER_ACTION_H

#include "order/progress.h"

// Our free is no action. The consequences differ by direction, of two streams of one context:
//
//   freed on a blocking stream    The legacy stream's next action runs after all work before it.
//   freed on the legacy stream    The work before the free may be that of a third, blocking stream.
//                                 The legacy stream's next action waits for that, and another
//                                 blocking stream waits for that action alone. So an event must
//                                 stand behind the free.
//
// The order is that of the taker's next action, which it owes: so it never enters a clock.
static inline bool sp_action_orders(enum sp_stream_kind freed_on, enum sp_stream_kind taker,
                                    bool recorded) {
    return (freed_on == SP_STREAM_BLOCKING && taker == SP_STREAM_LEGACY) ||
           (freed_on == SP_STREAM_LEGACY && taker == SP_STREAM_BLOCKING && recorded);
}

// An action is owed for one of these, the dearer one last.
enum sp_owed {
    SP_OWED_NONE,
    SP_OWED_OWN, // what the stream freed itself: an event that stands behind that already will do
    SP_OWED_OTHERS, // what the other side freed: the action comes behind it, so it is a new one
};

// True when a stream's next action runs after another one's fence, by the legacy stream's order.
bool sp_action_is_legacy_ordered(const struct sp_stream *taker, struct sp_fence fence);

// Return what a stream that acts owes for memory that it freed under this number itself, or for
// memory with these fences, which the reuse rule has let it have. `is_complete` tells what the
// memory's pool takes for known.
enum sp_owed sp_action_owed_for_own(const struct sp_stream *taker, uint64_t sequence,
                                    bool (*is_complete)(struct sp_fence fence));
enum sp_owed sp_action_owed_for(const struct sp_stream *taker, const struct sp_fence_set *fences,
                                bool (*is_complete)(struct sp_fence fence));

#endif
