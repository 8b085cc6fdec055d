#include "simcuda/memory/allocation.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/number.h"
#include "simcuda/common/host.h"
#include "simcuda/common/random.h"
#include "simcuda/common/shared.h"
#include "simcuda/memory/address.h"
#include "simcuda/memory/block.h"
#include "simcuda/memory/mapping.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/cost.h"
#include "simcuda/queue/item.h"
#include "simcuda/report/report.h"

#define STEP       512
#define PAGE       4096
#define LARGEST    ((uint64_t)1 << 46) // that a host has addresses for
#define ARENA_SIZE ((uint64_t)64 << 30)

// The spans are the arenas' free address space, sorted, with neighbours joined. The arenas are kept
// to give them back to the host.
static struct sim_range *spans;
static size_t span_count;
static size_t span_capacity;
static struct sim_range *arenas;
static size_t arena_count;
static size_t arena_capacity;
static uint64_t allocation_count;
static uint64_t managed_count;
static struct sim_random places; // of scattered allocations

static size_t find_span_after(uint64_t address) {
    size_t low = 0;
    size_t high = span_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (spans[middle].begin > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void remove_span(size_t index) {
    span_count--;
    memmove(&spans[index], &spans[index + 1], (span_count - index) * sizeof(*spans));
}

static void give_span(uint64_t address, uint64_t size) {
    size_t index = find_span_after(address);
    if (index < span_count && spans[index].begin == address + size) {
        size += spans[index].size;
        remove_span(index);
    }
    if (index > 0 && spans[index - 1].begin + spans[index - 1].size == address) {
        spans[index - 1].size += size;
        return;
    }
    SIM_RESERVE_ONE(spans, span_count, span_capacity);
    memmove(&spans[index + 1], &spans[index], (span_count - index) * sizeof(*spans));
    spans[index] = (struct sim_range){.begin = address, .size = size};
    span_count++;
}

static void cut_span(size_t index, uint64_t size) {
    spans[index].begin += size;
    spans[index].size -= size;
    if (spans[index].size == 0)
        remove_span(index);
}

// Takes memory out of the middle of a span.
static uint64_t take_at(size_t index, uint64_t offset, uint64_t size) {
    struct sim_range span = spans[index];
    uint64_t address = span.begin + offset;
    cut_span(index, offset + size);
    if (offset > 0)
        give_span(span.begin, offset);
    return address;
}

// Each span that is large enough is as likely as the others, and so is each place in it.
static uint64_t take_anywhere(uint64_t size) {
    size_t fitting = 0, index = 0;
    for (size_t i = 0; i < span_count; i++)
        fitting += spans[i].size >= size;
    if (fitting == 0)
        return 0;
    for (size_t left = sim_random_below(&places, fitting) + 1; left > 0; index++)
        left -= spans[index].size >= size;
    index--;
    uint64_t offsets = (spans[index].size - size) / sim_config.granule + 1;
    return take_at(index, sim_random_below(&places, offsets) * sim_config.granule, size);
}

static uint64_t take_lowest(uint64_t size) {
    for (size_t i = 0; i < span_count; i++) {
        if (spans[i].size < size)
            continue;
        uint64_t address = spans[i].begin;
        cut_span(i, size);
        return address;
    }
    return 0;
}

static uint64_t take_from_spans(uint64_t size) {
    return sim_config.scatter ? take_anywhere(size) : take_lowest(size);
}

// A host that refuses a large piece of address space may have a smaller one.
static bool add_arena(uint64_t needed) {
    uint64_t size = needed > ARENA_SIZE ? needed : ARENA_SIZE;
    uint64_t address = 0;
    while (address == 0 && size >= needed) {
        address = sim_address_take(size, sim_config.granule, 0);
        size = address ? size : sp_round_down(size / 2, sim_config.granule);
    }
    if (address == 0)
        return false;
    if (arena_count == 0)
        places.state = sim_config.scatter;
    SIM_RESERVE_ONE(arenas, arena_count, arena_capacity);
    arenas[arena_count++] = (struct sim_range){.begin = address, .size = size};
    give_span(address, size);
    return true;
}

static uint64_t take_span(uint64_t size) {
    uint64_t address = take_from_spans(size);
    if (address == 0 && add_arena(size))
        address = take_from_spans(size);
    return address;
}

// Makes an allocation of a device's memory, or the host's, to which no device has access yet.
static CUresult create(const struct sim_context *context, int device, uint64_t size,
                       struct sim_mapping **mapping) {
    struct sim_extent *extent;
    uint64_t room = sp_round_up(size, sim_config.granule);
    uint64_t address = take_span(room);
    if (address == 0)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult failure = sim_extent_create(SIM_EXTENT_OF_ALLOCATION, device, size, false, &extent);
    if (failure != CUDA_SUCCESS) {
        give_span(address, room);
        return failure;
    }
    *mapping = sim_mapping_add(address, room, extent);
    extent->context = context;
    allocation_count++;
    managed_count += sim_extent_is_managed(extent);
    return CUDA_SUCCESS;
}

CUresult sim_allocation_create(const struct sim_context *context, uint64_t size,
                               CUdeviceptr *address) {
    struct sim_mapping *mapping;
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (size > sim_config.device[context->device].memory)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = create(context, context->device, sp_round_up(size, STEP), &mapping);
    if (result != CUDA_SUCCESS)
        return result;
    for (int i = 0; i < SIMCUDA_MAX_DEVICES; i++) {
        if (i == context->device || context->peers[i] > 0)
            mapping->access[i] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    }
    mapping->told = size;
    sim_now += sim_cost_extent(SIM_ENTRY_cuMemAlloc_v2, size);
    *address = mapping->address;
    return CUDA_SUCCESS;
}

// Returns the mapping of the allocation that begins at the address; null when there is none, or it
// is being freed.
static struct sim_mapping *find(CUdeviceptr address) {
    struct sim_mapping *mapping = sim_mapping_at(address);
    if (!mapping || mapping->address != address ||
        mapping->extent->kind != SIM_EXTENT_OF_ALLOCATION || mapping->extent->is_being_freed)
        return NULL;
    return mapping;
}

bool sim_allocation_is_device_address(CUdeviceptr address) {
    for (size_t i = 0; i < arena_count; i++) {
        if (address - arenas[i].begin < arenas[i].size)
            return true;
    }
    return sim_range_covers(address, 1);
}

// A free of an address that is none of a device's is refused without a report: a program that
// doesn't know where a pointer is from may free it to find out.
static CUresult refuse_free(const char *call, CUdeviceptr address) {
    if (sim_allocation_is_device_address(address))
        sim_block_report_bad_free(call, address);
    return CUDA_ERROR_INVALID_VALUE;
}

int sim_allocation_device(CUdeviceptr address) {
    const struct sim_mapping *mapping = find(address);
    return mapping ? mapping->extent->context->device : -1;
}

static void destroy(struct sim_mapping *mapping) {
    uint64_t address = mapping->address;
    uint64_t room = mapping->size;
    sim_now += sim_cost_extent(SIM_ENTRY_cuMemFree_v2, mapping->valid);
    allocation_count--;
    managed_count -= sim_extent_is_managed(mapping->extent);
    if (!mapping->extent->is_of_library) // whose blocks end by the program's frees alone
        sim_block_forget_live(address, room);
    sim_mapping_remove(mapping);
    give_span(address, room);
}

CUresult sim_allocation_create_managed(const struct sim_context *context, uint64_t size,
                                       CUdeviceptr *address) {
    struct sim_mapping *mapping;
    if (size == 0)
        return CUDA_ERROR_INVALID_VALUE;
    if (size > LARGEST)
        return CUDA_ERROR_OUT_OF_MEMORY;
    CUresult result = create(context, SIM_HOST, sp_round_up(size, PAGE), &mapping);
    if (result != CUDA_SUCCESS)
        return result;
    mapping->told = size;
    result = sim_mapping_let_host(mapping, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    if (result != CUDA_SUCCESS) {
        destroy(mapping);
        return result;
    }
    memset(mapping->access, CU_MEM_ACCESS_FLAGS_PROT_READWRITE, SIMCUDA_MAX_DEVICES);
    *address = mapping->address;
    return CUDA_SUCCESS;
}

CUresult sim_allocation_free(CUdeviceptr address) {
    struct sim_mapping *mapping = find(address);
    if (!mapping)
        return refuse_free("cuMemFree", address);
    destroy(mapping);
    return CUDA_SUCCESS;
}

static CUresult free_now(const struct sim_job *job, int device) {
    (void)device;
    destroy(sim_mapping_at(job->address));
    return CUDA_SUCCESS;
}

CUresult sim_allocation_free_job(struct sim_job *job, CUdeviceptr address) {
    const struct sim_mapping *mapping = find(address);
    if (!mapping)
        return refuse_free("cuMemFreeAsync", address);
    sim_job_name(job, "cuMemFreeAsync");
    sim_job_touches(job, address, mapping->valid, simcudaAccessWrite);
    job->address = address;
    job->effect = free_now;
    job->needs_no_access = true;
    return CUDA_SUCCESS;
}

void sim_allocation_set_being_freed(CUdeviceptr address, bool is_being_freed) {
    struct sim_mapping *mapping = sim_mapping_at(address);
    if (mapping)
        mapping->extent->is_being_freed = is_being_freed;
}

void sim_allocation_free_all(const struct sim_context *context) {
    SP_LIST_FOR_EACH_SAFE(link, &sim_mappings) {
        struct sim_mapping *mapping = SP_CONTAINER_OF(link, struct sim_mapping, link);
        if (mapping->extent->kind == SIM_EXTENT_OF_ALLOCATION &&
            mapping->extent->context == context)
            destroy(mapping);
    }
}

uint64_t sim_allocation_count(void) {
    return allocation_count;
}

uint64_t sim_allocation_count_of_managed(void) {
    return managed_count;
}

void sim_allocation_reset(void) {
    SP_LIST_FOR_EACH_SAFE(link, &sim_mappings) {
        struct sim_mapping *mapping = SP_CONTAINER_OF(link, struct sim_mapping, link);
        if (mapping->extent->kind == SIM_EXTENT_OF_ALLOCATION)
            destroy(mapping);
    }
    for (size_t i = 0; i < arena_count; i++)
        sim_address_give(arenas[i].begin, arenas[i].size);
    sim_free(spans);
    sim_free(arenas);
    spans = arenas = NULL;
    span_count = span_capacity = arena_count = arena_capacity = 0;
}
