#include "simcuda/live.h"

#include <inttypes.h>

#include "simcuda/address.h"
#include "simcuda/allocation.h"
#include "simcuda/capture.h"
#include "simcuda/context.h"
#include "simcuda/event.h"
#include "simcuda/mapping.h"
#include "simcuda/module.h"
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
        .modules = sim_module_count(),
        .graphs = sim_graph_count(),
        .allocations = sim_allocation_count(),
        .pinned = sim_pinned_count(),
        .registered = sim_pinned_count_of_registered(),
        .ranges = sim_range_count(),
        .mappings = sim_mapping_count() - sim_allocation_count(),
    };
    count_extents(live);
}

static bool counts(enum sim_live_whose whose, bool is_of_library) {
    return whose == SIM_LIVE_ALL || !is_of_library;
}

static uint64_t report_extents(enum sim_live_whose whose) {
    uint64_t count = 0;
    SP_LIST_FOR_EACH(link, &sim_extents) {
        const struct sim_extent *extent = SP_CONTAINER_OF(link, struct sim_extent, link);
        if (!extent->handle || !counts(whose, extent->is_of_library))
            continue;
        sim_report(simcudaReport_leak,
                   "memory handle 0x%llx of %" PRIu64 " bytes on device %d, %" PRIu64 " mappings",
                   extent->handle, extent->size, extent->device, extent->mappings);
        count++;
    }
    return count;
}

static uint64_t report_mappings(enum sim_live_whose whose) {
    uint64_t count = 0;
    SP_LIST_FOR_EACH(link, &sim_mappings) {
        const struct sim_mapping *mapping = SP_CONTAINER_OF(link, struct sim_mapping, link);
        if (!counts(whose, mapping->extent->is_of_library))
            continue;
        sim_report(simcudaReport_leak, "%s [0x%" PRIx64 ", 0x%" PRIx64 ") on device %d",
                   mapping->extent->kind == SIM_EXTENT_OF_HANDLE ? "mapping" : "allocation",
                   mapping->address, mapping->address + mapping->valid, mapping->extent->device);
        count++;
    }
    return count;
}

static uint64_t report_ranges(enum sim_live_whose whose) {
    uint64_t count = 0;
    for (size_t i = 0; i < sim_range_count(); i++) {
        struct sim_range range = sim_range_at(i);
        if (!counts(whose, range.is_of_library))
            continue;
        sim_report(simcudaReport_leak, "address range [0x%" PRIx64 ", 0x%" PRIx64 ")", range.begin,
                   range.begin + range.size);
        count++;
    }
    return count;
}

static uint64_t report_count(const char *what, uint64_t count) {
    for (uint64_t i = 1; i <= count; i++)
        sim_report(simcudaReport_leak, "%s, %" PRIu64 " of %" PRIu64, what, i, count);
    return count;
}

uint64_t sim_live_check(enum sim_live_whose whose) {
    bool all = whose == SIM_LIVE_ALL;
    uint64_t count = report_extents(whose);
    count += report_mappings(whose);
    count += report_ranges(whose);
    count += report_count("stream", sim_stream_count());
    count += report_count("event", sim_event_count() - (all ? 0 : sim_event_count_of_library()));
    count += report_count("module", sim_module_count());
    count += report_count("graph", sim_graph_count());
    count += report_count("pinned host memory",
                          sim_pinned_count() - (all ? 0 : sim_pinned_count_of_library()));
    count += report_count("registered host memory", sim_pinned_count_of_registered());
    return count;
}
