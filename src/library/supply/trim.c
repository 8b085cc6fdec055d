#include "supply/trim.h"

#include "base/checked.h"
#include "base/number.h"
#include "base/time.h"
#include "order/end.h"
#include "region/ask.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/free_extents.h"
#include "region/retain.h"
#include "region/segment.h"
#include "region/settle.h"
#include "supply/defer.h"
#include "supply/loss.h"
#include "supply/victims.h"

#include <stdlib.h>

// --------------------------------------------------------------------------------------- releasing

struct sp_lock *sp_trim_begin_giving(struct sp_device *device) {
    if (!sp_vmm_provider(&device->vmm)->waits_to_give)
        return NULL;
    sp_lock_acquire(&device->gives);
    return &device->gives;
}

void sp_trim_end_giving(struct sp_lock *gives) {
    if (gives)
        sp_lock_release(gives);
}

bool sp_trim_await_giving(struct sp_device *device) {
    struct sp_lock *gives = sp_trim_begin_giving(device);
    sp_trim_end_giving(gives);
    return gives != NULL;
}

// Nothing of the extent is pending, so neither is anything that went through a stitched view of it.
// Where the driver waits for the device the map lock is given back for it. The extent is set aside,
// so nobody maps there.
static struct sp_outcome unmap(struct sp_segment *segment, struct sp_extent *extent) {
    if (segment->view.provider->waits_to_give) {
        sp_segment_note_loss(segment);
        sp_lock_release(&segment->pool->map_lock);
        struct sp_outcome given = sp_view_give_plain(&segment->view);
        sp_lock_acquire(&segment->pool->map_lock);
        if (!sp_is_done(given))
            return given;
    }
    SP_LIST_FOR_EACH_SAFE(link, &extent->aliases) {
        struct sp_alias_entry *entry = SP_CONTAINER_OF(link, struct sp_alias_entry, link);
        struct sp_outcome outcome = sp_alias_unmap(entry);
        if (!sp_is_done(outcome))
            return outcome;
    }
    return sp_view_unmap(&segment->view, extent);
}

// Files a part of an extent that was to be released: what is mapped is free memory still.
static void put_locked(struct sp_pool *pool, struct sp_block *block, bool is_mapped) {
    if (is_mapped)
        sp_settle_insert(pool, block);
    else
        sp_tier_insert(&pool->regions[sp_segment_of(block)->kind].holes, block);
}

// Releases an extent and maps its first `kept` bytes anew, if there is host memory to tell them
// from the rest. A driver that refuses this leaves the pool with less than it might have kept.
static struct sp_outcome release(struct sp_pool *pool, const struct sp_victim *victim,
                                 uint64_t kept) {
    struct sp_segment *segment = sp_segment_of(victim->block);
    struct sp_block *front = victim->block, *rest = NULL;
    uint64_t size = victim->extent->size;
    if (kept > 0) {
        sp_lock_acquire(&pool->lock);
        rest = sp_block_split(front, kept);
        sp_lock_release(&pool->lock);
    }
    struct sp_outcome outcome = unmap(segment, victim->extent);
    bool unmapped = sp_is_done(outcome);
    bool mapped = rest && unmapped && sp_is_done(sp_view_map(&segment->view, front->address, kept));
    sp_lock_acquire(&pool->lock);
    pool->retain.leaving -= size;
    if (unmapped) {
        uint64_t released = mapped ? size - kept : size;
        pool->regions[segment->kind].mapped -= released;
        sp_figures_reserved_subtract(pool, released);
    }
    put_locked(pool, front, mapped || !unmapped);
    if (rest)
        put_locked(pool, rest, !unmapped);
    sp_lock_release(&pool->lock);
    sp_segment_tidy(segment);
    return outcome;
}

typedef void choice(struct sp_pool *pool, uint64_t excess, struct sp_victims *victims);

// Trims to `keep`, or, where that is null, to what a synchronise leaves. Works all of it off,
// whatever fails, and returns the first error. The map lock is held.
static struct sp_outcome trim_mapping(struct sp_pool *pool, const size_t *keep, choice *choose) {
    struct sp_victims victims = {0};
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool);
    uint64_t kept = keep ? *keep : sp_retain_at_synchronize(pool);
    uint64_t reserved = sp_load_relaxed(&pool->reserved);
    if (reserved > kept)
        choose(pool, reserved - kept, &victims);
    sp_lock_release(&pool->lock);
    struct sp_outcome first = sp_outcome_done();
    for (size_t i = 0; i < victims.count; i++) {
        const struct sp_victim *victim = &victims.list[i];
        uint64_t map_back = victim->extent == victims.partial ? victims.map_back : 0;
        first = sp_outcome_first(first, release(pool, victim, map_back));
    }
    free(victims.list);
    return first;
}

// An extent is at least a granule, so a pool with less unused than that has none to release.
// Lost memory (region/lost.h) goes in pieces of any size.
static bool may_release(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->lost) > 0 ||
           sp_load_relaxed(&pool->reserved) >= sp_figures_used(pool) + pool->device->vmm.granule;
}

// Puts memory that a trim may release where the trim finds it.
static void make_ready(struct sp_pool *pool) {
    sp_end_gone_contexts(NULL);
    sp_collect_all(pool);
}

// Trims with the map lock taken. `keep` is as in trim_mapping().
static struct sp_outcome release_down_to(struct sp_pool *pool, const size_t *keep, choice *choose) {
    struct sp_lock *gives = sp_trim_begin_giving(pool->device);
    sp_pool_begin_mapping(pool);
    sp_loss_find(pool);
    uint64_t begin = sp_time_now();
    uint64_t before = sp_load_relaxed(&pool->reserved);
    struct sp_outcome outcome = trim_mapping(pool, keep, choose);
    sp_pool_add(pool, SP_STATISTIC_BytesTrimmed, before - sp_load_relaxed(&pool->reserved));
    sp_pool_add(pool, SP_STATISTIC_TrimTime, sp_time_now() - begin);
    sp_pool_end_mapping(pool);
    sp_trim_end_giving(gives);
    sp_defer_bury(pool); // views that have no memory any more
    return outcome;
}

static struct sp_outcome trim_to(struct sp_pool *pool, size_t keep, choice *choose) {
    size_t rounded, buried;
    struct sp_outcome first = sp_defer_bury_all(pool, &buried);
    struct sp_outcome outcome = sp_outcome_done();
    if (sp_checked_round_up(keep, pool->device->vmm.granule, &rounded) &&
        sp_load_relaxed(&pool->reserved) > rounded && may_release(pool)) {
        make_ready(pool);
        outcome = release_down_to(pool, &rounded, choose);
    }
    return sp_is_done(first) ? outcome : first;
}

struct sp_outcome sp_trim_to(struct sp_pool *pool, size_t keep) {
    return trim_to(pool, keep, sp_victims_choose_all);
}

struct sp_outcome sp_trim_by(struct sp_pool *pool, uint64_t bytes) {
    uint64_t reserved = sp_load_relaxed(&pool->reserved);
    return trim_to(pool, sp_excess(reserved, bytes), sp_victims_choose_needed);
}

struct sp_outcome sp_trim_for_program(struct sp_pool *pool, size_t keep) {
    sp_lock_acquire(&pool->lock);
    sp_retain_no_more_than(pool, keep);
    sp_lock_release(&pool->lock);
    sp_ask_lazy_lanes(pool, NULL, true); // one that can't be asked keeps what it freed
    return sp_trim_to(pool, keep);
}

// The pool was synchronised: with a release delay an interval ends, before what was in use is made
// ready, and another begins.
static void note_synchronize(struct sp_pool *pool) {
    if (!sp_retain_has_delay(pool)) {
        make_ready(pool);
        return;
    }
    sp_lock_acquire(&pool->lock);
    sp_retain_end_interval(pool);
    sp_lock_release(&pool->lock);
    make_ready(pool);
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool);
    sp_retain_begin_interval(pool);
    sp_lock_release(&pool->lock);
}

void sp_trim_at_synchronize(struct sp_pool *pool) {
    size_t buried;
    if (!sp_defer_serves(pool))
        sp_defer_bury_all(pool, &buried);
    if (sp_load_relaxed(&pool->reserved) <= sp_retain_at_least(pool) ||
        !(may_release(pool) || sp_retain_has_delay(pool)))
        return;
    bool delays = sp_retain_has_delay(pool);
    if (delays)
        note_synchronize(pool); // each counts, however soon the worker comes
    if (sp_defer_trim(pool))
        return;
    if (!delays)
        note_synchronize(pool);
    release_down_to(pool, NULL, sp_victims_choose_all);
}

struct sp_outcome sp_trim_one(struct sp_pool *pool, bool synchronized, uint64_t *released) {
    if (synchronized && !sp_retain_has_delay(pool)) // else it was noted at once
        make_ready(pool);
    uint64_t before = sp_load_relaxed(&pool->reserved);
    struct sp_outcome outcome = trim_mapping(pool, NULL, sp_victims_choose_one);
    *released = before - sp_load_relaxed(&pool->reserved);
    return outcome;
}

size_t sp_trim_releasable(struct sp_pool *pool) {
    sp_end_gone_contexts(NULL);
    sp_collect_all(pool);
    sp_pool_begin_mapping(pool);
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool);
    size_t sum = sp_free_extents_ready_bytes(pool);
    sp_lock_release(&pool->lock);
    sp_pool_end_mapping(pool);
    return sum;
}

bool sp_trim_make_room(struct sp_pool *pool, size_t bytes) {
    return sp_trim_releasable(pool) >= bytes && sp_is_done(sp_trim_by(pool, bytes));
}
