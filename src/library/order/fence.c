#include "order/fence.h"

#include <stdlib.h>

static struct sp_fence *at(struct sp_fence_set *set, uint32_t index) {
    return index < SP_FENCE_INLINE ? &set->some[index] : &set->more[index - SP_FENCE_INLINE];
}

void sp_fence_set_give_more(struct sp_fence_set *set) {
    free(set->more);
    set->more = NULL;
    set->capacity = 0;
}

bool sp_fence_set_reserve(struct sp_fence_set *set, uint32_t extra) {
    uint32_t needed = set->count + extra;
    if (needed <= SP_FENCE_INLINE + set->capacity)
        return true;
    uint32_t capacity = (needed - SP_FENCE_INLINE) * 2;
    struct sp_fence *more = realloc(set->more, capacity * sizeof *more);
    if (!more)
        return false;
    set->more = more;
    set->capacity = capacity;
    return true;
}

static struct sp_fence *find(struct sp_fence_set *set, uint32_t slot) {
    for (uint32_t i = 0; i < set->count; i++) {
        if (at(set, i)->slot == slot)
            return at(set, i);
    }
    return NULL;
}

bool sp_fence_set_covers(const struct sp_fence_set *set, struct sp_fence fence) {
    for (uint32_t i = 0; i < set->count; i++) {
        const struct sp_fence *known = sp_fence_set_at(set, i);
        if (known->slot == fence.slot)
            return known->sequence >= fence.sequence;
    }
    return false;
}

bool sp_fence_set_add(struct sp_fence_set *set, struct sp_fence fence) {
    struct sp_fence *known = find(set, fence.slot);
    if (known) {
        if (known->sequence < fence.sequence)
            known->sequence = fence.sequence;
        return true;
    }
    if (!sp_fence_set_reserve(set, 1))
        return false;
    *at(set, set->count++) = fence;
    return true;
}

static uint32_t count_unknown(struct sp_fence_set *set, const struct sp_fence_set *from) {
    uint32_t unknown = 0;
    for (uint32_t i = 0; i < from->count; i++)
        unknown += find(set, sp_fence_set_at(from, i)->slot) == NULL;
    return unknown;
}

bool sp_fence_set_join_any(struct sp_fence_set *set, const struct sp_fence_set *from) {
    if (!sp_fence_set_reserve(set, count_unknown(set, from)))
        return false;
    for (uint32_t i = 0; i < from->count; i++)
        sp_fence_set_add(set, *sp_fence_set_at(from, i));
    return true;
}

void sp_fence_set_prune_any(struct sp_fence_set *set, bool (*gone)(struct sp_fence fence)) {
    uint32_t i = 0;
    while (i < set->count) {
        if (gone(*at(set, i)))
            *at(set, i) = *at(set, --set->count);
        else
            i++;
    }
    if (set->count == 0 && set->more)
        sp_fence_set_clear(set);
}
