#include "order/fence.h"

#include <stdlib.h>

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

static bool is_at(const struct sp_fence_set *set, uint32_t index, uint32_t slot) {
    return index < set->count && sp_fence_set_at(set, index)->slot == slot;
}

uint64_t sp_fence_set_number(const struct sp_fence_set *set, uint32_t slot) {
    uint32_t first = 0, until = set->count; // between them is the first fence of no lower slot
    while (first < until) {
        uint32_t middle = first + (until - first) / 2;
        if (sp_fence_set_at(set, middle)->slot < slot)
            first = middle + 1;
        else
            until = middle;
    }
    return is_at(set, first, slot) ? sp_fence_set_at(set, first)->sequence : 0;
}

bool sp_fence_set_add(struct sp_fence_set *set, struct sp_fence fence) {
    uint32_t index = set->count;
    while (index > 0 && sp_fence_set_at(set, index - 1)->slot > fence.slot)
        index--;
    struct sp_fence *before = index > 0 ? sp_fence_set_at(set, index - 1) : NULL;
    if (before && before->slot == fence.slot) {
        if (before->sequence < fence.sequence)
            before->sequence = fence.sequence;
        return true;
    }
    if (!sp_fence_set_reserve(set, 1))
        return false;
    for (uint32_t i = set->count++; i > index; i--)
        *sp_fence_set_at(set, i) = *sp_fence_set_at(set, i - 1);
    *sp_fence_set_at(set, index) = fence;
    return true;
}

// They are merged from the end on, so that what the set has moves only once.
bool sp_fence_set_join_any(struct sp_fence_set *set, const struct sp_fence_set *from) {
    uint32_t unknown = 0, index = 0;
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t slot = sp_fence_set_at(from, i)->slot;
        while (index < set->count && sp_fence_set_at(set, index)->slot < slot)
            index++;
        unknown += !is_at(set, index, slot);
    }
    if (!sp_fence_set_reserve(set, unknown))
        return false;
    uint32_t own = set->count, others = from->count, to = own + unknown;
    set->count = to;
    while (others > 0) {
        struct sp_fence last = *sp_fence_set_at(from, others - 1);
        struct sp_fence highest = own > 0 ? *sp_fence_set_at(set, own - 1) : last;
        bool is_own = own > 0 && highest.slot >= last.slot;
        bool is_others = !is_own || highest.slot == last.slot;
        own -= is_own;
        others -= is_others;
        to--;
        if (is_others && (!is_own || highest.sequence < last.sequence))
            highest = last;
        *sp_fence_set_at(set, to) = highest;
    }
    return true;
}

void sp_fence_set_prune_any(struct sp_fence_set *set, bool (*gone)(struct sp_fence fence)) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        struct sp_fence fence = *sp_fence_set_at(set, i);
        if (gone(fence))
            continue;
        if (kept < i)
            *sp_fence_set_at(set, kept) = fence;
        kept++;
    }
    set->count = kept;
    if (set->count == 0 && set->more)
        sp_fence_set_clear(set);
}
