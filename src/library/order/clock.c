#include "order/clock.h"

#include <stdlib.h>
#include <string.h>

void sp_clock_clear(struct sp_clock *clock) {
    free(clock->entries);
    *clock = (struct sp_clock){0, 0, NULL};
}

// Returns the index of the first entry whose slot is not less.
static uint32_t find(const struct sp_clock *clock, uint32_t slot) {
    uint32_t low = 0;
    uint32_t high = clock->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (clock->entries[middle].slot < slot)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t sp_clock_at(const struct sp_clock *clock, uint32_t slot) {
    uint32_t index = find(clock, slot);
    return index < clock->count && clock->entries[index].slot == slot
               ? clock->entries[index].sequence
               : 0;
}

static bool grow(struct sp_clock *clock, uint32_t needed) {
    if (needed <= clock->capacity)
        return true;
    uint32_t capacity = needed < 8 ? 8 : needed * 2;
    struct sp_fence *entries = realloc(clock->entries, capacity * sizeof *entries);
    if (!entries)
        return false;
    clock->entries = entries;
    clock->capacity = capacity;
    return true;
}

bool sp_clock_raise(struct sp_clock *clock, struct sp_fence fence) {
    uint32_t index = find(clock, fence.slot);
    if (index < clock->count && clock->entries[index].slot == fence.slot) {
        if (clock->entries[index].sequence < fence.sequence)
            clock->entries[index].sequence = fence.sequence;
        return true;
    }
    if (!grow(clock, clock->count + 1))
        return false;
    memmove(&clock->entries[index + 1], &clock->entries[index],
            (clock->count - index) * sizeof clock->entries[0]);
    clock->entries[index] = fence;
    clock->count++;
    return true;
}

bool sp_clock_join(struct sp_clock *clock, const struct sp_clock *from) {
    bool all = true;
    for (uint32_t i = 0; i < from->count; i++)
        all = sp_clock_raise(clock, from->entries[i]) && all;
    return all;
}

bool sp_clock_copy(struct sp_clock *clock, const struct sp_clock *from) {
    if (from->count == 0)
        return true;
    if (!grow(clock, from->count))
        return false;
    memcpy(clock->entries, from->entries, from->count * sizeof from->entries[0]);
    clock->count = from->count;
    return true;
}

void sp_clock_prune(struct sp_clock *clock, bool (*gone)(struct sp_fence fence)) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < clock->count; i++) {
        if (!gone(clock->entries[i]))
            clock->entries[kept++] = clock->entries[i];
    }
    clock->count = kept;
}
