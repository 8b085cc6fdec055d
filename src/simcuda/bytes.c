#include "simcuda/bytes.h"

#include <inttypes.h>
#include <string.h>

#include "simcuda/item.h"
#include "simcuda/mapping.h"
#include "simcuda/queue.h"
#include "simcuda/report.h"

// The first part of a range that lies in one mapping.
struct part {
    struct sim_mapping *mapping;
    uint64_t offset; // in the extent
    uint64_t size;
};

static bool translate(uint64_t address, uint64_t size, struct part *part) {
    struct sim_mapping *mapping = sim_mapping_at(address);
    if (!mapping || address - mapping->address >= mapping->valid)
        return false;
    part->mapping = mapping;
    part->offset = address - mapping->address;
    part->size = mapping->valid - part->offset < size ? mapping->valid - part->offset : size;
    return true;
}

bool sim_bytes_read(uint64_t address, void *to, size_t size) {
    char *at = to;
    struct part part;
    for (; size > 0; size -= part.size, address += part.size, at += part.size) {
        if (!translate(address, size, &part))
            return false;
        if (!sim_extent_read(part.mapping->extent, part.offset, at, part.size))
            return false;
    }
    return true;
}

bool sim_bytes_write(uint64_t address, const void *from, size_t size) {
    const char *at = from;
    struct part part;
    for (; size > 0; size -= part.size, address += part.size, at += part.size) {
        if (!translate(address, size, &part))
            return false;
        if (!sim_extent_write(part.mapping->extent, part.offset, at, part.size))
            return false;
    }
    return true;
}

static CUresult illegal(simcudaReportKind kind, const struct sim_item *item, uint64_t address) {
    sim_report(kind, "\"%s\" in stream %" PRIu64 ", enqueued by thread %u, at 0x%" PRIx64,
               item->job.name, item->queue->stream_id, item->thread, address);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

static bool is_allowed(const struct sim_mapping *mapping, int device, bool writes) {
    unsigned needed = writes ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
    return (mapping->access[device] & needed) == needed;
}

static void report_race(const struct sim_touch *old, const struct sim_touch *touch) {
    sim_report(simcudaReport_race,
               "\"%s\" in stream %" PRIu64 " (thread %u) %s [0x%" PRIx64 ", 0x%" PRIx64
               ") with no order to \"%s\" in stream %" PRIu64 " (thread %u), which %s [0x%" PRIx64
               ", 0x%" PRIx64 ")",
               touch->name, touch->stream_id, touch->thread, touch->writes ? "writes" : "reads",
               touch->address, touch->address + touch->size, old->name, old->stream_id, old->thread,
               old->writes ? "wrote" : "read", old->address, old->address + old->size);
}

static CUresult touch_range(const struct sim_item *item, const simcudaAccess *access, int device) {
    struct sim_touch touch = {
        .slot = item->slot,
        .sequence = item->sequence,
        .stream_id = item->queue->stream_id,
        .address = access->address,
        .size = access->size,
        .thread = item->thread,
        .writes = access->kind == simcudaAccessWrite,
    };
    struct sim_touch other;
    struct part part;
    memcpy(touch.name, item->job.name, sizeof(touch.name));
    for (uint64_t done = 0; done < access->size; done += part.size) {
        uint64_t address = access->address + done;
        if (!translate(address, access->size - done, &part))
            return illegal(simcudaReport_fault, item, address);
        if (!item->job.needs_no_access && !is_allowed(part.mapping, device, touch.writes))
            return illegal(simcudaReport_noAccess, item, address);
        sim_mapping_note_use(part.mapping, &touch);
        if (!sim_history_touch(&part.mapping->extent->history, part.offset, part.offset + part.size,
                               &touch, item->clock, &other))
            report_race(&other, &touch);
    }
    return CUDA_SUCCESS;
}

CUresult sim_bytes_touch(const struct sim_item *item, int device) {
    CUresult result = CUDA_SUCCESS;
    for (size_t i = 0; i < item->job.count && result == CUDA_SUCCESS; i++)
        result = touch_range(item, &item->job.accesses[i], device);
    return result;
}
