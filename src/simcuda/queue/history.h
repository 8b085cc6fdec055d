// A history says who touched which bytes of an extent last, and so whether a new touch races with
// them.
//
// The bytes of an extent are cut into segments that have the same history: the last write, and the
// reads since then, the latest of each slot. A new touch races with an old one when one of both
// writes and the old one is not in the new one's clock. Touches arrive in an order that agrees with
// all known orders (work executes after what it depends on), so an old touch can never be ordered
// after a new one, and this one test is enough.
//
//   segments are disjoint, and not empty; bytes in no segment were never touched
#ifndef STREAMPOOL_SIMCUDA_QUEUE_HISTORY_H
#define STREAMPOOL_SIMCUDA_QUEUE_HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tree.h"
#include "simcuda/common/clock.h"
#include "simcuda/common/who.h"

// A touch says that a piece of work touched bytes, as far as a report about it needs to know.
struct sim_touch {
    size_t slot;
    uint64_t sequence;
    uint64_t serial;  // order of adding, over all queues
    uint64_t address; // device address of the first byte that it named
    uint64_t size;
    struct sim_who who; // enqueued it
    bool writes;
    bool is_told;     // a report tells of the piece of work already
    const char *name; // of the work (item.h)
};

struct sim_segment {
    struct sp_tree_node node; // by `begin`
    uint64_t begin;           // offsets in the extent
    uint64_t end;
    bool written;
    struct sim_touch write;
    struct sim_touch *reads;
    size_t read_count;
    size_t read_capacity;
};

// All zeros is one without touches.
struct sim_history {
    struct sp_tree segments;
    size_t count;
};

void sim_history_destroy(struct sim_history *history);

// Enters a touch of [begin, end) with its clock. False when it races: then *other is one that it
// races with, and the touch is entered all the same.
bool sim_history_touch(struct sim_history *history, uint64_t begin, uint64_t end,
                       const struct sim_touch *touch, const struct sim_clock *clock,
                       struct sim_touch *other);

// Returns whether [begin, end) has a touch that the clock doesn't hold: any one if `writes`, else a
// write. *other is one of them. Enters nothing.
bool sim_history_conflicts(const struct sim_history *history, uint64_t begin, uint64_t end,
                           bool writes, const struct sim_clock *clock, struct sim_touch *other);

// Makes all bytes such whose touches are all in the clock.
void sim_history_forget_known(struct sim_history *history, const struct sim_clock *clock);

// Looks for a touch of bytes in [begin, end) of which a function says that it is one: false when
// there is none.
bool sim_history_find(const struct sim_history *history, uint64_t begin, uint64_t end,
                      bool (*is_one)(const struct sim_touch *touch, const void *data),
                      const void *data, struct sim_touch *found);

#endif
