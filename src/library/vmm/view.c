#include "vmm/view.h"

#include "base/log.h"
#include "base/number.h"
#include "base/page_map.h"

#include <assert.h>
#include <stdlib.h>

static struct sp_extent *extent_of(const struct sp_tree_node *node) {
    return node ? SP_CONTAINER_OF(node, struct sp_extent, by_address) : NULL;
}

static int compare_extents(const struct sp_tree_node *a, const struct sp_tree_node *b) {
    return sp_compare(extent_of(a)->address, extent_of(b)->address);
}

static int compare_address(const void *address, const struct sp_tree_node *node) {
    return sp_compare(*(const CUdeviceptr *)address, extent_of(node)->address);
}

static bool is_plain(const struct sp_view *view) {
    return view->provider->get != NULL;
}

// ----------------------------------------------------------------------------------- plain memory

// Gets memory for the view, whose base is 0 after a failure.
static struct sp_outcome get(struct sp_view *view, size_t size) {
    struct sp_plain *plain = &view->plain;
    plain->size = size;
    struct sp_outcome outcome = view->provider->get(view->space->device, &plain->base, size);
    if (!sp_is_done(outcome))
        plain->base = 0;
    return outcome;
}

static struct sp_outcome give(struct sp_view *view) {
    struct sp_outcome outcome = view->provider->give(view->plain.base, view->plain.size);
    view->plain.base = 0;
    return outcome;
}

// Gets memory that begins with a page, or has a page more than is needed. Mostly the driver's
// addresses are multiples of 2 MiB for sizes that are.
static struct sp_outcome get_pages(struct sp_view *view, size_t size) {
    struct sp_outcome outcome = get(view, size);
    if (!sp_is_done(outcome) || view->plain.base % SP_PAGE_SIZE == 0)
        return outcome;
    outcome = give(view);
    return sp_is_done(outcome) ? get(view, size + SP_PAGE_SIZE) : outcome;
}

// Gets memory at addresses that the page map doesn't hold for lost memory. A piece that lies there
// is given back only in the end, so that the next one lies elsewhere.
static struct sp_outcome get_elsewhere(struct sp_view *view, size_t size) {
    struct sp_plain *aside = NULL;
    size_t count = 0;
    struct sp_outcome outcome = get_pages(view, size);
    while (sp_is_done(outcome) &&
           sp_page_map_holds_any(sp_round_up(view->plain.base, SP_PAGE_SIZE), size)) {
        struct sp_plain *longer = realloc(aside, (count + 1) * sizeof *longer);
        if (longer) {
            aside = longer;
            aside[count++] = view->plain;
            outcome = get_pages(view, size);
        } else {
            give(view);
            outcome = sp_outcome_of(SP_NO_HOST_MEMORY);
        }
    }
    for (; count > 0; count--)
        view->provider->give(aside[count - 1].base, aside[count - 1].size);
    free(aside);
    return outcome;
}

// Makes the context current, and lets captures be, for a call that gets memory or gives it back:
// cuMemFree waits for all work of the device, cuMemAlloc may, and a capture forbids both.
static struct sp_outcome enter(CUcontext context, CUstreamCaptureMode *mode) {
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuCtxPushCurrent(context), "cuCtxPushCurrent");
    *mode = CU_STREAM_CAPTURE_MODE_RELAXED;
    if (sp_is_done(outcome))
        sp_driver->cuThreadExchangeStreamCaptureMode(mode);
    return outcome;
}

static void leave(CUstreamCaptureMode mode) {
    CUcontext popped;
    sp_driver->cuThreadExchangeStreamCaptureMode(&mode);
    sp_driver->cuCtxPopCurrent(&popped);
}

// Gives the view's memory back, unless it is lost: then its address may be somebody else's by now.
// The page map comes first, as the driver may give the address of free memory to anybody, another
// pool too. To hold it again needs no memory, so that after a failure everything is as it was.
static struct sp_outcome give_plain(struct sp_view *view) {
    struct sp_plain *plain = &view->plain;
    CUstreamCaptureMode mode;
    sp_page_map_drop(view->address, view->size);
    struct sp_outcome outcome = plain->lost ? sp_outcome_done() : enter(plain->context, &mode);
    if (!plain->lost && sp_is_done(outcome)) {
        outcome = view->provider->give(plain->base, plain->size);
        leave(mode);
    }
    if (plain->lost && view->provider->forget)
        view->provider->forget(plain->base, plain->size);
    if (sp_is_done(outcome))
        plain->base = 0;
    else
        sp_page_map_hold(view->address, view->size);
    return outcome;
}

// ------------------------------------------------------------------------------------------- views

static void init(struct sp_view *view, struct sp_space *space,
                 const struct sp_vmm_provider *provider) {
    *view = (struct sp_view){.space = space, .provider = provider};
    sp_tree_init(&view->extents, compare_extents);
    sp_list_init(&view->stuck);
}

struct sp_outcome sp_view_open(struct sp_view *view, struct sp_space *space,
                               enum sp_span_place place, size_t least, size_t wanted,
                               CUmemAllocationHandleType handle_types, enum sp_view_use use) {
    init(view, space, &sp_vmm_virtual);
    view->handle_types = handle_types;
    view->use = use;
    return sp_space_take(space, place, least, wanted, &view->address, &view->size);
}

struct sp_outcome sp_view_open_plain(struct sp_view *view, struct sp_space *space,
                                     CUcontext context, uint64_t context_id, size_t size) {
    CUstreamCaptureMode mode;
    init(view, space, sp_vmm_provider(space->device));
    view->plain.context = context;
    view->plain.context_id = context_id;
    view->size = size;
    struct sp_outcome outcome = enter(context, &mode);
    if (!sp_is_done(outcome))
        return outcome;
    outcome = get_elsewhere(view, size);
    view->address = sp_round_up(view->plain.base, SP_PAGE_SIZE);
    if (sp_is_done(outcome) && !sp_page_map_hold(view->address, size)) {
        give(view);
        outcome = sp_outcome_of(SP_NO_HOST_MEMORY);
    }
    leave(mode);
    return outcome;
}

// The steps that take an extent's memory, each of which may be done already.
static struct sp_outcome release_handle(struct sp_extent *extent) {
    if (extent->handle_released)
        return sp_outcome_done();
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuMemRelease(extent->handle), "cuMemRelease");
    extent->handle_released = sp_is_done(outcome);
    return outcome;
}

static struct sp_outcome unmap_memory(struct sp_extent *extent) {
    if (!extent->mapped)
        return sp_outcome_done();
    struct sp_outcome outcome =
        sp_outcome_of_driver(sp_driver->cuMemUnmap(extent->address, extent->size), "cuMemUnmap");
    extent->mapped = !sp_is_done(outcome);
    return outcome;
}

static struct sp_outcome unmap_extent(struct sp_extent *extent) {
    struct sp_outcome outcome = release_handle(extent);
    return sp_is_done(outcome) ? unmap_memory(extent) : outcome;
}

struct sp_outcome sp_view_unmap_stuck(struct sp_view *view) {
    SP_LIST_FOR_EACH_SAFE(link, &view->stuck) {
        struct sp_extent *extent = SP_CONTAINER_OF(link, struct sp_extent, stuck);
        struct sp_outcome outcome = unmap_extent(extent);
        if (!sp_is_done(outcome))
            return outcome;
        sp_list_remove(link);
        free(extent);
    }
    return sp_outcome_done();
}

size_t sp_view_extend(struct sp_view *view, size_t least, size_t wanted) {
    size_t more = sp_space_extend(view->space, view->address + view->size, least, wanted);
    view->size += more;
    return more;
}

void sp_view_shrink(struct sp_view *view, size_t size) {
    sp_space_give(view->space, view->address + size, view->size - size, false);
    view->size = size;
}

void sp_view_close(struct sp_view *view) {
    if (is_plain(view)) {
        if (view->plain.base != 0 && !sp_is_done(give_plain(view)))
            sp_log_warn("%zu MiB of device memory are lost: the driver doesn't take them back",
                        view->size >> 20);
        if (view->plain.left != 0)
            view->provider->forget(view->plain.left, view->plain.size);
        return;
    }
    if (sp_is_done(sp_view_unmap_stuck(view))) {
        sp_space_give(view->space, view->address, view->size, true);
        return;
    }
    sp_log_warn("%zu MiB of address space are lost: the driver doesn't unmap what is there",
                view->size >> 20);
    struct sp_list *link;
    while ((link = sp_list_pop_front(&view->stuck)))
        free(SP_CONTAINER_OF(link, struct sp_extent, stuck));
}

// The steps that give an extent memory, likewise, and its access.
static struct sp_outcome make_resident(struct sp_view *view, struct sp_extent *extent) {
    const struct sp_vmm_device *device = view->space->device;
    struct sp_outcome outcome = sp_outcome_done();
    if (extent->handle_released) {
        CUmemAllocationProp prop = sp_vmm_device_prop(device, view->handle_types);
        prop.allocFlags.gpuDirectRDMACapable = view->use == SP_VIEW_RDMA && device->rdma;
        outcome = sp_outcome_of_driver(
            sp_driver->cuMemCreate(&extent->handle, extent->size, &prop, 0), "cuMemCreate");
        extent->handle_released = !sp_is_done(outcome);
    }
    if (sp_is_done(outcome) && !extent->mapped) {
        outcome = sp_outcome_of_driver(
            sp_driver->cuMemMap(extent->address, extent->size, 0, extent->handle, 0), "cuMemMap");
        extent->mapped = sp_is_done(outcome);
    }
    return sp_is_done(outcome) ? sp_access_give(view->access, device, extent->address, extent->size)
                               : outcome;
}

// After a failure the extent is stuck, or nothing of it is left.
static struct sp_outcome map_extent(struct sp_view *view, struct sp_extent *extent) {
    if (is_plain(view)) {
        extent->mapped = true;
        return sp_outcome_done();
    }
    extent->handle_released = true; // it has none yet
    struct sp_outcome outcome = make_resident(view, extent);
    if (!sp_is_done(outcome) && !sp_is_done(unmap_extent(extent)))
        sp_list_push_back(&view->stuck, &extent->stuck);
    return outcome;
}

static void show(struct sp_view *view, struct sp_extent *extent) {
    sp_space_note_extent(view->space, &extent->in_space, extent->address, extent->size,
                         &extent->in_space);
    sp_page_map_set_begin(extent->address, true);
}

static void hide(struct sp_view *view, struct sp_extent *extent) {
    sp_page_map_set_begin(extent->address, false);
    sp_space_forget_extent(view->space, &extent->in_space);
}

struct sp_outcome sp_view_map(struct sp_view *view, CUdeviceptr address, size_t size) {
    struct sp_outcome outcome = sp_view_unmap_stuck(view);
    if (!sp_is_done(outcome))
        return outcome;
    assert(!is_plain(view) || (address == view->address && size == view->size));
    struct sp_extent *extent = calloc(1, sizeof *extent);
    if (!extent)
        return sp_outcome_of(SP_NO_HOST_MEMORY);
    sp_list_init(&extent->aliases);
    sp_list_init(&extent->stuck);
    extent->view = view;
    extent->address = address;
    extent->size = size;
    outcome = map_extent(view, extent);
    if (!sp_is_done(outcome)) {
        if (sp_list_empty(&extent->stuck))
            free(extent);
        return outcome;
    }
    sp_tree_insert(&view->extents, &extent->by_address);
    show(view, extent);
    view->mapped += size;
    return sp_outcome_done();
}

void sp_view_unmap_back(struct sp_view *view, CUdeviceptr address, size_t *mapped) {
    while (*mapped > 0) {
        struct sp_extent *last = sp_view_extent_at(view, address + *mapped - 1);
        size_t size = last->size;
        if (!sp_list_empty(&last->aliases) || !sp_is_done(sp_view_unmap(view, last)))
            return;
        *mapped -= size;
    }
}

struct sp_outcome sp_view_map_pieces(struct sp_view *view, CUdeviceptr address, size_t size,
                                     size_t piece, size_t last, size_t *mapped) {
    *mapped = 0;
    while (*mapped < size) {
        size_t left = size - *mapped, next = sp_min(left > last ? left - last : left, piece);
        struct sp_outcome outcome = sp_view_map(view, address + *mapped, next);
        if (!sp_is_done(outcome)) {
            sp_view_unmap_back(view, address, mapped);
            return outcome;
        }
        *mapped += next;
    }
    return sp_outcome_done();
}

// Once the driver has the memory, another thread may get it, and an extent of its own begins there.
// So this one is hidden before.
struct sp_outcome sp_view_give_plain(struct sp_view *view) {
    struct sp_extent *extent = sp_view_extent_from(view, 0);
    if (view->plain.base == 0)
        return sp_outcome_done();
    hide(view, extent);
    struct sp_outcome outcome = give_plain(view);
    if (!sp_is_done(outcome))
        show(view, extent);
    return outcome;
}

void sp_view_lose(struct sp_view *view) {
    struct sp_extent *extent = sp_view_extent_from(view, 0);
    if (extent && view->plain.base != 0)
        hide(view, extent);
    if (view->provider->forget) // the host may still use what is live
        view->plain.left = view->plain.base;
    view->plain.base = 0;
    if (!extent)
        return;
    sp_tree_remove(&view->extents, &extent->by_address);
    free(extent);
}

struct sp_outcome sp_view_unmap(struct sp_view *view, struct sp_extent *extent) {
    assert(sp_list_empty(&extent->aliases));
    struct sp_outcome outcome = is_plain(view) ? sp_view_give_plain(view) : unmap_extent(extent);
    if (!sp_is_done(outcome))
        return outcome;
    if (!is_plain(view))
        hide(view, extent);
    sp_tree_remove(&view->extents, &extent->by_address);
    view->mapped -= extent->size;
    free(extent);
    return sp_outcome_done();
}

// While the handle stands, what failed half way can be mapped again.
struct sp_outcome sp_view_evict(struct sp_extent *extent) {
    struct sp_outcome outcome = unmap_memory(extent);
    return sp_is_done(outcome) ? release_handle(extent) : outcome;
}

// An extent that is mapped without its handle, as a trim has failed, has its memory.
struct sp_outcome sp_view_make_resident(struct sp_extent *extent) {
    return extent->mapped && extent->handle_released ? sp_outcome_done()
                                                     : make_resident(extent->view, extent);
}

struct sp_extent *sp_view_extent_from(const struct sp_view *view, CUdeviceptr address) {
    return extent_of(sp_tree_lower_bound(&view->extents, &address, compare_address));
}

struct sp_extent *sp_view_extent_next(const struct sp_extent *extent) {
    return extent_of(sp_tree_next(&extent->by_address));
}

struct sp_extent *sp_view_extent_at(const struct sp_view *view, CUdeviceptr address) {
    struct sp_extent *above = sp_view_extent_from(view, address);
    if (above && above->address == address)
        return above;
    struct sp_extent *below =
        extent_of(above ? sp_tree_prev(&above->by_address) : sp_tree_last(&view->extents));
    return below && address - below->address < below->size ? below : NULL;
}
