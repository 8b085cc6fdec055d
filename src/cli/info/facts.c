#include "cli/info/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------------- the devices

static void note_verdict(struct sp_pool_facts *facts, poolError_t error) {
    facts->verdict = error;
    if (error != poolSuccess)
        snprintf(facts->detail, sizeof facts->detail, "%s: %s", poolGetErrorName(error),
                 poolGetLastErrorDetail());
}

// An allocation shows what the driver does, whatever it says that it can.
static void ask_library(struct sp_device_facts *facts, bool has_context) {
    poolMemPool_t pool;
    void *block = NULL;
    int maps = 0;
    poolError_t error = poolDeviceGetDefaultMemPool(&pool, facts->ordinal);
    if (error == poolSuccess && has_context)
        error = poolMallocFromPoolAsync(&block, 1, pool, NULL);
    if (error == poolSuccess && has_context)
        error = poolFreeAsync(block, NULL);
    if (error == poolSuccess && has_context)
        error = poolStreamSynchronize(NULL);
    if (error == poolSuccess)
        error = poolMemPoolGetAttribute(pool, poolMemPoolAttrVirtualMemory, &maps);
    facts->pools.maps = maps != 0;
    note_verdict(&facts->pools, error);
}

// Free memory is known only inside a context, which costs a moment and some of that memory. Without
// one the library has nothing to try.
static void ask_in_context(struct sp_device_facts *facts, const struct sp_driver *driver,
                           CUdevice device) {
    CUcontext context;
    size_t total;
    struct sp_fact *memory = &facts->free_memory;
    memory->result = driver->cuDevicePrimaryCtxRetain(&context, device);
    memory->lacks_context = memory->result != CUDA_SUCCESS;
    if (!memory->lacks_context)
        memory->result = driver->cuCtxPushCurrent(context);
    bool has_context = memory->result == CUDA_SUCCESS;
    if (has_context)
        memory->result = driver->cuMemGetInfo(&memory->bytes, &total);
    ask_library(facts, has_context);
    if (has_context)
        driver->cuCtxPopCurrent(&context);
    if (!memory->lacks_context)
        driver->cuDevicePrimaryCtxRelease(device);
}

static void ask_device(struct sp_device_facts *facts, const struct sp_driver *driver) {
    const CUmemAllocationProp prop = {
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = facts->ordinal},
    };
    CUdevice device;
    facts->found = driver->cuDeviceGet(&device, facts->ordinal);
    if (facts->found == CUDA_SUCCESS)
        facts->found = driver->cuDeviceGetName(facts->name, sizeof facts->name, device);
    if (facts->found != CUDA_SUCCESS)
        return;
    facts->memory.result = driver->cuDeviceTotalMem(&facts->memory.bytes, device);
    facts->granule.result = driver->cuMemGetAllocationGranularity(&facts->granule.bytes, &prop,
                                                                  CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    snprintf(facts->capability, sizeof facts->capability, "%d.%d",
             sp_device_attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
             sp_device_attribute(driver, device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
#define ABILITY(name, text, attribute)                                                             \
    facts->name = sp_device_attribute(driver, device, attribute) != 0;
    SP_DEVICE_ABILITIES(ABILITY)
#undef ABILITY
    ask_in_context(facts, driver, device);
}

// ---------------------------------------------------------------------------------------- the host

// An allocation shows it here, too. It makes a context current.
static void ask_host_pool(struct sp_pool_facts *facts, struct poolMemPoolProps props) {
    poolMemPool_t pool = NULL;
    void *block = NULL;
    int maps = 0;
    poolError_t error = poolMemPoolCreate(&pool, &props);
    if (error == poolSuccess)
        error = poolMallocFromPool(&block, 1, pool);
    if (error == poolSuccess)
        error = poolMemPoolGetAttribute(pool, poolMemPoolAttrVirtualMemory, &maps);
    facts->maps = maps != 0;
    note_verdict(facts, error);
    if (block)
        poolFree(block);
    if (pool)
        poolMemPoolDestroy(pool);
}

static void ask_host(struct sp_host_facts *facts) {
#define KIND(name, text, kind, type, use)                                                          \
    ask_host_pool(&facts->name, (struct poolMemPoolProps){                                         \
                                    .allocType = type, .location = {kind, 0}, .usage = use});
    SP_HOST_KINDS(KIND)
#undef KIND
    for (int node = 0; node < SP_NODES_TRIED; node++) {
        struct sp_pool_facts tried;
        ask_host_pool(&tried,
                      (struct poolMemPoolProps){.allocType = poolMemAllocationTypePinned,
                                                .location = {poolMemLocationTypeHostNuma, node}});
        facts->nodes[node] = tried.verdict == poolSuccess;
        if (node == 0)
            facts->first_node = tried;
    }
}

// ----------------------------------------------------------------------------------------------
// all

bool sp_facts_gather(struct sp_facts *facts, const struct sp_driver *driver) {
    *facts = (struct sp_facts){.driver = driver};
    facts->counted = driver->cuDeviceGetCount(&facts->device_count);
    if (facts->counted != CUDA_SUCCESS)
        facts->device_count = 0;
    facts->devices = calloc((size_t)facts->device_count + 1, sizeof *facts->devices);
    if (!facts->devices)
        return false;
    for (int ordinal = 0; ordinal < facts->device_count; ordinal++) {
        facts->devices[ordinal].ordinal = ordinal;
        ask_device(&facts->devices[ordinal], driver);
        facts->working += facts->devices[ordinal].found == CUDA_SUCCESS &&
                          facts->devices[ordinal].pools.verdict == poolSuccess;
    }
    if (facts->device_count > 0)
        ask_host(&facts->host);
    return true;
}

// -------------------------------------------------------------------------------- what is missing

#define NO_DEFAULT_POOL "the device's default pool of CUDA's own can't be compared with"
#define NO_CUDA_POOL    "replay --allocator driver is not possible"

// A driver that lacks what the library requires isn't loaded, so nothing of that stands here.
static const struct absence {
    const char *begin; // of the entry point's name
    const char *meaning;
} absences[] = {
    {"cuStreamGetId",
     "a new stream at a destroyed one's handle can't be told apart, so every free "
     "records an event"},
    {"cuCtxGetId", "a context is known by pinned host memory, which its first call may wait for"},
    {"cuCtxRecordEvent", "short of memory, the frees of a context can't be fenced by one event"},
    {"cuMemFreeAsync", "poolFreeAsync takes no memory of CUDA's own, and " NO_CUDA_POOL},
    {"cuMemAllocAsync", NO_DEFAULT_POOL},
    {"cuDeviceGetDefaultMemPool", NO_DEFAULT_POOL},
    {"cuMemAllocFromPoolAsync", NO_CUDA_POOL},
    {"cuMemPool", NO_CUDA_POOL},
};

bool sp_entry_is_missing(const struct sp_driver *driver, const struct sp_driver_entry *entry) {
    void *function;
    memcpy(&function, (const char *)driver + entry->offset, sizeof function);
    return !function;
}

const char *sp_need_name(enum sp_need need) {
    static const char *const names[] = {[SP_NEED_REQUIRED] = "required",
                                        [SP_NEED_OPTIONAL] = "optional",
                                        [SP_NEED_CLIENT] = "client"};
    return names[need];
}

const char *sp_absence_meaning(const struct sp_driver_entry *entry) {
    for (size_t i = 0; i < sizeof absences / sizeof absences[0]; i++)
        if (strncmp(absences[i].begin, entry->name, strlen(absences[i].begin)) == 0)
            return absences[i].meaning;
    return entry->need == SP_NEED_CLIENT
               ? "the library doesn't need it; commands, tests and benches that do can't run"
               : "the library works, but not as well";
}
