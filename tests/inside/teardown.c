#include "inside/teardown.h"

#include <stdlib.h>
#include <string.h>

#include "inside/order.h"
#include "inside/page_map.h"
#include "inside/space.h"
#include "inside/worker.h"
#include "process/given_up.h"
#include "process/reclaim.h"
#include "process/runtime.h"
#include "region/device.h"
#include "region/segment.h"
#include "supply/defer.h"

static void unmap_view(struct sp_view *view) {
    struct sp_extent *extent = sp_view_extent_from(view, 0);
    while (extent) {
        struct sp_extent *next = sp_view_extent_next(extent);
        sp_view_unmap(view, extent);
        extent = next;
    }
}

static void unmap_segments(struct sp_pool *pool) {
    for (int kind = 0; kind < SP_REGION_COUNT; kind++) {
        SP_LIST_FOR_EACH(link, &pool->regions[kind].segments) {
            struct sp_segment *segment = SP_CONTAINER_OF(link, struct sp_segment, link);
            sp_segment_note_loss(segment);
            unmap_view(&segment->view);
        }
    }
}

static void destroy_slabs(struct sp_pool *pool) {
    SP_LIST_FOR_EACH(lane_link, &pool->lanes.list) {
        struct sp_lane *lane = SP_CONTAINER_OF(lane_link, struct sp_lane, link);
        for (; lane; lane = sp_load_relaxed(&lane->next_shelf)) {
            while (!sp_list_empty(&lane->owned_slabs)) {
                struct sp_list *link = sp_list_pop_front(&lane->owned_slabs);
                sp_slab_destroy(SP_CONTAINER_OF(link, struct sp_slab, owned_link));
            }
        }
    }
}

// A given-up pool waits for nothing any more.
static void take_out_of_walks(struct sp_pool *pool) {
    sp_lock_acquire(&pool->device->lock);
    if (!sp_given_up_claim_locked(pool))
        sp_device_relist_locked(pool, false);
    sp_lock_release(&pool->device->lock);
}

void inside_demolish(struct sp_pool *pool) {
    sp_handle_withdraw(pool, pool->handle);
    sp_defer_bury_at_end(pool);
    unmap_segments(pool);
    destroy_slabs(pool);
    take_out_of_walks(pool);
    sp_given_up_dispose(pool);
}

static void free_lane_tables(struct sp_lane_table *table) {
    while (table) {
        struct sp_lane_table *smaller = table->smaller;
        free(table);
        table = smaller;
    }
}

static void free_pool_structs(struct sp_device *device) {
    while (!sp_list_empty(&device->spare_pools)) {
        struct sp_pool *pool =
            SP_CONTAINER_OF(sp_list_pop_front(&device->spare_pools), struct sp_pool, listing.link);
        free_lane_tables(atomic_load(&pool->lane_table));
        free(pool);
    }
}

static void close_device(struct sp_device *device) {
    while (!sp_list_empty(&device->pools))
        inside_demolish(SP_CONTAINER_OF(device->pools.next, struct sp_pool, listing.link));
    free_pool_structs(device);
    inside_space_close(&device->space);
    struct sp_primary primary = device->primary; // its events and streams are closed later
    struct sp_device *next = sp_load_relaxed(&device->next_place);
    memset(device, 0, sizeof *device);
    device->primary = primary;
    sp_store_relaxed(&device->next_place, next);
}

// A place that is no device stays listed, as one that nobody looks for and that has no pools.
static void empty_place(struct sp_device *device) {
    sp_list_init(&device->held.lanes);
    sp_list_init(&device->pools);
    sp_list_init(&device->spare_pools);
    sp_list_init(&device->holders[SP_HOLDERS_IN_USE]);
    sp_list_init(&device->holders[SP_HOLDERS_GIVEN_UP]);
    sp_given_up_init(device);
}

static bool is_device(const struct sp_device *device) {
    return device >= sp_devices && device < sp_devices + SP_MAX_DEVICES;
}

void inside_teardown(void) {
    inside_worker_stop();
    inside_order_end_context_waits();
    struct sp_device *device = NULL;
    while ((device = sp_device_next(device))) {
        close_device(device);
        if (!is_device(device))
            empty_place(device);
    }
    inside_order_forget_events();
    inside_order_forget_streams();
    for (int ordinal = 0; ordinal < sp_device_count; ordinal++)
        inside_order_release_primary(&sp_devices[ordinal].primary, ordinal);
    inside_order_free_sentinels();
    inside_page_map_clear();
    sp_device_count = 0;
    atomic_store(&sp_reclaim_saw_synchronize, false);
    atomic_store(&sp_runtime_plain, false);
    atomic_store(&sp_runtime_started, false);
}
