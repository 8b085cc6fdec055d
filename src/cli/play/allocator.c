// The list of the allocators, and two of them: the driver's own pool, and its plain calls. Others
// make its calls for streams and events, too.
#include "cli/play/allocator.h"

#include <stdarg.h>
#include <string.h>

const struct sp_allocator *sp_allocator_find(const char *name, size_t length) {
    static const struct sp_allocator *const allocators[] = {
#define ALLOCATOR_ROW(name, summary) &sp_allocator_##name,
        SP_ALLOCATORS(ALLOCATOR_ROW)
#undef ALLOCATOR_ROW
    };
    for (size_t i = 0; i < SP_ALLOCATOR_COUNT; i++)
        if (strlen(allocators[i]->name) == length && memcmp(allocators[i]->name, name, length) == 0)
            return allocators[i];
    return NULL;
}

const char *sp_allocator_title(const char *name) {
    const struct sp_allocator *allocator = sp_allocator_find(name, strlen(name));
    return allocator ? allocator->title : name;
}

bool sp_allocator_suits(const struct sp_allocator *allocator, const struct sp_trace *trace,
                        char reason[SP_UNSUITED_TEXT]) {
    return !allocator->suits || allocator->suits(trace, reason);
}

bool sp_stage_fail(struct sp_stage *stage, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(stage->reason, sizeof stage->reason, format, arguments);
    va_end(arguments);
    return false;
}

bool sp_stage_hand_on(const struct sp_stage *stage, struct sp_stage *of_device) {
    return stage == of_device ? false
                              : sp_stage_fail(of_device, "memory of the place '%s': %s",
                                              sp_trace_place_word(stage->place), stage->reason);
}

bool sp_stage_check(struct sp_stage *stage, const char *what, int status) {
    return status == 0 || sp_stage_fail(stage, "%s: %s", what, sp_driver_status_name(status));
}

// ------------------------------------------------------------------------------ the driver's calls

int sp_driver_order(struct sp_stage *stage, enum sp_trace_action action, CUstream stream,
                    CUevent event) {
    const struct sp_driver *driver = sp_stage_driver(stage);
    switch (action) {
#define ORDER(action, name, call)                                                                  \
    case SP_TRACE_##action:                                                                        \
        return (int)driver->cu##call;
        SP_ORDERS(ORDER)
#undef ORDER
    case SP_TRACE_SYNCHRONIZE_DEVICE:
        return (int)driver->cuCtxSynchronize();
    default: // the kind of a stream
        return CUDA_SUCCESS;
    }
}

// A peer may return numbers that no driver knows: then the number is all that there is to say.
const char *sp_driver_status_name(int status) {
    static _Thread_local char unknown[32];
    const char *name = sp_driver_error_name((CUresult)status);
    if (!strchr(name, '?'))
        return name;
    snprintf(unknown, sizeof unknown, "error %d", status);
    return unknown;
}

int sp_no_trim(struct sp_stage *stage, uint64_t keep) {
    (void)stage, (void)keep;
    return CUDA_SUCCESS;
}

// ---------------------------------------------------------------------------------------- its pool
//
// It is a pool of its own rather than the device's default one: that one may hold memory that
// others allocated.

static bool driver_set(struct sp_stage *stage, CUmemPool_attribute attribute, uint64_t value) {
    CUresult result =
        sp_stage_driver(stage)->cuMemPoolSetAttribute(stage->driver_pool, attribute, &value);
    return sp_stage_check(stage, "cuMemPoolSetAttribute", (int)result);
}

static int driver_get(struct sp_stage *stage, CUmemPool_attribute attribute, uint64_t *value) {
    return (int)sp_stage_driver(stage)->cuMemPoolGetAttribute(stage->driver_pool, attribute, value);
}

static bool driver_open(struct sp_stage *stage) {
    const struct sp_driver *driver = sp_stage_driver(stage);
    if (!driver->cuMemAllocFromPoolAsync || !driver->cuMemFreeAsync || !driver->cuMemPoolCreate ||
        !driver->cuMemPoolDestroy || !driver->cuMemPoolSetAttribute ||
        !driver->cuMemPoolGetAttribute || !driver->cuMemPoolTrimTo)
        return sp_stage_fail(stage, "the driver has no cuMemAllocAsync (new in CUDA 11.2)");
    if (!sp_device_attribute(driver, stage->device->handle,
                             CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED))
        return sp_stage_fail(stage, "the device has no memory pools (cuMemAllocAsync)");
    CUmemPoolProps props = {
        .allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = stage->device->ordinal},
    };
    CUresult result = driver->cuMemPoolCreate(&stage->driver_pool, &props);
    if (!sp_stage_check(stage, "cuMemPoolCreate", (int)result))
        return false;
    if (driver_set(stage, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, stage->threshold))
        return true;
    driver->cuMemPoolDestroy(stage->driver_pool);
    return false;
}

static bool driver_close(struct sp_stage *stage) {
    const struct sp_driver *driver = sp_stage_driver(stage);
    driver->cuCtxSynchronize();
    driver->cuMemPoolTrimTo(stage->driver_pool, 0);
    driver->cuMemPoolDestroy(stage->driver_pool);
    return true;
}

static bool driver_begin_pass(struct sp_stage *stage) {
    return driver_set(stage, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, 0);
}

static bool driver_reserved_peak(struct sp_stage *stage, uint64_t *bytes) {
    return sp_stage_check(stage, "cuMemPoolGetAttribute",
                          driver_get(stage, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, bytes));
}

static void driver_look(struct sp_stage *stage, struct sp_figures *figures) {
    uint64_t now, high;
    if (driver_get(stage, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &now) == 0 &&
        driver_get(stage, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &high) == 0)
        sp_figures_note(figures, SP_FIGURE_RESERVED, now, high);
}

static int driver_allocate(struct sp_stage *stage, uint64_t *pointer, size_t size,
                           CUstream stream) {
    CUdeviceptr address = 0;
    int status = 0;
    if (size > 0)
        status = (int)sp_stage_driver(stage)->cuMemAllocFromPoolAsync(&address, size,
                                                                      stage->driver_pool, stream);
    *pointer = address;
    return status;
}

static int driver_free(struct sp_stage *stage, uint64_t pointer, size_t size,
                       const CUstream *stream) {
    const struct sp_driver *driver = sp_stage_driver(stage);
    (void)size;
    if (!pointer)
        return CUDA_SUCCESS;
    return (int)(stream ? driver->cuMemFreeAsync(pointer, *stream) : driver->cuMemFree(pointer));
}

static int driver_trim(struct sp_stage *stage, uint64_t keep) {
    return (int)sp_stage_driver(stage)->cuMemPoolTrimTo(stage->driver_pool, keep);
}

const struct sp_allocator sp_allocator_driver = {
    .name = "driver",
    .title = "CUDA's pool",
    .open = driver_open,
    .close = driver_close,
    .begin_pass = driver_begin_pass,
    .reserved_peak = driver_reserved_peak,
    .look = driver_look,
    .allocate = driver_allocate,
    .free = driver_free,
    .trim = driver_trim,
    .order = sp_driver_order,
    .error_name = sp_driver_status_name,
};

// --------------------------------------------------------------------------------- its plain calls
//
// They have no order of streams, and there is no figure of what they reserve. So the device's free
// memory is compared: when the pass begins, and at the operation with the most bytes alive. What is
// held by then is added.

static bool nothing_to_do(struct sp_stage *stage) {
    (void)stage;
    return true;
}

static size_t free_memory(const struct sp_stage *stage) {
    size_t free = 0, total = 0;
    sp_stage_driver(stage)->cuMemGetInfo(&free, &total);
    return free;
}

static bool direct_begin_pass(struct sp_stage *stage) {
    stage->free_before = free_memory(stage);
    stage->free_at_peak = stage->free_before;
    return true;
}

static void direct_at_peak(struct sp_stage *stage) {
    stage->free_at_peak = free_memory(stage);
}

// Where calls failed, or threads mix, most is alive at another moment than the one that was
// measured; and what the driver keeps for small blocks was there before.
static bool direct_reserved_peak(struct sp_stage *stage, uint64_t *bytes) {
    bool shrank = stage->free_at_peak < stage->free_before;
    uint64_t taken = shrank ? stage->free_before - stage->free_at_peak : 0;
    uint64_t measured = stage->held_reserved_bytes + taken;
    *bytes = measured > *bytes ? measured : *bytes;
    return true;
}

// A free gives the memory back before it returns, so none is pending. What is reserved only the
// device could tell, whose answer takes time on its clock.
static void direct_look(struct sp_stage *stage, struct sp_figures *figures) {
    (void)stage;
    sp_figures_note(figures, SP_FIGURE_PENDING, 0, 0);
}

static int direct_allocate(struct sp_stage *stage, uint64_t *pointer, size_t size,
                           CUstream stream) {
    (void)stream;
    CUdeviceptr address = 0;
    CUresult result = size > 0 ? sp_stage_driver(stage)->cuMemAlloc(&address, size) : CUDA_SUCCESS;
    *pointer = address;
    return (int)result;
}

static int direct_free(struct sp_stage *stage, uint64_t pointer, size_t size,
                       const CUstream *stream) {
    (void)size, (void)stream;
    return pointer ? (int)sp_stage_driver(stage)->cuMemFree(pointer) : CUDA_SUCCESS;
}

const struct sp_allocator sp_allocator_direct = {
    .name = "direct",
    .title = "cuMemAlloc",
    .open = nothing_to_do,
    .close = nothing_to_do,
    .begin_pass = direct_begin_pass,
    .at_peak = direct_at_peak,
    .reserved_peak = direct_reserved_peak,
    .look = direct_look,
    .allocate = direct_allocate,
    .free = direct_free,
    .trim = sp_no_trim,
    .order = sp_driver_order,
    .error_name = sp_driver_status_name,
};
