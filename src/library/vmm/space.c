#include "vmm/space.h"

#include "base/checked.h"
#include "base/log.h"
#include "base/page_map.h"

#include <stdlib.h>

#define MAX_RANGE ((size_t)16 << 40)

// A wide span has this part of the device's memory, and room is that many times as much.
enum { WIDE_PART = 64, ROOM_TIMES = 4 };

// A piece of address space: a free one, or a whole reserved range; or a spare node.
struct span {
    struct sp_tree_node by_address;
    struct sp_tree_node in_kind; // narrow or wide
    struct sp_list link;         // a range, or spare
    CUdeviceptr address;
    size_t size;
    // The start of the range that it lies in: spans are merged inside a range only.
    CUdeviceptr range;
};

// -------------------------------------------------------------------------------------- the orders

static struct span *by_address(const struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct span, by_address) : NULL;
}

static struct span *in_kind(const struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct span, in_kind) : NULL;
}

static int compare(uint64_t a, uint64_t b) {
    return a < b ? -1 : a > b;
}

static int compare_addresses(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return compare(by_address(a)->address, by_address(b)->address);
}

static int compare_wide(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return compare(in_kind(a)->address, in_kind(b)->address);
}

static int compare_narrow(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    int by_size = compare(in_kind(a)->size, in_kind(b)->size);
    return by_size ? by_size : compare_wide(a, b);
}

static int compare_address(const void *address, const struct sp_tree_node *node) {
    return compare(*(const CUdeviceptr *)address, by_address(node)->address);
}

static int compare_size(const void *size, const struct sp_tree_node *node) {
    return *(const size_t *)size <= in_kind(node)->size ? -1 : 1;
}

void sp_space_init(struct sp_space *space, const struct sp_vmm_device *device, size_t range_size) {
    sp_lock_init(&space->lock);
    space->device = device;
    space->wide_least = device->total_memory / WIDE_PART;
    sp_list_init(&space->ranges);
    sp_list_init(&space->spare);
    sp_tree_init(&space->by_address, compare_addresses);
    sp_tree_init(&space->narrow, compare_narrow);
    sp_tree_init(&space->wide, compare_wide);
    if (range_size == 0 && !sp_checked_mul(device->total_memory, 16, &range_size))
        range_size = MAX_RANGE;
    if (range_size > MAX_RANGE)
        range_size = MAX_RANGE;
    if (!sp_checked_round_up(range_size, device->granule, &space->range_size) ||
        space->range_size == 0)
        space->range_size = device->granule;
}

// ------------------------------------------------------------------------------- nodes, free spans

static bool add_spare(struct sp_space *space) {
    struct span *span = malloc(sizeof *span);
    if (!span)
        return false;
    sp_list_push_front(&space->spare, &span->link);
    return true;
}

static struct span *span_at(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct span, link);
}

static struct span *take_spare(struct sp_space *space, CUdeviceptr address, size_t size,
                               CUdeviceptr range) {
    struct span *span = span_at(sp_list_pop_front(&space->spare));
    span->address = address;
    span->size = size;
    span->range = range;
    return span;
}

static void drop_spare(struct sp_space *space) {
    free(span_at(sp_list_pop_front(&space->spare)));
}

static struct sp_tree *kind_of(struct sp_space *space, const struct span *span) {
    return span->size >= space->wide_least ? &space->wide : &space->narrow;
}

static void insert(struct sp_space *space, struct span *span) {
    sp_tree_insert(&space->by_address, &span->by_address);
    sp_tree_insert(kind_of(space, span), &span->in_kind);
}

// Out of the trees, and changed by the caller.
static void extract(struct sp_space *space, struct span *span) {
    sp_tree_remove(&space->by_address, &span->by_address);
    sp_tree_remove(kind_of(space, span), &span->in_kind);
}

// Back into the trees, or among the spare ones if nothing is left of it.
static void settle(struct sp_space *space, struct span *span) {
    if (span->size > 0)
        insert(space, span);
    else
        sp_list_push_front(&space->spare, &span->link);
}

static bool adjacent(const struct span *low, const struct span *high) {
    return low && high && low->range == high->range && low->address + low->size == high->address;
}

// ---------------------------------------------------------------------- ranges

// Reserves a range and its part of the page map: both or neither.
static CUresult reserve(size_t granule, CUdeviceptr *address, size_t size) {
    CUresult error = sp_driver->cuMemAddressReserve(address, size, granule, 0, 0);
    if (error != CUDA_SUCCESS)
        return error;
    if (sp_page_map_add(*address, size))
        return CUDA_SUCCESS;
    sp_driver->cuMemAddressFree(*address, size);
    return CUDA_ERROR_OUT_OF_MEMORY;
}

// Reserves a range of space->range_size bytes, or as much less, halving, as the system gives; at
// least `least`.
static CUresult reserve_largest(const struct sp_space *space, size_t least, CUdeviceptr *address,
                                size_t *size) {
    size_t granule = space->device->granule;
    *size = space->range_size > least ? space->range_size : least;
    for (;;) {
        CUresult error = reserve(granule, address, *size);
        if (error == CUDA_SUCCESS)
            return CUDA_SUCCESS;
        if (*size == least) {
            sp_native_error_note(error, "cuMemAddressReserve");
            return error;
        }
        *size = sp_round_up(*size / 2, granule);
        if (*size < least)
            *size = least;
    }
}

static CUresult add_range(struct sp_space *space, size_t least) {
    CUdeviceptr address = 0;
    size_t size = 0;
    struct span *range = malloc(sizeof *range);
    if (!range || !add_spare(space)) {
        free(range);
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    CUresult error = reserve_largest(space, least, &address, &size);
    if (error != CUDA_SUCCESS) {
        free(range);
        drop_spare(space);
        return error;
    }
    range->address = range->range = address;
    range->size = size;
    sp_list_push_back(&space->ranges, &range->link);
    insert(space, take_spare(space, address, size, address));
    sp_log_info("device %d: reserved %zu MiB of address space", space->device->ordinal, size >> 20);
    return CUDA_SUCCESS;
}

static CUdeviceptr range_of(const struct sp_space *space, CUdeviceptr address) {
    SP_LIST_FOR_EACH(link, &space->ranges) {
        const struct span *range = span_at(link);
        if (address - range->address < range->size)
            return range->address;
    }
    return 0;
}

// ---------------------------------------------------------------------- taking

static struct span *largest(const struct sp_space *space) {
    struct span *found = in_kind(sp_tree_last(&space->narrow));
    for (struct sp_tree_node *n = sp_tree_first(&space->wide); n; n = sp_tree_next(n)) {
        if (!found || in_kind(n)->size > found->size)
            found = in_kind(n);
    }
    return found;
}

static struct span *first_wide(const struct sp_space *space, size_t size) {
    struct sp_tree_node *node = sp_tree_first(&space->wide);
    while (node && in_kind(node)->size < size)
        node = sp_tree_next(node);
    return in_kind(node);
}

static struct span *last_wide(const struct sp_space *space, size_t size) {
    struct sp_tree_node *node = sp_tree_last(&space->wide);
    while (node && in_kind(node)->size < size)
        node = sp_tree_prev(node);
    return in_kind(node);
}

// A free span of `wanted` bytes where they are to be, else the largest that has `least`.
static struct span *choose(const struct sp_space *space, enum sp_span_place place, size_t least,
                           size_t wanted) {
    struct span *found = NULL;
    if (place != SP_SPAN_ROOMY)
        found = in_kind(sp_tree_lower_bound(&space->narrow, &wanted, compare_size));
    if (!found && place == SP_SPAN_LOW)
        found = first_wide(space, wanted);
    if (!found && place == SP_SPAN_HIGH)
        found = last_wide(space, wanted);
    if (!found)
        found = largest(space);
    return found && found->size >= least ? found : NULL;
}

// Where in a free span that is larger than what is taken.
static size_t offset_in(const struct sp_space *space, const struct span *span,
                        enum sp_span_place place, size_t size) {
    size_t granule = space->device->granule;
    if (place == SP_SPAN_HIGH)
        return span->size - size;
    bool has_room =
        span->size / ROOM_TIMES >= space->device->total_memory && span->size / 2 >= size;
    return place == SP_SPAN_ROOMY && has_room ? sp_round_down(span->size / 2, granule) : 0;
}

// The caller has seen to a spare node for what is left in front.
static void cut_out(struct sp_space *space, struct span *span, size_t offset, size_t size) {
    struct span *front = NULL;
    extract(space, span);
    if (offset > 0)
        front = take_spare(space, span->address, offset, span->range);
    span->address += offset + size;
    span->size -= offset + size;
    settle(space, span);
    if (front)
        insert(space, front);
}

static CUresult take_locked(struct sp_space *space, enum sp_span_place place, size_t least,
                            size_t wanted, CUdeviceptr *address, size_t *size) {
    struct span *span = choose(space, place, least, wanted);
    if (!span) {
        CUresult error = add_range(space, least);
        if (error != CUDA_SUCCESS)
            return error;
        span = choose(space, place, least, wanted);
    }
    *size = span->size < wanted ? span->size : wanted;
    size_t offset = offset_in(space, span, place, *size);
    *address = span->address + offset;
    cut_out(space, span, offset, *size);
    return CUDA_SUCCESS;
}

CUresult sp_space_take(struct sp_space *space, enum sp_span_place place, size_t least,
                       size_t wanted, CUdeviceptr *address, size_t *size) {
    CUresult error = CUDA_ERROR_OUT_OF_MEMORY;
    sp_lock_acquire(&space->lock);
    if (add_spare(space)) {
        error = take_locked(space, place, least, wanted, address, size);
        if (error != CUDA_SUCCESS)
            drop_spare(space);
    }
    sp_lock_release(&space->lock);
    return error;
}

static size_t extend_locked(struct sp_space *space, CUdeviceptr end, size_t least, size_t wanted) {
    struct span *behind =
        by_address(sp_tree_lower_bound(&space->by_address, &end, compare_address));
    if (!behind || behind->address != end || behind->range == end || behind->size < least)
        return 0; // no span that begins a range is behind one of that range
    size_t size = behind->size < wanted ? behind->size : wanted;
    cut_out(space, behind, 0, size);
    return size;
}

size_t sp_space_extend(struct sp_space *space, CUdeviceptr end, size_t least, size_t wanted) {
    sp_lock_acquire(&space->lock);
    size_t size = extend_locked(space, end, least, wanted);
    sp_lock_release(&space->lock);
    return size;
}

// ---------------------------------------------------------------------- giving

static struct span *free_behind(const struct sp_space *space, CUdeviceptr address) {
    return by_address(sp_tree_lower_bound(&space->by_address, &address, compare_address));
}

static struct span *free_before(const struct sp_space *space, const struct span *behind) {
    return by_address(behind ? sp_tree_prev(&behind->by_address)
                             : sp_tree_last(&space->by_address));
}

// What is free beside the bytes becomes one span with them. Where nothing is, there is a spare
// node: fewer spans are free than could be.
static void give_locked(struct sp_space *space, CUdeviceptr address, size_t size) {
    struct span given = {.address = address, .size = size, .range = range_of(space, address)};
    struct span *next = free_behind(space, address);
    struct span *prev = free_before(space, next);
    struct span *span = NULL;
    if (adjacent(&given, next)) {
        extract(space, next);
        given.size += next->size;
        span = next;
    }
    if (adjacent(prev, &given)) {
        extract(space, prev);
        given.address = prev->address;
        given.size += prev->size;
        if (span)
            sp_list_push_front(&space->spare, &span->link);
        span = prev;
    }
    if (!span)
        span = span_at(sp_list_pop_front(&space->spare));
    span->address = given.address;
    span->size = given.size;
    span->range = given.range;
    insert(space, span);
}

void sp_space_give(struct sp_space *space, CUdeviceptr address, size_t size) {
    sp_lock_acquire(&space->lock);
    give_locked(space, address, size);
    drop_spare(space);
    sp_lock_release(&space->lock);
}

void sp_space_give_end(struct sp_space *space, CUdeviceptr address, size_t size) {
    sp_lock_acquire(&space->lock);
    give_locked(space, address, size);
    sp_lock_release(&space->lock);
}

static bool check_locked(struct sp_space *space) {
    const struct span *prev = NULL;
    size_t count = 0, in_kinds = 0;
    for (struct sp_tree_node *n = sp_tree_first(&space->by_address); n; n = sp_tree_next(n)) {
        struct span *span = by_address(n);
        if (span->size == 0 || span->range != range_of(space, span->address) ||
            adjacent(prev, span) || (prev && prev->address + prev->size > span->address))
            return false;
        prev = span;
        count++;
    }
    for (struct sp_tree_node *n = sp_tree_first(&space->narrow); n; n = sp_tree_next(n))
        in_kinds += kind_of(space, in_kind(n)) == &space->narrow;
    for (struct sp_tree_node *n = sp_tree_first(&space->wide); n; n = sp_tree_next(n))
        in_kinds += kind_of(space, in_kind(n)) == &space->wide;
    return count == in_kinds && sp_tree_check(&space->by_address) &&
           sp_tree_check(&space->narrow) && sp_tree_check(&space->wide);
}

bool sp_space_check(struct sp_space *space) {
    sp_lock_acquire(&space->lock);
    bool in_order = check_locked(space);
    sp_lock_release(&space->lock);
    return in_order;
}

static void free_list(struct sp_list *list) {
    while (!sp_list_empty(list))
        free(span_at(sp_list_pop_front(list)));
}

void sp_space_close(struct sp_space *space) {
    struct sp_tree_node *node;
    SP_LIST_FOR_EACH(link, &space->ranges)
        sp_driver->cuMemAddressFree(span_at(link)->address, span_at(link)->size);
    while ((node = sp_tree_first(&space->by_address))) {
        struct span *span = by_address(node);
        extract(space, span);
        free(span);
    }
    free_list(&space->ranges);
    free_list(&space->spare);
}
