#include "vmm/space.h"

#include "base/log.h"
#include "base/number.h"
#include "base/page_map.h"

#include <stdlib.h>

#define RANGE_MAX ((size_t)16 << 40)

// A free span is wide from this part of the device's memory on. A span is put in the middle of a
// free one that is as large as this many times that memory.
enum { WIDE_PART = 64, ROOM_TIMES = 4 };

static struct sp_span *span_at(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct sp_span, link);
}

static struct sp_span *by_address(const struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct sp_span, by_address) : NULL;
}

static struct sp_span *in_kind(const struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct sp_span, in_kind) : NULL;
}

static struct sp_space_extent *extent_of(const struct sp_tree_node *node) {
    return SP_CONTAINER_OF(node, struct sp_space_extent, by_address);
}

static int compare_addresses(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return sp_compare(by_address(a)->address, by_address(b)->address);
}

static int compare_wide(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return sp_compare(in_kind(a)->address, in_kind(b)->address);
}

static int compare_narrow(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return sp_compare_pairs(in_kind(a)->size, in_kind(a)->address, in_kind(b)->size,
                            in_kind(b)->address);
}

static int compare_extents(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return sp_compare(extent_of(a)->address, extent_of(b)->address);
}

static int compare_address(const void *address, const struct sp_tree_node *node) {
    return sp_compare(*(const CUdeviceptr *)address, by_address(node)->address);
}

static int compare_size(const void *size, const struct sp_tree_node *node) {
    return sp_compare_pairs(*(const size_t *)size, 0, in_kind(node)->size, in_kind(node)->address);
}

void sp_space_init(struct sp_space *space, const struct sp_vmm_device *device, size_t range_size) {
    space->device = device;
    sp_list_init(&space->ranges);
    space->free.wide_least = device->total_memory / WIDE_PART;
    sp_list_init(&space->free.spare);
    sp_tree_init(&space->free.by_address, compare_addresses);
    sp_tree_init(&space->free.narrow, compare_narrow);
    sp_tree_init(&space->free.wide, compare_wide);
    if (range_size == 0 && !sp_checked_mul(device->total_memory, 16, &range_size))
        range_size = RANGE_MAX;
    range_size = sp_min(range_size, RANGE_MAX);
    if (!sp_checked_round_up(range_size, device->granule, &space->range_size) ||
        space->range_size == 0)
        space->range_size = device->granule;
    sp_tree_init(&space->extents, compare_extents);
}

// ------------------------------------------------------------------------------------- spare nodes

// Whoever has added enough spare nodes can put spans into the trees without a failure. False
// without host memory.
static bool add_spare(struct sp_spans *spans) {
    struct sp_span *span = malloc(sizeof *span);
    if (!span)
        return false;
    sp_list_push_front(&spans->spare, &span->link);
    return true;
}

static void drop_spare(struct sp_spans *spans) {
    free(span_at(sp_list_pop_front(&spans->spare)));
}

// Sets a spare node to a span that is in no tree.
static struct sp_span *use_spare(struct sp_spans *spans, CUdeviceptr address, size_t size,
                                 CUdeviceptr range) {
    struct sp_span *span = span_at(sp_list_pop_front(&spans->spare));
    span->address = address;
    span->size = size;
    span->range = range;
    return span;
}

// --------------------------------------------------------------------------------------- the trees

static struct sp_tree *kind_of(struct sp_spans *spans, const struct sp_span *span) {
    return span->size >= spans->wide_least ? &spans->wide : &spans->narrow;
}

// Puts a span that is in no tree into the trees, or makes its node spare if it has no bytes.
static void insert_span(struct sp_spans *spans, struct sp_span *span) {
    if (span->size == 0) {
        sp_list_push_front(&spans->spare, &span->link);
        return;
    }
    sp_tree_insert(&spans->by_address, &span->by_address);
    sp_tree_insert(kind_of(spans, span), &span->in_kind);
}

// Takes a span out of the trees; then its address and size may be changed.
static void remove_span(struct sp_spans *spans, struct sp_span *span) {
    sp_tree_remove(&spans->by_address, &span->by_address);
    sp_tree_remove(kind_of(spans, span), &span->in_kind);
}

// The first span that does not begin before an address.
static struct sp_span *span_from(const struct sp_spans *spans, CUdeviceptr address) {
    return by_address(sp_tree_lower_bound(&spans->by_address, &address, compare_address));
}

static bool adjacent(const struct sp_span *low, const struct sp_span *high) {
    return low && high && low->range == high->range && low->address + low->size == high->address;
}

// Makes a neighbour and the given piece one span, which is in no tree. The node becomes spare.
static void absorb(struct sp_spans *spans, struct sp_span *given, struct sp_span *neighbour) {
    remove_span(spans, neighbour);
    given->address = sp_min(given->address, neighbour->address);
    given->size += neighbour->size;
    sp_list_push_front(&spans->spare, &neighbour->link);
}

// Reserves a range of space->range_size bytes and its part of the page map, both or neither. Where
// the system refuses, it tries half as many again and again, down to `least`.
static struct sp_outcome add_range(struct sp_space *space, size_t least) {
    size_t granule = space->device->granule, size = sp_max(space->range_size, least);
    CUdeviceptr address = 0;
    struct sp_outcome outcome;
    struct sp_span *range = malloc(sizeof *range);
    if (!range || !add_spare(&space->free)) {
        free(range);
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    }
    for (;; size = sp_max(sp_round_up(size / 2, granule), least)) {
        outcome = sp_outcome_of_driver(
            sp_driver->cuMemAddressReserve(&address, size, granule, 0, 0), "cuMemAddressReserve");
        if (sp_is_done(outcome) && !sp_page_map_add(address, size)) {
            (void)sp_outcome_of_driver(sp_driver->cuMemAddressFree(address, size),
                                       "cuMemAddressFree");
            outcome = sp_outcome_of(SP_NO_HOST_MEMORY);
        }
        if (sp_is_done(outcome) || size == least)
            break;
    }
    if (!sp_is_done(outcome)) {
        free(range);
        drop_spare(&space->free);
        return outcome;
    }
    range->address = range->range = address;
    range->size = size;
    sp_list_push_back(&space->ranges, &range->link);
    insert_span(&space->free, use_spare(&space->free, address, size, address));
    sp_log_info("device %d: reserved %zu MiB of address space", space->device->ordinal, size >> 20);
    return sp_outcome_done();
}

// ----------------------------------------------------------------------------------------- taking

// Returns a free span with `wanted` bytes that suits the place: the best fit of the narrow ones, or
// the outermost wide one. Else the largest, the lowest among wide ones of one size, if it has
// `least`; else null.
static struct sp_span *choose(const struct sp_spans *free, enum sp_span_place place, size_t least,
                              size_t wanted) {
    bool is_high = place == SP_SPAN_HIGH;
    struct sp_tree_node *node = NULL;
    if (place != SP_SPAN_ROOMY) {
        node = sp_tree_lower_bound(&free->narrow, &wanted, compare_size);
        if (!node)
            node = is_high ? sp_tree_last(&free->wide) : sp_tree_first(&free->wide);
        while (node && in_kind(node)->size < wanted)
            node = is_high ? sp_tree_prev(node) : sp_tree_next(node);
    }
    struct sp_span *found = in_kind(node ? node : sp_tree_last(&free->narrow));
    for (node = node ? NULL : sp_tree_first(&free->wide); node; node = sp_tree_next(node)) {
        if (!found || in_kind(node)->size > found->size)
            found = in_kind(node);
    }
    return found && found->size >= least ? found : NULL;
}

// Takes `size` bytes at an offset out of a free span. With an offset it needs a spare node.
static void cut_out(struct sp_spans *free, struct sp_span *span, size_t offset, size_t size) {
    struct sp_span *front = NULL;
    remove_span(free, span);
    if (offset > 0)
        front = use_spare(free, span->address, offset, span->range);
    span->address += offset + size;
    span->size -= offset + size;
    insert_span(free, span);
    if (front)
        insert_span(free, front);
}

struct sp_outcome sp_space_take(struct sp_space *space, enum sp_span_place place, size_t least,
                                size_t wanted, CUdeviceptr *address, size_t *size) {
    const struct sp_vmm_device *device = space->device;
    struct sp_outcome outcome = sp_outcome_of(SP_NO_HOST_MEMORY);
    sp_lock_acquire(&space->lock);
    if (add_spare(&space->free)) {
        struct sp_span *span = choose(&space->free, place, least, wanted);
        outcome = span ? sp_outcome_done() : add_range(space, least);
        if (sp_is_done(outcome)) {
            span = span ? span : choose(&space->free, place, least, wanted);
            *size = sp_min(span->size, wanted);
            size_t half = sp_round_down(span->size / 2, device->granule);
            bool is_roomy = span->size / ROOM_TIMES >= device->total_memory && half >= *size;
            size_t offset = place == SP_SPAN_HIGH                ? span->size - *size
                            : place == SP_SPAN_ROOMY && is_roomy ? half
                                                                 : 0;
            *address = span->address + offset;
            cut_out(&space->free, span, offset, *size);
        } else {
            drop_spare(&space->free);
        }
    }
    sp_lock_release(&space->lock);
    return outcome;
}

// A span at the start of a range doesn't continue one of another range.
size_t sp_space_extend(struct sp_space *space, CUdeviceptr end, size_t least, size_t wanted) {
    size_t size = 0;
    sp_lock_acquire(&space->lock);
    struct sp_span *behind = span_from(&space->free, end);
    if (behind && behind->address == end && behind->range != end && behind->size >= least) {
        size = sp_min(behind->size, wanted);
        cut_out(&space->free, behind, 0, size);
    }
    sp_lock_release(&space->lock);
    return size;
}

// ----------------------------------------------------------------------------------------- giving

// Makes the bytes one span with the free ones that touch them in their range. Where none does there
// is a spare node: fewer spans are free than could be.
void sp_space_give(struct sp_space *space, CUdeviceptr address, size_t size, bool is_all) {
    struct sp_spans *free = &space->free;
    struct sp_span given = {.address = address, .size = size};
    sp_lock_acquire(&space->lock);
    SP_LIST_FOR_EACH_OF(const struct sp_span, range, link, &space->ranges) {
        if (address - range->address < range->size)
            given.range = range->address;
    }
    struct sp_span *next = span_from(free, address);
    struct sp_span *prev =
        by_address(next ? sp_tree_prev(&next->by_address) : sp_tree_last(&free->by_address));
    if (adjacent(&given, next))
        absorb(free, &given, next);
    if (adjacent(prev, &given))
        absorb(free, &given, prev);
    insert_span(free, use_spare(free, given.address, given.size, given.range));
    if (is_all)
        drop_spare(free);
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
