// Vector clocks: for each slot (a stream's incarnation, work.h) the latest sequence number that
// something is known to run after. Null is the clock of zeros.
//
// A clock is counted and shared: pieces of work of one stream between two changes of its clock hold
// the same one. Raising and merging go through the owner's pointer and copy first when somebody
// else holds it, so a clock that was handed out never changes.
//
//   width is the number of slots stored; every slot beyond reads 0
#ifndef STREAMPOOL_SIMCUDA_COMMON_CLOCK_H
#define STREAMPOOL_SIMCUDA_COMMON_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sim_clock {
    size_t references;
    size_t width;
    uint64_t at[];
};

static inline uint64_t sim_clock_at(const struct sim_clock *clock, size_t slot) {
    return clock && slot < clock->width ? clock->at[slot] : 0;
}

// Another reference to the same clock.
struct sim_clock *sim_clock_share(struct sim_clock *clock);
void sim_clock_drop(struct sim_clock *clock);

// Returns whether a clock is in no slot behind another one.
bool sim_clock_covers(const struct sim_clock *clock, const struct sim_clock *other);

// clock[slot] = max(clock[slot], sequence). True when that changed it.
bool sim_clock_raise(struct sim_clock **clock, size_t slot, uint64_t sequence);
// The larger of both in every slot. True when that changed *clock.
bool sim_clock_merge(struct sim_clock **clock, struct sim_clock *other);

#endif
