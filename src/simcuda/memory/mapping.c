#include "simcuda/memory/mapping.h"

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "simcuda/common/host.h"
#include "simcuda/common/page_table.h"
#include "simcuda/common/shared.h"
#include "simcuda/entry/abi.h"
#include "simcuda/memory/address.h"
#include "simcuda/queue/cost.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/queue.h"
#include "simcuda/report/report.h"

struct sp_list sim_mappings = {&sim_mappings, &sim_mappings};
static struct sim_page_table table;
static uint64_t mapping_count;

void sim_mapping_start(void) {
    sim_page_table_init(&table, sim_config.granule);
}

struct sim_mapping *sim_mapping_at(uint64_t address) {
    return sim_page_table_find(&table, address);
}

bool sim_mapping_none_in(uint64_t address, uint64_t size) {
    return sim_page_table_range_empty(&table, address, size);
}

uint64_t sim_mapping_count(void) {
    return mapping_count;
}

static void hide(const struct sim_mapping *mapping) {
    sim_address_hide(mapping->address, mapping->valid);
}

CUresult sim_mapping_let_host(struct sim_mapping *mapping, CUmemAccess_flags access) {
    bool writes = access == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    int protection = writes ? PROT_READ | PROT_WRITE : PROT_READ;
    if (access == CU_MEM_ACCESS_FLAGS_PROT_NONE)
        hide(mapping);
    else if (!sim_address_show(mapping->address, mapping->valid, protection, mapping->extent->file))
        return CUDA_ERROR_OUT_OF_MEMORY;
    mapping->access[SIM_HOST] = (unsigned char)access;
    return CUDA_SUCCESS;
}

struct sim_mapping *sim_mapping_add(uint64_t address, uint64_t size, struct sim_extent *extent) {
    struct sim_mapping *mapping = sim_allocate(sizeof(*mapping));
    mapping->address = address;
    mapping->size = size;
    mapping->valid = mapping->told = extent->size;
    mapping->extent = extent;
    extent->mappings++;
    mapping_count++;
    sp_list_push_back(&sim_mappings, &mapping->link);
    sim_page_table_set(&table, address, size, mapping);
    return mapping;
}

void sim_mapping_remove(struct sim_mapping *mapping) {
    if (mapping->access[SIM_HOST])
        hide(mapping);
    sim_page_table_set(&table, mapping->address, mapping->size, NULL);
    sp_list_remove(&mapping->link);
    mapping_count--;
    sim_extent_unmapped(mapping->extent);
    sim_free(mapping->uses);
    sim_free(mapping);
}

// ------------------------------------------------------------------------------------------ in use

void sim_mapping_note_use(struct sim_mapping *mapping, const struct sim_touch *touch) {
    size_t i = 0;
    while (i < mapping->use_count && mapping->uses[i].slot != touch->slot)
        i++;
    if (i == mapping->use_count) {
        SIM_RESERVE_ONE(mapping->uses, mapping->use_count, mapping->use_capacity);
        mapping->use_count++;
    }
    mapping->uses[i] = (struct sim_use){.slot = touch->slot,
                                        .sequence = touch->sequence,
                                        .who = touch->who,
                                        .is_told = touch->is_told,
                                        .name = touch->name};
}

static void report_in_use(const struct sim_mapping *mapping, const char *call,
                          const struct sim_side *using, bool is_pending) {
    char who[SIM_WHO_LENGTH];
    const struct sim_side sides[] = {
        {sim_who_calls(), call, "is called", mapping->address, mapping->size}, *using};
    sim_report_sides(simcudaReport_unmapInUse, sides, 2,
                     "%s takes away [0x%" PRIx64 ", 0x%" PRIx64 "), which \"%s\" %s uses, %s", call,
                     mapping->address, mapping->address + mapping->size, using->name,
                     sim_who_text(&using->who, who),
                     is_pending ? "while that is pending"
                                : "before the program knows that to be complete");
}

// All pending pieces that use it are told of by one report: what comes of them is the same mistake.
static bool report_pending(const struct sim_mapping *mapping, const char *call) {
    struct sim_item *item = sim_item_naming(mapping->address, mapping->size);
    if (!item)
        return false;
    const struct sim_side using = {item->who, item->job.name, "uses", mapping->address,
                                   mapping->size};
    report_in_use(mapping, call, &using, true);
    for (; item; item = sim_item_naming(mapping->address, mapping->size))
        item->job.is_told = true;
    return true;
}

void sim_mapping_report_in_use(const struct sim_mapping *mapping, const char *call) {
    if (report_pending(mapping, call))
        return;
    for (size_t i = 0; i < mapping->use_count; i++) {
        const struct sim_use *use = &mapping->uses[i];
        if (use->is_told || sim_clock_at(sim_host_clock, use->slot) >= use->sequence)
            continue;
        const struct sim_side using = {use->who, use->name, "uses", mapping->address,
                                       mapping->size};
        report_in_use(mapping, call, &using, false);
        return;
    }
}

// ------------------------------------------------------------------------------------------- calls

static bool is_granular(uint64_t value) {
    return value % sim_config.granule == 0;
}

static CUresult misuse(simcudaReportKind kind, CUresult error, const char *call, uint64_t address,
                       uint64_t size) {
    const char *why = kind == simcudaReport_badMemoryHandle
                          ? "names a handle that does not exist, or was released"
                      : kind == simcudaReport_wrongGranule
                          ? "has an address or size that is no multiple of the granule"
                      : kind == simcudaReport_partOfHandle
                          ? "maps a part of a handle, which is mapped whole or not at all"
                      : kind == simcudaReport_mapOverMapping ? "maps where a mapping is"
                      : kind == simcudaReport_partOfMapping
                          ? "names a range that does not consist of whole mappings"
                          : "names a range that cuMemAddressReserve did not give";
    sim_report(kind, "%s(0x%" PRIx64 ", %" PRIu64 " bytes) %s", call, address, size, why);
    return error;
}

CUresult sim_mapping_map(uint64_t address, uint64_t size, uint64_t offset,
                         CUmemGenericAllocationHandle handle) {
    static const char call[] = "cuMemMap";
    struct sim_extent *extent = sim_extent_find(handle);
    if (!extent)
        return misuse(simcudaReport_badMemoryHandle, CUDA_ERROR_INVALID_VALUE, call, address, size);
    if (size == 0 || !is_granular(address) || !is_granular(size) || !is_granular(offset))
        return misuse(simcudaReport_wrongGranule, CUDA_ERROR_INVALID_VALUE, call, address, size);
    if (size > extent->size || offset > extent->size - size)
        return misuse(simcudaReport_partOfHandle, CUDA_ERROR_INVALID_VALUE, call, address, size);
    if (offset != 0 || size != extent->size)
        return misuse(simcudaReport_partOfHandle, CUDA_ERROR_NOT_SUPPORTED, call, address, size);
    if (!sim_range_covers(address, size))
        return misuse(simcudaReport_notReserved, CUDA_ERROR_INVALID_VALUE, call, address, size);
    if (!sim_mapping_none_in(address, size))
        return misuse(simcudaReport_mapOverMapping, CUDA_ERROR_INVALID_VALUE, call, address, size);
    if (mapping_count >= sim_config.mappings)
        return CUDA_ERROR_OUT_OF_MEMORY;
    sim_now += sim_cost_extent(SIM_ENTRY_cuMemMap, size);
    sim_mapping_add(address, size, extent);
    return CUDA_SUCCESS;
}

// Returns whether [address, address + size) consists of whole mappings of handles, side by side.
static bool is_whole_mappings(uint64_t address, uint64_t size) {
    uint64_t end = address + size;
    while (address < end) {
        const struct sim_mapping *mapping = sim_mapping_at(address);
        if (!mapping || mapping->address != address || mapping->size > end - address ||
            mapping->extent->kind != SIM_EXTENT_OF_HANDLE)
            return false;
        address += mapping->size;
    }
    return true;
}

static CUresult check_whole(const char *call, uint64_t address, uint64_t size) {
    if (size == 0 || !is_granular(address) || !is_granular(size))
        return misuse(simcudaReport_wrongGranule, CUDA_ERROR_INVALID_VALUE, call, address, size);
    if (!sim_range_covers(address, size))
        return misuse(simcudaReport_notReserved, CUDA_ERROR_INVALID_VALUE, call, address, size);
    if (!is_whole_mappings(address, size))
        return misuse(simcudaReport_partOfMapping, CUDA_ERROR_INVALID_VALUE, call, address, size);
    return CUDA_SUCCESS;
}

static uint64_t cost_of(enum sim_entry entry, const struct sim_mapping *mapping) {
    return sim_extent_is_of_host(mapping->extent) ? sim_cost_host_extent(entry, mapping->size)
                                                  : sim_cost_extent(entry, mapping->size);
}

CUresult sim_mapping_unmap(uint64_t address, uint64_t size) {
    static const char call[] = "cuMemUnmap";
    CUresult result = check_whole(call, address, size);
    uint64_t end = address + size;
    while (result == CUDA_SUCCESS && address < end) {
        struct sim_mapping *mapping = sim_mapping_at(address);
        address += mapping->size;
        sim_now += cost_of(SIM_ENTRY_cuMemUnmap, mapping);
        sim_mapping_report_in_use(mapping, call);
        sim_mapping_remove(mapping);
    }
    return result;
}

static bool is_access(CUmemAccess_flags flags) {
    return flags == CU_MEM_ACCESS_FLAGS_PROT_NONE || flags == CU_MEM_ACCESS_FLAGS_PROT_READ ||
           flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

CUresult sim_mapping_find_accessor(const CUmemLocation *location, int *accessor) {
    switch ((int)location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        *accessor = location->id;
        return sim_device_exists(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA: // of any node, as seen on an H200
        *accessor = SIM_HOST;
        return sim_device_knows_host() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

static CUresult check_descriptors(const CUmemAccessDesc *descriptors, size_t count) {
    if (!descriptors || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < count; i++) {
        int accessor;
        if (!is_access(descriptors[i].flags))
            return CUDA_ERROR_INVALID_VALUE;
        CUresult result = sim_mapping_find_accessor(&descriptors[i].location, &accessor);
        if (result != CUDA_SUCCESS)
            return result;
    }
    return CUDA_SUCCESS;
}

static int accessor_of(const CUmemAccessDesc *descriptor) {
    int accessor = SIM_HOST;
    (void)sim_mapping_find_accessor(&descriptor->location, &accessor);
    return accessor;
}

static CUresult check_accessor(const struct sim_mapping *mapping,
                               const CUmemAccessDesc *descriptor) {
    bool is_of_host = sim_extent_is_of_host(mapping->extent);
    int accessor = accessor_of(descriptor);
    if (accessor == SIM_HOST)
        return is_of_host ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    bool is_let_in = descriptor->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE && !is_of_host;
    return is_let_in && !sim_device_can_access(accessor, mapping->extent->device)
               ? CUDA_ERROR_INVALID_DEVICE
               : CUDA_SUCCESS;
}

// Checks that who is to be let in can access the memory of every mapping in the range.
static CUresult check_accessors(uint64_t address, uint64_t size, const CUmemAccessDesc *descriptors,
                                size_t count) {
    const struct sim_mapping *mapping;
    for (uint64_t at = address; at < address + size; at += mapping->size) {
        mapping = sim_mapping_at(at);
        for (size_t i = 0; i < count; i++) {
            CUresult result = check_accessor(mapping, &descriptors[i]);
            if (result != CUDA_SUCCESS)
                return result;
        }
    }
    return CUDA_SUCCESS;
}

static CUresult let(struct sim_mapping *mapping, const CUmemAccessDesc *descriptor) {
    int accessor = accessor_of(descriptor);
    if (accessor == SIM_HOST)
        return sim_mapping_let_host(mapping, descriptor->flags);
    mapping->access[accessor] = (unsigned char)descriptor->flags;
    return CUDA_SUCCESS;
}

CUresult sim_mapping_set_access(uint64_t address, uint64_t size, const CUmemAccessDesc *descriptors,
                                size_t count) {
    CUresult result = check_descriptors(descriptors, count);
    if (result == CUDA_SUCCESS)
        result = check_whole("cuMemSetAccess", address, size);
    if (result == CUDA_SUCCESS)
        result = check_accessors(address, size, descriptors, count);
    uint64_t end = address + size;
    while (result == CUDA_SUCCESS && address < end) {
        struct sim_mapping *mapping = sim_mapping_at(address);
        address += mapping->size;
        sim_now += cost_of(SIM_ENTRY_cuMemSetAccess, mapping);
        for (size_t i = 0; i < count && result == CUDA_SUCCESS; i++)
            result = let(mapping, &descriptors[i]);
    }
    return result;
}

void sim_mapping_reset(void) {
    SP_LIST_FOR_EACH_SAFE(link, &sim_mappings)
        sim_mapping_remove(SP_CONTAINER_OF(link, struct sim_mapping, link));
    sim_page_table_destroy(&table);
}
