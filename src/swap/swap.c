// The public calls, and how several pools pause or resume as one: each is shown its memory inside
// of the call for the one before it, so that none has given up anything, or is open to allocations
// again, until the contents of all are where they belong. What fails there ends all the calls
// around it, which put back what was.
#include "beside/process.h"
#include "beside/refuse.h"
#include "swap/host.h"
#include "swap/member.h"

#include "base/number.h"
#include "base/thread.h"

#include <stdlib.h>
#include <string.h>

// A call changes the pools of a group, one inside of the other.
struct change {
    struct sp_group group;
    int level;
    struct sp_unwanted unwanted;
};

struct step {
    struct change *change;
    size_t i;
    bool was_shown;
};

// Nothing is saved of it any more.
static void end_pause(struct sp_member *member) {
    sp_saved_drop(&member->saved);
    member->level = 0;
    member->stayed = member->discarded = 0;
}

// ----------------------------------------------------------------------------------------- pausing

static poolError_t pause_from(struct change *change, size_t i);

static poolError_t save(void *user, const struct poolMemRange *ranges, size_t count) {
    struct step *step = user;
    const struct change *change = step->change;
    struct sp_member *member = change->group.members[step->i];
    poolError_t error = poolSuccess;
    end_pause(member); // one that was paused has been made resident by the program
    step->was_shown = true;
    if (change->level == poolPauseSave) {
        error = sp_saved_make(&member->saved, member->device, ranges, count, &change->unwanted);
        member->discarded = member->saved.unwanted;
    } else {
        for (size_t i = 0; i < count; i++)
            member->discarded += ranges[i].size;
    }
    return error == poolSuccess ? pause_from(step->change, step->i + 1) : error;
}

static poolError_t pause_from(struct change *change, size_t i) {
    if (i == change->group.count)
        return poolSuccess;
    struct sp_member *member = change->group.members[i];
    struct step step = {change, i, false};
    bool was_paused = member->level != 0;
    poolError_t error = poolMemPoolEvict(member->pool, save, &step, &member->stayed);
    if (error == poolSuccess && !step.was_shown)
        error = was_paused
                    ? pause_from(change, i + 1)
                    : sp_refuse(poolErrorIllegalState, "the pool was evicted by poolMemPoolEvict");
    else if (error == poolSuccess)
        member->level = change->level;
    if (error != poolSuccess && (step.was_shown || !was_paused))
        end_pause(member);
    return error;
}

// Nothing is saved any more where that is asked for now.
static void deepen(struct sp_member *member, int level) {
    if (level != poolPauseDiscard || member->level != poolPauseSave)
        return;
    for (size_t i = 0; i < member->saved.count; i++)
        member->discarded += member->saved.kept[i].size;
    sp_saved_drop(&member->saved);
    member->level = level;
}

// --------------------------------------------------------------------------------------- resuming

static poolError_t resume_from(struct change *change, size_t i);

static poolError_t load(void *user, const struct poolMemRange *ranges, size_t count) {
    struct step *step = user;
    const struct sp_member *member = step->change->group.members[step->i];
    step->was_shown = true;
    poolError_t error = sp_saved_load(&member->saved, member->device, ranges, count);
    return error == poolSuccess ? resume_from(step->change, step->i + 1) : error;
}

static poolError_t resume_from(struct change *change, size_t i) {
    if (i == change->group.count)
        return poolSuccess;
    struct sp_member *member = change->group.members[i];
    struct step step = {change, i, false};
    if (member->level == 0)
        return resume_from(change, i + 1);
    poolError_t error = poolMemPoolMakeResident(member->pool, load, &step);
    if (error != poolSuccess)
        return error;
    end_pause(member);
    return step.was_shown ? poolSuccess
                          : sp_refuse(poolErrorIllegalState,
                                      "the pool was made resident by poolMemPoolMakeResident");
}

// ---------------------------------------------------------------------------------- unwanted
// ranges

static int compare(const void *a, const void *b) {
    const struct poolMemRange *left = a, *right = b;
    return sp_compare((uintptr_t)left->ptr, (uintptr_t)right->ptr);
}

// Returns what a range says of the block that it begins in. Addresses behind that, and those of no
// block, may be memory of a block that lies at other addresses.
static struct poolMemRange within_block(struct poolMemRange range) {
    struct poolPointerAttributes block = {.state = poolPointerForeign};
    if (poolPointerGetAttributes(&block, range.ptr) != poolSuccess ||
        block.state != poolPointerLive)
        return (struct poolMemRange){range.ptr, 0};
    size_t left = (uintptr_t)block.base + block.size - (uintptr_t)range.ptr;
    return (struct poolMemRange){range.ptr, sp_min(range.size, left)};
}

// Puts ranges in order, and joins those that overlap. Null without memory.
static struct poolMemRange *put_in_order(const struct poolMemRange *ranges, size_t *count) {
    struct poolMemRange *list = malloc(*count * sizeof *list);
    size_t joined = 0;
    if (!list)
        return NULL;
    for (size_t i = 0; i < *count; i++)
        list[i] = within_block(ranges[i]);
    qsort(list, *count, sizeof *list, compare);
    for (size_t i = 1; i < *count; i++) {
        struct poolMemRange *last = &list[joined];
        size_t distance = (uintptr_t)list[i].ptr - (uintptr_t)last->ptr;
        if (distance <= last->size)
            last->size = sp_max(last->size, distance + list[i].size);
        else
            list[++joined] = list[i];
    }
    *count = joined + 1;
    return list;
}

static poolError_t check_ranges(const struct poolMemRange *ranges, size_t count) {
    size_t ignored;
    if (count > 0 && !ranges)
        return sp_refuse(poolErrorInvalidValue, "unwanted is null");
    for (size_t i = 0; i < count; i++) {
        if (!sp_checked_add((uintptr_t)ranges[i].ptr, ranges[i].size, &ignored))
            return sp_refuse(poolErrorInvalidValue, "range %zu reaches beyond all addresses", i);
    }
    return poolSuccess;
}

// ------------------------------------------------------------------------------------------- calls

static void tell(const struct sp_group *group, struct poolMemPoolPaused *paused) {
    *paused = (struct poolMemPoolPaused){0};
    for (size_t i = 0; i < group->count; i++) {
        const struct sp_member *member = group->members[i];
        paused->pools += member->level != 0;
        paused->hostBytes += member->saved.in_host;
        paused->fileBytes += member->saved.line - member->saved.in_host;
        paused->discardedBytes += member->discarded;
        paused->stayedBytes += member->stayed;
    }
}

static poolError_t pause_group(struct change *change, struct poolMemPoolPaused *paused) {
    struct sp_group *group = &change->group;
    poolError_t error = pause_from(change, 0);
    for (size_t i = 0; i < group->count && error == poolSuccess; i++)
        deepen(group->members[i], change->level);
    if (error == poolSuccess && paused)
        tell(group, paused);
    return error;
}

poolError_t poolMemPoolPause(poolMemPool_t pool, const char *tag, enum poolPauseLevel level,
                             const struct poolMemRange *unwanted, size_t count,
                             struct poolMemPoolPaused *paused) {
    SP_UNCANCELLED;
    struct change change = {.level = (int)level};
    poolError_t error = sp_process_find();
    if (error == poolSuccess && level != poolPauseSave && level != poolPauseDiscard)
        return sp_refuse(poolErrorInvalidValue, "%d is no level", (int)level);
    if (error == poolSuccess)
        error = check_ranges(unwanted, count);
    if (error != poolSuccess)
        return error;
    struct poolMemRange *list = count > 0 ? put_in_order(unwanted, &count) : NULL;
    if (count > 0 && !list)
        return sp_refuse(poolErrorMemoryAllocation, "the host has no memory for a list of ranges");
    change.unwanted = (struct sp_unwanted){list, count};
    error = sp_member_enter(pool, tag, &change.group);
    if (error == poolSuccess) {
        error = pause_group(&change, paused);
        sp_member_leave(&change.group);
    }
    free(list);
    return error;
}

poolError_t poolMemPoolResume(poolMemPool_t pool, const char *tag) {
    SP_UNCANCELLED;
    struct change change;
    poolError_t error = sp_process_find();
    if (error == poolSuccess)
        error = sp_member_enter(pool, tag, &change.group);
    if (error != poolSuccess)
        return error;
    error = resume_from(&change, 0);
    sp_member_leave(&change.group);
    return error;
}

poolError_t poolMemPoolGetPaused(poolMemPool_t pool, const char *tag,
                                 struct poolMemPoolPaused *paused) {
    SP_UNCANCELLED;
    struct sp_group group;
    poolError_t error = sp_process_find();
    if (error == poolSuccess && !paused)
        return sp_refuse(poolErrorInvalidValue, "paused is null");
    if (error == poolSuccess)
        error = sp_member_enter(pool, tag, &group);
    if (error != poolSuccess)
        return error;
    tell(&group, paused);
    sp_member_leave(&group);
    return poolSuccess;
}

poolError_t poolMemPoolGetTagged(poolMemPool_t pool, const char *tag, poolMemPool_t *tagged) {
    SP_UNCANCELLED;
    poolError_t error = sp_process_find();
    if (error == poolSuccess && !tagged)
        return sp_refuse(poolErrorInvalidValue, "tagged is null");
    return error == poolSuccess ? sp_member_tagged(pool, tag ? tag : "", tagged) : error;
}

// Another thread may have destroyed the pool before.
poolError_t poolMemPoolDestroyTagged(poolMemPool_t pool, const char *tag) {
    SP_UNCANCELLED;
    struct sp_group group;
    poolError_t error = sp_process_find();
    if (error == poolSuccess && tag && tag[0] == '\0')
        return sp_refuse(poolErrorInvalidValue, "the pool itself has no tag");
    if (error == poolSuccess)
        error = sp_member_enter(pool, tag, &group);
    if (error != poolSuccess)
        return error;
    poolError_t before = poolPeekAtLastError();
    for (size_t i = 0; i < group.count; i++) {
        if (group.members[i]->pool != pool) {
            poolMemPoolDestroy(group.members[i]->pool);
            sp_member_drop(group.members[i]);
        }
    }
    sp_refuse_nothing(before);
    sp_member_leave(&group);
    return poolSuccess;
}

poolError_t poolSwapSetHostLimit(uint64_t bytes) {
    sp_host_set_limit(bytes);
    return poolSuccess;
}

poolError_t poolSwapGetHostPool(poolMemPool_t *pool) {
    SP_UNCANCELLED;
    poolError_t error = sp_process_find();
    if (error == poolSuccess && !pool)
        return sp_refuse(poolErrorInvalidValue, "pool is null");
    return error == poolSuccess ? sp_host_pool(pool) : error;
}
