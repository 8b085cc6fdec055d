#include "simcuda/memory/managed.h"

#include <string.h>

#include "base/number.h"
#include "simcuda/common/shared.h"
#include "simcuda/memory/advice.h"
#include "simcuda/memory/mapping.h"

#define PAGE ((uint64_t)4096)

// Offsets of whole pages in one piece of managed memory.
struct range {
    struct sim_advice *advice;
    uint64_t begin;
    uint64_t end;
};

static CUresult find(uint64_t address, uint64_t size, struct range *range) {
    const struct sim_mapping *mapping = sim_mapping_at(address);
    if (!mapping || !sim_extent_is_managed(mapping->extent) || mapping->extent->is_being_freed)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t offset = address - mapping->address;
    if (offset >= mapping->told || size == 0 || size > mapping->told - offset)
        return CUDA_ERROR_INVALID_VALUE;
    *range = (struct range){&mapping->extent->advice, sp_round_down(offset, PAGE),
                            sp_round_up(offset + size, PAGE)};
    return CUDA_SUCCESS;
}

// --------------------------------------------------------------------------------------- locations

CUmemLocation sim_managed_location(CUdevice device) {
    return device == CU_DEVICE_CPU ? (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST, 0}
                                   : (CUmemLocation){CU_MEM_LOCATION_TYPE_DEVICE, device};
}

// Checks a location. The node of the calling thread is the first one here.
static CUresult check_location(CUmemLocation *location) {
    switch ((int)location->type) {
    case CU_MEM_LOCATION_TYPE_DEVICE:
        return sim_device_exists(location->id) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
    case CU_MEM_LOCATION_TYPE_HOST:
        location->id = 0;
        return CUDA_SUCCESS;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
        return location->id >= 0 && (uint64_t)location->id < sim_config.nodes
                   ? CUDA_SUCCESS
                   : CUDA_ERROR_INVALID_VALUE;
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT:
        *location = (CUmemLocation){CU_MEM_LOCATION_TYPE_HOST_NUMA, 0};
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

// ------------------------------------------------------------------------------------------ saying

static void set_prefetched(struct sim_advice_said *said, const void *location) {
    said->prefetched = *(const CUmemLocation *)location;
}

static void set_preferred(struct sim_advice_said *said, const void *location) {
    said->preferred = *(const CUmemLocation *)location;
}

static void set_read_mostly(struct sim_advice_said *said, const void *is_set) {
    said->is_read_mostly = *(const bool *)is_set;
}

static void add_accessor(struct sim_advice_said *said, const void *bit) {
    said->accessed_by |= *(const uint32_t *)bit;
}

static void remove_accessor(struct sim_advice_said *said, const void *bit) {
    said->accessed_by &= ~*(const uint32_t *)bit;
}

static CUresult say(const struct range *range, sim_advice_change change, const void *data) {
    sim_advice_say(range->advice, range->begin, range->end, change, data);
    return CUDA_SUCCESS;
}

CUresult sim_managed_prefetch(uint64_t address, uint64_t size, CUmemLocation location) {
    struct range range;
    CUresult result = find(address, size, &range);
    if (result == CUDA_SUCCESS)
        result = check_location(&location);
    return result == CUDA_SUCCESS ? say(&range, set_prefetched, &location) : result;
}

static CUresult advise_preferred(const struct range *range, CUmemLocation location) {
    CUresult result = check_location(&location);
    return result == CUDA_SUCCESS ? say(range, set_preferred, &location) : result;
}

// A node of the host is none that accesses memory.
static CUresult advise_accessor(const struct range *range, sim_advice_change change,
                                CUmemLocation location) {
    if ((int)location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
        (int)location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_location(&location);
    if (result != CUDA_SUCCESS)
        return result;
    bool is_host = location.type == CU_MEM_LOCATION_TYPE_HOST;
    uint32_t bit = (uint32_t)1 << (is_host ? SIM_HOST : location.id);
    return say(range, change, &bit);
}

CUresult sim_managed_advise(uint64_t address, uint64_t size, CUmem_advise advice,
                            CUmemLocation location) {
    static const CUmemLocation nowhere;
    bool is_set = advice == CU_MEM_ADVISE_SET_READ_MOSTLY;
    struct range range;
    CUresult result = find(address, size, &range);
    if (result != CUDA_SUCCESS)
        return result;
    switch (advice) {
    case CU_MEM_ADVISE_SET_READ_MOSTLY:
    case CU_MEM_ADVISE_UNSET_READ_MOSTLY:
        return say(&range, set_read_mostly, &is_set);
    case CU_MEM_ADVISE_SET_PREFERRED_LOCATION:
        return advise_preferred(&range, location);
    case CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION:
        return say(&range, set_preferred, &nowhere);
    case CU_MEM_ADVISE_SET_ACCESSED_BY:
        return advise_accessor(&range, add_accessor, location);
    case CU_MEM_ADVISE_UNSET_ACCESSED_BY:
        return advise_accessor(&range, remove_accessor, location);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

// ----------------------------------------------------------------------------------------- telling

static CUmemLocation common(CUmemLocation a, CUmemLocation b) {
    return a.type == b.type && a.id == b.id ? a : (CUmemLocation){0};
}

// Finds what holds of all pages of the range.
static struct sim_advice_said said_of_all(const struct range *range) {
    uint64_t end;
    struct sim_advice_said all = sim_advice_at(range->advice, range->begin, &end);
    while (end < range->end) {
        struct sim_advice_said next = sim_advice_at(range->advice, end, &end);
        all.is_read_mostly &= next.is_read_mostly;
        all.accessed_by &= next.accessed_by;
        all.preferred = common(all.preferred, next.preferred);
        all.prefetched = common(all.prefetched, next.prefetched);
    }
    return all;
}

// The number that stands for a location where nothing tells its type.
static int number_of(CUmemLocation location) {
    if (location.type == CU_MEM_LOCATION_TYPE_DEVICE)
        return location.id;
    return location.type ? CU_DEVICE_CPU : CU_DEVICE_INVALID;
}

static int id_of(CUmemLocation location) {
    return location.type ? location.id : CU_DEVICE_INVALID;
}

static CUresult tell_accessors(uint32_t accessed_by, int *numbers, size_t count) {
    size_t filled = 0;
    for (int place = 0; place < SIM_PLACES && filled < count; place++) {
        if (accessed_by >> place & 1)
            numbers[filled++] = place == SIM_HOST ? CU_DEVICE_CPU : place;
    }
    while (filled < count)
        numbers[filled++] = CU_DEVICE_INVALID;
    return CUDA_SUCCESS;
}

static CUresult tell_number(int number, int *value, size_t count) {
    if (count != 1)
        return CUDA_ERROR_INVALID_VALUE;
    *value = number;
    return CUDA_SUCCESS;
}

static CUresult tell(const struct sim_advice_said *said, CUmem_range_attribute attribute,
                     int *values, size_t count) {
    switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
        return tell_number(said->is_read_mostly, values, count);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
        return tell_number(number_of(said->preferred), values, count);
    case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
        return tell_accessors(said->accessed_by, values, count);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
        return tell_number(number_of(said->prefetched), values, count);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
        return tell_number((int)said->preferred.type, values, count);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
        return tell_number(id_of(said->preferred), values, count);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
        return tell_number((int)said->prefetched.type, values, count);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
        return tell_number(id_of(said->prefetched), values, count);
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

CUresult sim_managed_attribute(void *value, size_t value_size, CUmem_range_attribute attribute,
                               uint64_t address, uint64_t size) {
    struct range range;
    CUresult result = find(address, size, &range);
    if (result == CUDA_SUCCESS && (!value || value_size == 0 || value_size % sizeof(int) != 0))
        result = CUDA_ERROR_INVALID_VALUE;
    if (result != CUDA_SUCCESS)
        return result;
    const struct sim_advice_said said = said_of_all(&range);
    return tell(&said, attribute, value, value_size / sizeof(int));
}
