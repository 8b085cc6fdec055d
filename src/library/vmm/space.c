#include "vmm/space.h"

#include "base/log.h"
#include "base/number.h"
#include "base/page_map.h"

#include <stdlib.h>

#define RANGE_MAX ((size_t)16 << 40)

// A free span is wide from this part of the device's memory on. A span is put in the middle of a
// free one that is as large as this many times that memory.
enum { WIDE_PART = 64, ROOM_TIMES = 4 };

static struct sp_space_extent *extent_of(const struct sp_tree_node *node) {
    return SP_CONTAINER_OF(node, struct sp_space_extent, by_address);
}

static int compare_extents(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return sp_compare(extent_of(a)->address, extent_of(b)->address);
}

void sp_space_init(struct sp_space *space, const struct sp_vmm_device *device, size_t range_size) {
    sp_lock_init(&space->lock);
    space->device = device;
    sp_list_init(&space->ranges);
    sp_spans_init(&space->free, device->total_memory / WIDE_PART);
    if (range_size == 0 && !sp_checked_mul(device->total_memory, 16, &range_size))
        range_size = RANGE_MAX;
    range_size = sp_min(range_size, RANGE_MAX);
    if (!sp_checked_round_up(range_size, device->granule, &space->range_size) ||
        space->range_size == 0)
        space->range_size = device->granule;
    sp_lock_init(&space->finding);
    sp_tree_init(&space->extents, compare_extents);
}

// ----------------------------------------------------------------------------------------- ranges

// Reserves a range of space->range_size bytes and its part of the page map, both or neither. Where
// the system refuses, it tries half as many again and again, down to `least`.
static struct sp_outcome reserve_largest(const struct sp_space *space, size_t least,
                                         CUdeviceptr *address, size_t *size) {
    size_t granule = space->device->granule;
    *size = sp_max(space->range_size, least);
    for (;;) {
        struct sp_outcome outcome = sp_outcome_of_driver(
            sp_driver->cuMemAddressReserve(address, *size, granule, 0, 0), "cuMemAddressReserve");
        if (sp_is_done(outcome) && !sp_page_map_add(*address, *size)) {
            (void)sp_outcome_of_driver(sp_driver->cuMemAddressFree(*address, *size),
                                       "cuMemAddressFree");
            outcome = sp_outcome_of(SP_NO_HOST_MEMORY);
        }
        if (sp_is_done(outcome) || *size == least)
            return outcome;
        *size = sp_max(sp_round_up(*size / 2, granule), least);
    }
}

static struct sp_outcome add_range(struct sp_space *space, size_t least) {
    CUdeviceptr address = 0;
    size_t size = 0;
    struct sp_span *range = malloc(sizeof *range);
    if (!range || !sp_spans_add_spare(&space->free)) {
        free(range);
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    }
    struct sp_outcome outcome = reserve_largest(space, least, &address, &size);
    if (!sp_is_done(outcome)) {
        free(range);
        sp_spans_drop_spare(&space->free);
        return outcome;
    }
    range->address = range->range = address;
    range->size = size;
    sp_list_push_back(&space->ranges, &range->link);
    sp_spans_insert(&space->free, sp_spans_use_spare(&space->free, address, size, address));
    sp_log_info("device %d: reserved %zu MiB of address space", space->device->ordinal, size >> 20);
    return sp_outcome_done();
}

// ----------------------------------------------------------------------------------------- taking

// Returns a free span with `wanted` bytes that suits the place; else the largest, if it has
// `least`; else null.
static struct sp_span *choose(const struct sp_space *space, enum sp_span_place place, size_t least,
                              size_t wanted) {
    struct sp_span *found = NULL;
    if (place != SP_SPAN_ROOMY)
        found = sp_spans_best_narrow(&space->free, wanted);
    if (!found && place == SP_SPAN_LOW)
        found = sp_spans_first_wide(&space->free, wanted);
    if (!found && place == SP_SPAN_HIGH)
        found = sp_spans_last_wide(&space->free, wanted);
    if (!found)
        found = sp_spans_largest(&space->free);
    return found && found->size >= least ? found : NULL;
}

// Returns at which offset of a free span `size` bytes of it are taken.
static size_t offset_in(const struct sp_space *space, const struct sp_span *span,
                        enum sp_span_place place, size_t size) {
    size_t granule = space->device->granule;
    if (place == SP_SPAN_HIGH)
        return span->size - size;
    bool has_room =
        span->size / ROOM_TIMES >= space->device->total_memory && span->size / 2 >= size;
    return place == SP_SPAN_ROOMY && has_room ? sp_round_down(span->size / 2, granule) : 0;
}

// Takes `size` bytes at an offset out of a free span. With an offset it needs a spare node.
static void cut_out(struct sp_spans *free, struct sp_span *span, size_t offset, size_t size) {
    struct sp_span *front = NULL;
    sp_spans_remove(free, span);
    if (offset > 0)
        front = sp_spans_use_spare(free, span->address, offset, span->range);
    span->address += offset + size;
    span->size -= offset + size;
    sp_spans_insert(free, span);
    if (front)
        sp_spans_insert(free, front);
}

struct sp_outcome sp_space_take(struct sp_space *space, enum sp_span_place place, size_t least,
                                size_t wanted, CUdeviceptr *address, size_t *size) {
    struct sp_outcome outcome = sp_outcome_of(SP_NO_HOST_MEMORY);
    sp_lock_acquire(&space->lock);
    if (sp_spans_add_spare(&space->free)) {
        struct sp_span *span = choose(space, place, least, wanted);
        outcome = span ? sp_outcome_done() : add_range(space, least);
        if (sp_is_done(outcome)) {
            span = span ? span : choose(space, place, least, wanted);
            *size = sp_min(span->size, wanted);
            size_t offset = offset_in(space, span, place, *size);
            *address = span->address + offset;
            cut_out(&space->free, span, offset, *size);
        } else {
            sp_spans_drop_spare(&space->free);
        }
    }
    sp_lock_release(&space->lock);
    return outcome;
}

// A span at the start of a range doesn't continue one of another range.
size_t sp_space_extend(struct sp_space *space, CUdeviceptr end, size_t least, size_t wanted) {
    size_t size = 0;
    sp_lock_acquire(&space->lock);
    struct sp_span *behind = sp_spans_from(&space->free, end);
    if (behind && behind->address == end && behind->range != end && behind->size >= least) {
        size = sp_min(behind->size, wanted);
        cut_out(&space->free, behind, 0, size);
    }
    sp_lock_release(&space->lock);
    return size;
}

// ----------------------------------------------------------------------------------------- giving

// Makes the bytes free. Where no free span touches them there is a spare node: fewer spans are free
// than could be.
static void give_locked(struct sp_space *space, CUdeviceptr address, size_t size) {
    CUdeviceptr range_of = 0;
    SP_LIST_FOR_EACH(link, &space->ranges) {
        const struct sp_span *range = sp_spans_at(link);
        if (address - range->address < range->size)
            range_of = range->address;
    }
    sp_spans_merge(&space->free, address, size, range_of);
}

void sp_space_give(struct sp_space *space, CUdeviceptr address, size_t size) {
    sp_lock_acquire(&space->lock);
    give_locked(space, address, size);
    sp_spans_drop_spare(&space->free);
    sp_lock_release(&space->lock);
}

void sp_space_give_end(struct sp_space *space, CUdeviceptr address, size_t size) {
    sp_lock_acquire(&space->lock);
    give_locked(space, address, size);
    sp_lock_release(&space->lock);
}

// ----------------------------------------------------------------------------------------- extents

void sp_space_note_extent(struct sp_space *space, struct sp_space_extent *extent,
                          CUdeviceptr address, size_t size, struct sp_space_extent *home) {
    extent->address = address;
    extent->size = size;
    extent->home = home;
    extent->held = 0;
    sp_lock_acquire(&space->finding);
    sp_tree_insert(&space->extents, &extent->by_address);
    sp_lock_release(&space->finding);
}

void sp_space_forget_extent(struct sp_space *space, struct sp_space_extent *extent) {
    sp_lock_acquire(&space->finding);
    sp_tree_remove(&space->extents, &extent->by_address);
    sp_lock_release(&space->finding);
}

// Leads to the first one of those that end behind the address.
static int compare_end(const void *address, const struct sp_tree_node *node) {
    return *(const CUdeviceptr *)address < extent_of(node)->address + extent_of(node)->size ? -1
                                                                                            : 1;
}

struct sp_space_extent *sp_space_extent_at_locked(struct sp_space *space, CUdeviceptr address) {
    struct sp_tree_node *node = sp_tree_lower_bound(&space->extents, &address, compare_end);
    return node && extent_of(node)->address <= address ? extent_of(node) : NULL;
}

bool sp_space_is_one_extent(struct sp_space *space, CUdeviceptr address, size_t size) {
    sp_lock_acquire(&space->finding);
    const struct sp_space_extent *extent = sp_space_extent_at_locked(space, address);
    bool is_one = extent && address + size <= extent->address + extent->size;
    sp_lock_release(&space->finding);
    return is_one;
}
