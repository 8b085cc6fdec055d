#include "simcuda/live.h"

#include <inttypes.h>

#include "simcuda/address.h"
#include "simcuda/allocation.h"
#include "simcuda/capture.h"
#include "simcuda/context.h"
#include "simcuda/event.h"
#include "simcuda/kernel.h"
#include "simcuda/mapping.h"
#include "simcuda/pinned.h"
#include "simcuda/report.h"
#include "simcuda/stream.h"

static void count_extents(simcudaLive *live) {
    SP_LIST_FOR_EACH(link, &sim_extents) {
        const struct sim_extent *extent = SP_CONTAINER_OF(link, struct sim_extent, link);
        live->extents += extent->kind == SIM_EXTENT_OF_HANDLE;
        live->handles += extent->handle != 0;
    }
}

void sim_live_count(simcudaLive *live) {
    *live = (simcudaLive){
        .contexts = sim_context_count(),
        .streams = sim_stream_count(),
        .events = sim_event_count(),
        .modules = sim_kernel_module_count(),
        .graphs = sim_graph_count(),
        .allocations = sim_allocation_count(),
        .pinned = sim_pinned_count(),
        .ranges = sim_range_count(),
        .mappings = sim_mapping_count() - sim_allocation_count(),
    };
    count_extents(live);
}

static void report_extents(void) {
    SP_LIST_FOR_EACH(link, &sim_extents) {
        const struct sim_extent *extent = SP_CONTAINER_OF(link, struct sim_extent, link);
        if (extent->handle)
            sim_report(simcudaReport_leak,
                       "memory handle 0x%llx of %" PRIu64 " bytes on device %d, %" PRIu64
                       " mappings",
                       extent->handle, extent->size, extent->device, extent->mappings);
    }
}

static void report_mappings(void) {
    SP_LIST_FOR_EACH(link, &sim_mappings) {
        const struct sim_mapping *mapping = SP_CONTAINER_OF(link, struct sim_mapping, link);
        sim_report(simcudaReport_leak, "%s [0x%" PRIx64 ", 0x%" PRIx64 ") on device %d",
                   mapping->extent->kind == SIM_EXTENT_OF_HANDLE ? "mapping" : "allocation",
                   mapping->address, mapping->address + mapping->valid, mapping->extent->device);
    }
}

static void report_ranges(void) {
    for (size_t i = 0; i < sim_range_count(); i++) {
        struct sim_range range = sim_range_at(i);
        sim_report(simcudaReport_leak, "address range [0x%" PRIx64 ", 0x%" PRIx64 ")", range.begin,
                   range.begin + range.size);
    }
}

static void report_count(const char *what, uint64_t count) {
    for (uint64_t i = 1; i <= count; i++)
        sim_report(simcudaReport_leak, "%s, %" PRIu64 " of %" PRIu64, what, i, count);
}

uint64_t sim_live_check(void) {
    simcudaLive live;
    sim_live_count(&live);
    report_extents();
    report_mappings();
    report_ranges();
    report_count("stream", live.streams);
    report_count("event", live.events);
    report_count("module", live.modules);
    report_count("graph", live.graphs);
    report_count("pinned host memory", live.pinned);
    return live.handles + live.mappings + live.allocations + live.ranges + live.streams +
           live.events + live.modules + live.graphs + live.pinned;
}
