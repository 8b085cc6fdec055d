#include "cli/info/facts.h"

#include <stdio.h>
#include <stdlib.h>

static struct sp_fact memory_of(const struct sp_driver *driver, CUdevice device) {
    size_t total = 0;
    CUresult result = driver->cuDeviceTotalMem(&total, device);
    return (struct sp_fact){.result = result, .bytes = total};
}

static struct sp_fact granule_of(const struct sp_driver *driver, int ordinal) {
    CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal},
    };
    size_t granule = 0;
    CUresult result =
        driver->cuMemGetAllocationGranularity(&granule, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    return (struct sp_fact){.result = result, .bytes = granule};
}

// An allocation shows what the driver does, whatever it says that it can.
static poolError_t try_out(poolMemPool_t pool) {
    void *block = NULL;
    poolError_t error = poolMallocFromPoolAsync(&block, 1, pool, NULL);
    if (error == poolSuccess)
        error = poolFreeAsync(block, NULL);
    return error == poolSuccess ? poolStreamSynchronize(NULL) : error;
}

static void ask_library(struct sp_device_facts *facts, bool has_context) {
    poolMemPool_t pool;
    int maps = 0;
    facts->verdict = poolDeviceGetDefaultMemPool(&pool, facts->ordinal);
    if (facts->verdict == poolSuccess && has_context)
        facts->verdict = try_out(pool);
    if (facts->verdict == poolSuccess)
        facts->verdict = poolMemPoolGetAttribute(pool, poolMemPoolAttrVirtualMemory, &maps);
    facts->maps = maps != 0;
    if (facts->verdict != poolSuccess)
        snprintf(facts->verdict_detail, sizeof facts->verdict_detail, "%s: %s",
                 poolGetErrorName(facts->verdict), poolGetLastErrorDetail());
}

// Free memory is known only inside a context, which costs a moment and some of that memory. Without
// one the library has nothing to try.
static void ask_in_context(struct sp_device_facts *facts, const struct sp_driver *driver,
                           CUdevice device) {
    CUcontext context;
    size_t free = 0, total = 0;
    struct sp_fact *memory = &facts->free_memory;
    memory->result = driver->cuDevicePrimaryCtxRetain(&context, device);
    memory->lacks_context = memory->result != CUDA_SUCCESS;
    if (!memory->lacks_context)
        memory->result = driver->cuCtxPushCurrent(context);
    bool has_context = memory->result == CUDA_SUCCESS;
    if (has_context)
        memory->result = driver->cuMemGetInfo(&free, &total);
    memory->bytes = free;
    ask_library(facts, has_context);
    if (has_context)
        driver->cuCtxPopCurrent(&context);
    if (!memory->lacks_context)
        driver->cuDevicePrimaryCtxRelease(device);
}

static void ask_device(struct sp_device_facts *facts, const struct sp_driver *driver) {
    CUdevice device;
    facts->found = driver->cuDeviceGet(&device, facts->ordinal);
    if (facts->found == CUDA_SUCCESS)
        facts->found = driver->cuDeviceGetName(facts->name, sizeof facts->name, device);
    if (facts->found != CUDA_SUCCESS)
        return;
    facts->memory = memory_of(driver, device);
    facts->granule = granule_of(driver, facts->ordinal);
    snprintf(facts->capability, sizeof facts->capability, "%d.%d",
             sp_device_attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
             sp_device_attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
#define ABILITY(name, text, attribute)                                                             \
    facts->name = sp_device_attribute(driver, device, attribute) != 0;
    SP_DEVICE_ABILITIES(ABILITY)
#undef ABILITY
    ask_in_context(facts, driver, device);
}

bool sp_facts_gather(struct sp_facts *facts, const struct sp_driver *driver) {
    *facts = (struct sp_facts){.driver = driver, .simulated = sp_device_is_simulated(driver)};
    facts->counted = driver->cuDeviceGetCount(&facts->device_count);
    if (facts->counted != CUDA_SUCCESS)
        facts->device_count = 0;
    facts->devices = calloc((size_t)facts->device_count + 1, sizeof *facts->devices);
    if (!facts->devices)
        return false;
    for (int ordinal = 0; ordinal < facts->device_count; ordinal++) {
        facts->devices[ordinal].ordinal = ordinal;
        ask_device(&facts->devices[ordinal], driver);
        facts->working += sp_device_works(&facts->devices[ordinal]);
    }
    return true;
}

void sp_facts_release(struct sp_facts *facts) {
    free(facts->devices);
}
