#include "simcuda/common/clock.h"

#include <string.h>

#include "simcuda/common/host.h"

struct sim_clock *sim_clock_share(struct sim_clock *clock) {
    if (clock)
        clock->references++;
    return clock;
}

void sim_clock_drop(struct sim_clock *clock) {
    if (clock && --clock->references == 0)
        sim_free(clock);
}

// Makes *clock the caller's own, with room for `width` slots.
static void own(struct sim_clock **clock, size_t width) {
    struct sim_clock *old = *clock;
    size_t old_width = old ? old->width : 0;
    if (old && old->references == 1 && old_width >= width)
        return;
    if (width < old_width)
        width = old_width;
    struct sim_clock *fresh = sim_allocate(sizeof(*fresh) + width * sizeof(fresh->at[0]));
    fresh->references = 1;
    fresh->width = width;
    if (old)
        memcpy(fresh->at, old->at, old_width * sizeof(old->at[0]));
    sim_clock_drop(old);
    *clock = fresh;
}

bool sim_clock_raise(struct sim_clock **clock, size_t slot, uint64_t sequence) {
    if (sim_clock_at(*clock, slot) >= sequence)
        return false;
    own(clock, slot + 1);
    (*clock)->at[slot] = sequence;
    return true;
}

bool sim_clock_covers(const struct sim_clock *clock, const struct sim_clock *other) {
    if (clock == other || !other)
        return true;
    for (size_t slot = 0; slot < other->width; slot++) {
        if (sim_clock_at(clock, slot) < other->at[slot])
            return false;
    }
    return true;
}

bool sim_clock_merge(struct sim_clock **clock, struct sim_clock *other) {
    if (sim_clock_covers(*clock, other))
        return false;
    if (sim_clock_covers(other, *clock)) {
        sim_clock_drop(*clock);
        *clock = sim_clock_share(other);
        return true;
    }
    own(clock, other->width);
    for (size_t slot = 0; slot < other->width; slot++) {
        if ((*clock)->at[slot] < other->at[slot])
            (*clock)->at[slot] = other->at[slot];
    }
    return true;
}
