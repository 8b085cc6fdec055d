#include "vmm/space.h"

#include "base/checked.h"
#include "base/log.h"
#include "base/page_map.h"

#include <stdlib.h>

#define MAX_RANGE ((size_t)16 << 40)

// A piece of address space: a free one, or a whole reserved range.
struct span {
    struct sp_list link;
    CUdeviceptr address;
    size_t size;
    CUdeviceptr range; // the start of the range that it lies in: spans are merged inside a range only
};

void sp_space_init(struct sp_space *space, const struct sp_vmm_device *device, size_t range_size) {
    sp_lock_init(&space->lock);
    space->device = device;
    sp_list_init(&space->ranges);
    sp_list_init(&space->free);
    if (range_size == 0 && !sp_checked_mul(device->total_memory, 16, &range_size))
        range_size = MAX_RANGE;
    if (range_size > MAX_RANGE)
        range_size = MAX_RANGE;
    if (!sp_checked_round_up(range_size, device->granule, &space->range_size) || space->range_size == 0)
        space->range_size = device->granule;
}

static struct span *span_of(struct sp_list *link) {
    return SP_CONTAINER_OF(link, struct span, link);
}

static struct span *new_span(CUdeviceptr address, size_t size, CUdeviceptr range) {
    struct span *span = malloc(sizeof *span);
    if (span) {
        sp_list_init(&span->link);
        span->address = address;
        span->size = size;
        span->range = range;
    }
    return span;
}

static bool adjacent(const struct span *low, const struct span *high) {
    return low->range == high->range && low->address + low->size == high->address;
}

// Merges `high` into `low` where they touch.
static void merge(struct span *low, struct span *high) {
    if (!adjacent(low, high))
        return;
    low->size += high->size;
    sp_list_remove(&high->link);
    free(high);
}

// Puts a span among the free ones, by address.
static void insert_free(struct sp_space *space, struct span *span) {
    struct sp_list *next = space->free.next;
    while (next != &space->free && span_of(next)->address < span->address)
        next = next->next;
    sp_list_push_back(next, &span->link);
    if (span->link.next != &space->free)
        merge(span, span_of(span->link.next));
    if (span->link.prev != &space->free)
        merge(span_of(span->link.prev), span);
}

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

// Reserves a range of space->range_size bytes, or as much less, halving, as the system gives; at least
// `least`.
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
    struct span *range = new_span(0, 0, 0);
    struct span *whole = new_span(0, 0, 0);
    CUresult error = CUDA_ERROR_OUT_OF_MEMORY;
    if (!range || !whole)
        goto free_spans;
    error = reserve_largest(space, least, &address, &size);
    if (error != CUDA_SUCCESS)
        goto free_spans;
    range->address = whole->address = range->range = whole->range = address;
    range->size = whole->size = size;
    sp_list_push_back(&space->ranges, &range->link);
    insert_free(space, whole);
    sp_log_info("device %d: reserved %zu MiB of address space", space->device->ordinal, size >> 20);
    return CUDA_SUCCESS;

free_spans:
    free(range);
    free(whole);
    return error;
}

static struct span *largest_free(const struct sp_space *space) {
    struct span *largest = NULL;
    SP_LIST_FOR_EACH(link, &space->free) {
        if (!largest || span_of(link)->size > largest->size)
            largest = span_of(link);
    }
    return largest;
}

// The first free span of `wanted` bytes, else the largest that has `least`.
static struct span *choose(const struct sp_space *space, size_t least, size_t wanted) {
    SP_LIST_FOR_EACH(link, &space->free) {
        if (span_of(link)->size >= wanted)
            return span_of(link);
    }
    struct span *largest = largest_free(space);
    return largest && largest->size >= least ? largest : NULL;
}

static CUresult take_locked(struct sp_space *space, size_t least, size_t wanted, CUdeviceptr *address,
                            size_t *size) {
    struct span *span = choose(space, least, wanted);
    if (!span) {
        CUresult error = add_range(space, least);
        if (error != CUDA_SUCCESS)
            return error;
        span = choose(space, least, wanted);
    }
    *size = span->size < wanted ? span->size : wanted;
    *address = span->address;
    span->address += *size;
    span->size -= *size;
    if (span->size == 0) {
        sp_list_remove(&span->link);
        free(span);
    }
    return CUDA_SUCCESS;
}

CUresult sp_space_take(struct sp_space *space, size_t least, size_t wanted, CUdeviceptr *address,
                       size_t *size) {
    sp_lock_acquire(&space->lock);
    CUresult error = take_locked(space, least, wanted, address, size);
    sp_lock_release(&space->lock);
    return error;
}

static CUdeviceptr range_of(const struct sp_space *space, CUdeviceptr address) {
    SP_LIST_FOR_EACH(link, &space->ranges) {
        const struct span *range = span_of(link);
        if (address - range->address < range->size)
            return range->address;
    }
    return 0;
}

void sp_space_give(struct sp_space *space, CUdeviceptr address, size_t size) {
    sp_lock_acquire(&space->lock);
    struct span *span = new_span(address, size, range_of(space, address));
    if (span)
        insert_free(space, span);
    else
        sp_log_warn("no host memory: %zu MiB of address space are lost", size >> 20);
    sp_lock_release(&space->lock);
}

static void free_spans(struct sp_list *list) {
    while (!sp_list_empty(list)) {
        struct span *span = span_of(sp_list_pop_front(list));
        free(span);
    }
}

void sp_space_close(struct sp_space *space) {
    SP_LIST_FOR_EACH(link, &space->ranges)
    sp_driver->cuMemAddressFree(span_of(link)->address, span_of(link)->size);
    free_spans(&space->ranges);
    free_spans(&space->free);
}
