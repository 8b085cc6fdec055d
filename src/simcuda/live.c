#include "simcuda/live.h"

#include <inttypes.h>
#include <stdio.h>

#include "simcuda/kernel/module.h"
#include "simcuda/memory/address.h"
#include "simcuda/memory/allocation.h"
#include "simcuda/memory/block.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/memory/pinned.h"
#include "simcuda/queue/capture.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/stream.h"
#include "simcuda/report/report.h"
#include "simcuda/work/event.h"

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
        .allocations = sim_allocation_count() - sim_allocation_count_of_managed(),
        .managed = sim_allocation_count_of_managed(),
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

#define PLACE_TEXT 40

// Says where memory is.
static const char *place_text(const struct sim_extent *extent, char text[PLACE_TEXT]) {
    if (sim_extent_is_of_host(extent))
        snprintf(text, PLACE_TEXT, "of the host, node %d,", extent->node);
    else
        snprintf(text, PLACE_TEXT, "of device %d", extent->device);
    return text;
}

static uint64_t report_extents(enum sim_live_whose whose) {
    char place[PLACE_TEXT];
    uint64_t count = 0;
    SP_LIST_FOR_EACH(link, &sim_extents) {
        const struct sim_extent *extent = SP_CONTAINER_OF(link, struct sim_extent, link);
        if (!extent->handle || !counts(whose, extent->is_of_library))
            continue;
        sim_report_state(simcudaReport_leak,
                         "memory of %" PRIu64
                         " bytes %s from cuMemCreate, handle 0x%llx, "
                         "was never released; it has %" PRIu64 " mappings",
                         extent->size, place_text(extent, place), extent->handle, extent->mappings);
        count++;
    }
    return count;
}

static const char *call_text(const struct sim_extent *extent) {
    if (extent->kind == SIM_EXTENT_OF_HANDLE)
        return "cuMemMap";
    return sim_extent_is_managed(extent) ? "cuMemAllocManaged" : "cuMemAlloc";
}

static uint64_t report_mappings(enum sim_live_whose whose) {
    char place[PLACE_TEXT];
    uint64_t count = 0;
    SP_LIST_FOR_EACH(link, &sim_mappings) {
        const struct sim_mapping *mapping = SP_CONTAINER_OF(link, struct sim_mapping, link);
        bool is_mapped = mapping->extent->kind == SIM_EXTENT_OF_HANDLE;
        bool is_block = !is_mapped && sim_block_begins_at(mapping->address);
        if (!counts(whose, mapping->extent->is_of_library) || is_block)
            continue;
        sim_report_state(
            simcudaReport_leak, "memory [0x%" PRIx64 ", 0x%" PRIx64 ") %s from %s was never %s",
            mapping->address, mapping->address + mapping->valid, place_text(mapping->extent, place),
            call_text(mapping->extent), is_mapped ? "unmapped" : "freed");
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
        sim_report_state(simcudaReport_leak,
                         "address range [0x%" PRIx64 ", 0x%" PRIx64
                         ") from cuMemAddressReserve was never freed",
                         range.begin, range.begin + range.size);
        count++;
    }
    return count;
}

static uint64_t report_streams(void) {
    for (const struct sim_stream *stream = sim_stream_next(NULL); stream;
         stream = sim_stream_next(stream))
        sim_report_state(simcudaReport_leak, "stream %" PRIu64 " was never destroyed",
                         stream->number);
    return sim_stream_count();
}

static uint64_t report_count(const char *what, const char *ended, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        sim_report_state(simcudaReport_leak, "%s was never %s", what, ended);
    return count;
}

// A context that has failed lets the program give nothing back.
static bool has_failed_context(void) {
    for (struct sim_context *context = sim_context_next(NULL); context;
         context = sim_context_next(context)) {
        if (sim_context_error(context) != CUDA_SUCCESS)
            return true;
    }
    return false;
}

uint64_t sim_live_check(enum sim_live_whose whose) {
    bool all = whose == SIM_LIVE_ALL;
    if (!all && has_failed_context())
        return 0;
    uint64_t count = report_extents(whose);
    count += report_mappings(whose);
    count += sim_block_report_leaks();
    count += report_ranges(whose);
    count += report_streams();
    count += report_count("an event", "destroyed",
                          sim_event_count() - (all ? 0 : sim_event_count_of_library()));
    count += report_count("a module", "unloaded",
                          sim_module_count() - (all ? 0 : sim_module_count_for_pools()));
    count += report_count("a graph", "destroyed", sim_graph_count());
    count += report_count("pinned host memory from cuMemHostAlloc", "freed",
                          sim_pinned_count() - (all ? 0 : sim_pinned_count_of_library()));
    count += report_count("registered host memory", "unregistered",
                          sim_pinned_count_of_registered() -
                              (all ? 0 : sim_pinned_count_of_librarys_registered()));
    return count;
}
