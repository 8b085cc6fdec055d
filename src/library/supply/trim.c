#include "supply/trim.h"

#include "base/log.h"
#include "base/number.h"
#include "base/thread.h"
#include "order/resolve.h"
#include "region/ask.h"
#include "region/collect.h"
#include "region/device.h"
#include "region/figures.h"
#include "region/find.h"
#include "region/refine.h"
#include "region/retain.h"
#include "region/segment.h"
#include "region/settle.h"
#include "region/stitch.h"
#include "supply/defer.h"

#include <stdlib.h>

// ---------------------------------------------------------------------------------------- choosing

// A victim is an extent that is to be released, with the block that stands for it while it is set
// aside.
struct victim {
    struct sp_block *block;
    struct sp_extent *extent;
    uint64_t map_back; // bytes to map anew at its start, in extents of `piece`
    uint64_t piece;
};

struct victims {
    struct victim *list;
    size_t count;
};

// A trim takes all extents that have to go, or as many as somebody else needs, or the first that
// would go.
enum aim { ALL, NEEDED, FIRST };

// Cuts an extent out of the ready block that it lies in. What stands before it and behind it stays
// ready, and all of the block without host memory.
static void set_aside(struct sp_pool *pool, struct sp_extent *extent, uint64_t map_back,
                      struct victims *victims) {
    const struct sp_segment *segment = SP_CONTAINER_OF(extent->view, struct sp_segment, view);
    struct sp_block *block = sp_chain_find(&segment->chain, extent->address);
    sp_tier_remove(block);
    sp_stitch_invalidate(extent);
    if (block->address < extent->address) {
        struct sp_block *before = block;
        block = sp_block_split(before, extent->address - before->address);
        sp_settle_insert(pool, before);
        if (!block)
            return;
    }
    struct sp_block *behind =
        block->size > extent->size ? sp_block_split(block, extent->size) : NULL;
    if (block->size > extent->size) {
        sp_settle_insert(pool, block);
    } else {
        victims->list[victims->count++] = (struct victim){block, extent, map_back, map_back};
        pool->retain.leaving += extent->size;
    }
    if (behind)
        sp_settle_insert(pool, behind);
}

static struct sp_extent *extent_of(struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct sp_extent, by_size) : NULL;
}

static int compare_extents(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    const struct sp_extent *left = SP_CONTAINER_OF(a, struct sp_extent, by_size);
    const struct sp_extent *right = SP_CONTAINER_OF(b, struct sp_extent, by_size);
    return sp_compare_pairs(left->size, left->rank, right->size, right->rank);
}

static int compare_size(const void *key, const struct sp_tree_node *node) {
    const struct sp_extent *extent = SP_CONTAINER_OF(node, struct sp_extent, by_size);
    return sp_compare_pairs(*(const uint64_t *)key, 0, extent->size, extent->rank);
}

// The extents among which one is chosen, while so many bytes are still to go. Where only one goes,
// the tree holds no more than the best so far: the worker chooses one at a time.
struct choice {
    struct sp_tree extents;
    size_t count; // of these
    uint64_t excess;
    bool is_of_one;
};

// Tells whether the first extent goes rather than the second: the largest goes of those that are no
// larger than the excess, and else the smallest. Among equal ones the last by rank (heap/block.h)
// goes, so that what is kept lies together.
static bool goes_before(const struct sp_extent *a, const struct sp_extent *b, uint64_t excess) {
    bool fits = a->size <= excess;
    if (fits != (b->size <= excess))
        return fits;
    return a->size != b->size ? (a->size > b->size) == fits : a->rank > b->rank;
}

static void add(void *context, const struct sp_block *block, struct sp_extent *extent) {
    struct choice *choice = context;
    struct sp_extent *kept = extent_of(sp_tree_first(&choice->extents));
    extent->rank = extent->address + block->chain->bias;
    if (choice->is_of_one && kept) {
        if (!goes_before(extent, kept, choice->excess))
            return;
        sp_tree_remove(&choice->extents, &kept->by_size);
        choice->count--;
    }
    choice->count++;
    sp_tree_insert(&choice->extents, &extent->by_size);
}

static struct sp_extent *last_of_at_most(const struct sp_tree *extents, uint64_t size) {
    uint64_t above = size + 1;
    struct sp_tree_node *larger = sp_tree_lower_bound(extents, &above, compare_size);
    return extent_of(larger ? sp_tree_prev(larger) : sp_tree_last(extents));
}

// Sets extents of `excess` bytes together aside, one by one as goes_before() says. What the last
// one has too much is mapped anew. Where that can't be, it stays, unless it is needed. Without host
// memory they are fewer, or none.
static void choose(struct sp_pool *pool, uint64_t excess, enum aim aim, struct victims *victims) {
    bool divides = sp_vmm_provider(&pool->device->vmm)->divides;
    struct choice choice = {.excess = excess, .is_of_one = aim == FIRST};
    struct sp_tree *extents = &choice.extents;
    sp_tree_init(extents, compare_extents);
    sp_free_extents_each_ready(pool, add, &choice);
    victims->list = malloc(choice.count * sizeof *victims->list);
    while (victims->list && excess > 0 && !sp_tree_empty(extents)) {
        struct sp_extent *extent = last_of_at_most(extents, excess);
        if (!extent && (divides || aim == NEEDED))
            extent = last_of_at_most(extents, extent_of(sp_tree_first(extents))->size);
        if (!extent)
            return;
        sp_tree_remove(extents, &extent->by_size);
        set_aside(pool, extent, divides ? sp_excess(extent->size, excess) : 0, victims);
        excess = sp_excess(excess, extent->size);
    }
}

// --------------------------------------------------------------------------------------- releasing

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
        sp_segment_insert_hole(block);
}

// Maps what is to be kept of an extent that was unmapped. Where the driver refuses, nothing is
// mapped, unless it doesn't unmap again what it has mapped: then the rest becomes a block of its
// own. Returns the bytes that are mapped.
static size_t map_back(struct sp_segment *segment, const struct victim *victim) {
    size_t mapped;
    struct sp_block *front = victim->block;
    sp_view_map_pieces(&segment->view, front->address, front->size, victim->piece, 0, &mapped);
    if (mapped == 0 || mapped == front->size)
        return mapped;
    sp_lock_acquire(&segment->pool->lock);
    struct sp_block *rest = sp_block_split(front, mapped);
    if (rest)
        put_locked(segment->pool, rest, false);
    else
        sp_log_warn("no host memory: %zu MiB of addresses are lost", (front->size - mapped) >> 20);
    sp_lock_release(&segment->pool->lock);
    return mapped;
}

// Releases an extent and maps its first `map_back` bytes anew, if there is host memory to tell them
// from the rest. A driver that refuses this leaves the pool with less than it might have kept.
static struct sp_outcome release(struct sp_pool *pool, const struct victim *victim) {
    uint64_t kept = victim->map_back;
    struct sp_segment *segment = sp_segment_of(victim->block);
    struct sp_block *front = victim->block, *rest = NULL;
    uint64_t size = victim->extent->size, mapped = 0;
    bool was_evicted = sp_view_is_evicted(victim->extent);
    if (kept > 0 && kept < size) {
        sp_lock_acquire(&pool->lock);
        rest = sp_block_split(front, kept);
        sp_lock_release(&pool->lock);
    }
    sp_vmm_device_begin_exchange(&pool->device->vmm, kept);
    struct sp_outcome outcome = unmap(segment, victim->extent);
    bool unmapped = sp_is_done(outcome);
    if (unmapped && front->size == kept)
        mapped = map_back(segment, victim);
    sp_vmm_device_end_taking(&pool->device->vmm, kept);
    sp_lock_acquire(&pool->lock);
    if (mapped < kept)
        pool->refine_rests = SP_REFINE_RESTS;
    pool->retain.leaving -= size;
    if (unmapped) {
        if (was_evicted)
            sp_subtract_relaxed(&pool->residency.bytes, size);
        pool->regions[segment->kind].mapped -= size - mapped;
        sp_figures_reserved_subtract(pool, size - mapped);
    }
    put_locked(pool, front, mapped > 0 || !unmapped);
    if (rest)
        put_locked(pool, rest, !unmapped);
    sp_lock_release(&pool->lock);
    sp_segment_tidy(segment);
    return outcome;
}

// An evicted pool gives nothing back up to its end: what is free of it goes, or becomes resident,
// with all else (calls/residency.c).
static bool is_evicted(const struct sp_pool *pool) {
    return sp_pool_residency(pool) == SP_EVICTED && !sp_load_acquire(&pool->destroyed);
}

bool sp_trim_refine(struct sp_request *request) {
    struct sp_pool *pool = request->pool;
    struct victim victim = {0};
    struct victims victims = {.list = &victim};
    uint64_t size, piece = sp_refine_size(request->size);
    sp_pool_begin_mapping(pool);
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool); // what has completed of the request's own stream
    struct sp_block *block = is_evicted(pool) ? NULL : sp_find_to_refine(request, &size);
    if (block && block->tier == &pool->regions[request->kind].ready) {
        const struct sp_view *view = &sp_segment_of(block)->view;
        struct sp_extent *last = sp_view_extent_at(view, block->address + request->size - 1);
        bool is_whole =
            last->address >= block->address && sp_block_end(block) - last->address >= last->size;
        if (is_whole && last->size >= SP_REFINE_COUNT * piece)
            set_aside(pool, last, last->size, &victims);
    }
    bool refines = victims.count > 0;
    if (refines)
        sp_in_flight_take(&pool->in_flight);
    sp_lock_release(&pool->lock);
    if (refines) {
        uint64_t begin = sp_time_now();
        victim.piece = piece;
        release(pool, &victim);
        sp_pool_add(pool, SP_STATISTIC_RemapTime, sp_time_now() - begin);
        sp_in_flight_put(&pool->in_flight);
    }
    sp_pool_end_mapping(pool);
    return refines;
}

// Releases what is ready down to `keep`, or, where that is null, to what a synchronise leaves.
// Works all of it off, whatever fails, and returns the first error. The map lock is held.
static struct sp_outcome release_mapping(struct sp_pool *pool, const size_t *keep, enum aim aim) {
    struct victims victims = {0};
    if (is_evicted(pool))
        return sp_outcome_done();
    sp_lock_acquire(&pool->lock);
    sp_settle_all(pool);
    uint64_t kept = keep ? *keep : sp_retain_at_synchronize(pool);
    uint64_t reserved = sp_load_relaxed(&pool->reserved);
    pool->refine_grown = 0;
    if (reserved > kept)
        choose(pool, reserved - kept, aim, &victims);
    sp_lock_release(&pool->lock);
    struct sp_outcome first = sp_outcome_done();
    for (size_t i = 0; i < victims.count; i++)
        first = sp_outcome_first(first, release(pool, &victims.list[i]));
    free(victims.list);
    return first;
}

// --------------------------------------------------------------------------------------- the trims

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
    bool any = false;
    for (struct sp_device *at = device; at; at = sp_device_next_place_sharing(device, at)) {
        struct sp_lock *gives = sp_trim_begin_giving(at);
        sp_trim_end_giving(gives);
        any = any || gives;
    }
    return any;
}

// An extent is at least a granule, so a pool with less unused than that has none to release, and
// keeps its slabs and quick lists. To sum up what very many lanes use takes longer than to collect
// what they have. Lost memory (region/segment.h) goes in pieces of any size.
static bool may_release(const struct sp_pool *pool) {
    return sp_load_relaxed(&pool->lost) > 0 || sp_pool_has_very_many_lanes(pool) ||
           sp_load_relaxed(&pool->reserved) >= sp_figures_used(pool) + pool->device->vmm.granule;
}

// Puts memory that a trim may release where the trim finds it. Pending memory may be of contexts
// that are gone, which nobody tells.
static void make_ready(struct sp_pool *pool) {
    sp_collect_all(pool);
    sp_lock_acquire(&pool->lock);
    bool pending = sp_settle_is_any_pending(pool);
    sp_lock_release(&pool->lock);
    if (pending)
        sp_end_gone_contexts(NULL);
}

static struct sp_outcome release_ready(struct sp_pool *pool, const size_t *keep, enum aim aim) {
    struct sp_lock *gives = sp_trim_begin_giving(pool->device);
    sp_pool_begin_mapping(pool);
    sp_lost_find(pool);
    uint64_t begin = sp_time_now();
    uint64_t before = sp_figures_resident(pool);
    struct sp_outcome outcome = release_mapping(pool, keep, aim);
    sp_pool_add(pool, SP_STATISTIC_BytesTrimmed, sp_excess(before, sp_figures_resident(pool)));
    sp_pool_add(pool, SP_STATISTIC_TrimTime, sp_time_now() - begin);
    sp_pool_end_mapping(pool);
    sp_trim_end_giving(gives);
    sp_defer_bury(pool); // views that have no memory any more
    return outcome;
}

// Memory in the lanes is dropped as it is put into tiers.
bool sp_trim_lost(struct sp_pool *pool) {
    uint64_t before = sp_load_relaxed(&pool->reserved);
    if (!sp_vmm_provider(&pool->device->vmm)->is_of_context)
        return false;
    struct sp_lock *gives = sp_trim_begin_giving(pool->device);
    sp_pool_begin_mapping(pool);
    sp_lost_find(pool);
    sp_pool_end_mapping(pool);
    sp_trim_end_giving(gives);
    if (sp_load_relaxed(&pool->lost) > 0)
        make_ready(pool);
    return sp_load_relaxed(&pool->reserved) < before;
}

static struct sp_outcome trim(struct sp_pool *pool, size_t keep, enum aim aim) {
    size_t rounded, buried;
    struct sp_outcome first = sp_defer_bury_all(pool, &buried);
    if (sp_load_relaxed(&pool->lost_whole) > 0) // of which nothing is reserved
        sp_trim_lost(pool);
    if (sp_checked_round_up(keep, pool->device->vmm.granule, &rounded) &&
        sp_load_relaxed(&pool->reserved) > rounded && may_release(pool)) {
        make_ready(pool);
        first = sp_outcome_first(first, release_ready(pool, &rounded, aim));
    }
    return first;
}

struct sp_outcome sp_trim_to(struct sp_pool *pool, size_t keep) {
    return trim(pool, keep, ALL);
}

struct sp_outcome sp_trim_by(struct sp_pool *pool, uint64_t bytes) {
    return trim(pool, sp_excess(sp_load_relaxed(&pool->reserved), bytes), NEEDED);
}

// The overflow goes first, and all of it that is free: what is kept is to be of the device.
struct sp_outcome sp_trim_for_program(struct sp_pool *pool, size_t keep) {
    struct sp_pool *overflow = sp_load_acquire(&pool->overflow);
    struct sp_outcome first = overflow ? sp_ask_current_context(overflow) : sp_outcome_done();
    if (overflow)
        first = sp_outcome_first(first, sp_trim_for_program(overflow, 0));
    sp_lock_acquire(&pool->lock);
    sp_retain_no_more_than(pool, keep);
    sp_lock_release(&pool->lock);
    sp_ask_lazy_lanes(pool, NULL, true); // one that can't be asked keeps what it freed
    return sp_outcome_first(first, sp_trim_to(pool, keep));
}

// An interval of the release delay ends, before what was in use is made ready, and another begins.
// Each synchronise counts for that, however soon the worker comes.
void sp_trim_at_synchronize(struct sp_pool *pool) {
    size_t buried;
    if (!sp_defer_serves(pool))
        sp_defer_bury_all(pool, &buried);
    bool delays = sp_retain_has_delay(pool);
    if (sp_load_relaxed(&pool->reserved) <= sp_retain_at_least(pool) ||
        !(may_release(pool) || delays))
        return;
    if (delays) {
        sp_lock_acquire(&pool->lock);
        sp_retain_end_interval(pool);
        sp_lock_release(&pool->lock);
        make_ready(pool);
        sp_lock_acquire(&pool->lock);
        sp_settle_all(pool);
        sp_retain_begin_interval(pool);
        sp_lock_release(&pool->lock);
    }
    if (sp_defer_trim(pool))
        return;
    if (!delays)
        make_ready(pool);
    release_ready(pool, NULL, ALL);
}

struct sp_outcome sp_trim_one(struct sp_pool *pool, bool synchronized, uint64_t *released) {
    if (synchronized && !sp_retain_has_delay(pool)) // else it was noted at once
        make_ready(pool);
    uint64_t before = sp_load_relaxed(&pool->reserved);
    struct sp_outcome outcome = release_mapping(pool, NULL, FIRST);
    *released = before - sp_load_relaxed(&pool->reserved);
    return outcome;
}

size_t sp_trim_releasable(struct sp_pool *pool) {
    if (sp_pool_residency(pool) == SP_EVICTED)
        return 0;
    make_ready(pool);
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
