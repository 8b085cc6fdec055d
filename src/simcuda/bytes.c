#include "simcuda/bytes.h"

#include <inttypes.h>

#include "simcuda/block.h"
#include "simcuda/item.h"
#include "simcuda/mapping.h"
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

static const char *verb(bool writes) {
    return writes ? "writes" : "reads";
}

static struct sim_side side_of(const struct sim_touch *touch) {
    return (struct sim_side){touch->who, touch->name, verb(touch->writes), touch->address,
                             touch->size};
}

static CUresult report_unmapped(const struct sim_touch *touch, uint64_t address) {
    char who[SIM_WHO_LENGTH], block[SIM_BLOCK_TEXT];
    const struct sim_side side = side_of(touch);
    if (!touch->is_told)
        sim_report_sides(simcudaReport_fault, &side, 1,
                         "\"%s\" %s %s 0x%" PRIx64 "%s, where no memory is mapped", touch->name,
                         sim_who_text(&touch->who, who), verb(touch->writes), address,
                         sim_block_text(address, block));
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

static CUresult report_no_access(const struct sim_touch *touch, uint64_t address, int device) {
    char who[SIM_WHO_LENGTH];
    const struct sim_side side = side_of(touch);
    if (!touch->is_told)
        sim_report_sides(
            simcudaReport_noAccess, &side, 1,
            "\"%s\" %s %s 0x%" PRIx64 ", to which cuMemSetAccess gave device %d no such access",
            touch->name, sim_who_text(&touch->who, who), verb(touch->writes), address, device);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
}

static bool is_allowed(const struct sim_mapping *mapping, int device, bool writes) {
    unsigned needed = writes ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
    return (mapping->access[device] & needed) == needed;
}

static void report_race(const struct sim_touch *old, const struct sim_touch *touch) {
    char first[SIM_WHO_LENGTH], second[SIM_WHO_LENGTH], block[SIM_BLOCK_TEXT];
    const struct sim_side sides[] = {side_of(touch), side_of(old)};
    uint64_t begin = touch->address > old->address ? touch->address : old->address;
    uint64_t end = touch->address + touch->size, old_end = old->address + old->size;
    end = end < old_end ? end : old_end;
    if (begin >= end) { // the same bytes at two addresses
        begin = touch->address;
        end = begin + touch->size;
    }
    sim_report_sides(simcudaReport_race, sides, 2,
                     "\"%s\" %s %s bytes that \"%s\" %s %s, and nothing orders the two: [0x%" PRIx64
                     ", 0x%" PRIx64 ")%s",
                     touch->name, sim_who_text(&touch->who, first), verb(touch->writes), old->name,
                     sim_who_text(&old->who, second), verb(old->writes), begin, end,
                     sim_block_text(begin, block));
}

static CUresult touch_range(const struct sim_item *item, const simcudaAccess *access, int device) {
    const struct sim_touch touch = sim_item_touch(item, access);
    struct sim_touch other;
    struct part part;
    for (uint64_t done = 0; done < access->size; done += part.size) {
        uint64_t address = access->address + done;
        if (!translate(address, access->size - done, &part))
            return report_unmapped(&touch, address);
        if (!item->job.needs_no_access && !is_allowed(part.mapping, device, touch.writes))
            return report_no_access(&touch, address, device);
        sim_mapping_note_use(part.mapping, &touch);
        if (!sim_history_touch(&part.mapping->extent->history, part.offset, part.offset + part.size,
                               &touch, item->clock, &other) &&
            !touch.is_told && !other.is_told)
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
