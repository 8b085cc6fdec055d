#include "simcuda/kernel/function.h"

#include <stdbool.h>
#include <string.h>

#include "simcuda/common/host.h"
#include "simcuda/common/shared.h"
#include "simcuda/kernel/kernel.h"
#include "simcuda/kernel/registered.h"
#include "simcuda/kernel/unregistered.h"
#include "simcuda/memory/device.h"
#include "simcuda/queue/item.h"

#define MAX_FUNCTIONS ((size_t)1 << 17)
#define ARCHITECTURE  90 // of the code that a device of compute capability 9.0 runs

static struct sim_slab slab;

static bool has_slab(void) {
    return slab.base ||
           sim_slab_init(&slab, SIM_SLAB_OF_FUNCTIONS, sizeof(struct sim_function), MAX_FUNCTIONS);
}

static int ptx_version(const struct sim_image_kernel *kernel) {
    return kernel->architecture > 0 ? (int)kernel->architecture : ARCHITECTURE;
}

static int most_threads(const struct sim_image_kernel *kernel) {
    bool is_limited = kernel->max_threads > 0 && kernel->max_threads < SIM_GRID_BLOCK_THREADS;
    return is_limited ? (int)kernel->max_threads : SIM_GRID_BLOCK_THREADS;
}

struct sim_function *sim_function_take(CUmodule module, const struct sim_image_kernel *kernel) {
    struct sim_function *function = has_slab() ? sim_slab_take(&slab) : NULL;
    if (!function)
        return NULL;
    int *attributes = function->attributes;
    memset(attributes, 0, sizeof(function->attributes));
    attributes[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = most_threads(kernel);
    attributes[CU_FUNC_ATTRIBUTE_NUM_REGS] = SIM_GRID_REGISTERS;
    attributes[CU_FUNC_ATTRIBUTE_PTX_VERSION] = ptx_version(kernel);
    attributes[CU_FUNC_ATTRIBUTE_BINARY_VERSION] = ARCHITECTURE;
    attributes[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = SIM_GRID_SHARED_DEFAULT;
    attributes[CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = -1;
    function->module = module;
    function->kernel = kernel;
    function->registration = NULL;
    function->generation = 0;
    sim_slab_publish(function, sim_next_identity());
    return function;
}

void sim_function_give(struct sim_function *function) {
    sim_slab_give(&slab, function);
}

CUfunction sim_function_handle(const struct sim_function *function) {
    uintptr_t handle = sim_slab_handle(&slab, function);
    CUfunction result;
    memcpy(&result, &handle, sizeof(result));
    return result;
}

struct sim_function *sim_function_find(CUfunction handle) {
    return sim_slab_find(&slab, (uintptr_t)handle);
}

// ------------------------------------------------------------------------------------- attributes

// The values that a program may set; none where the least one is larger than the most.
static const struct {
    int least;
    int most;
} settable[SIM_FUNCTION_ATTRIBUTES] = {
    [CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = {1, 0},
    [CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES] = {1, 0},
    [CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES] = {1, 0},
    [CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES] = {1, 0},
    [CU_FUNC_ATTRIBUTE_NUM_REGS] = {1, 0},
    [CU_FUNC_ATTRIBUTE_PTX_VERSION] = {1, 0},
    [CU_FUNC_ATTRIBUTE_BINARY_VERSION] = {1, 0},
    [CU_FUNC_ATTRIBUTE_CACHE_MODE_CA] = {1, 0},
    [CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = {0, SIM_GRID_SHARED_MOST},
    [CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT] = {-1, 100},
    [CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET] = {1, 0},
    [CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = {0, SIM_GRID_CLUSTER_MOST},
    [CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT] = {0, SIM_GRID_CLUSTER_MOST},
    [CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH] = {0, SIM_GRID_CLUSTER_MOST},
    [CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED] = {0, 1},
    [CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE] = {0, 2},
};

static bool is_attribute(CUfunction_attribute attribute) {
    return (unsigned int)attribute < SIM_FUNCTION_ATTRIBUTES;
}

CUresult sim_function_get(const struct sim_function *function, CUfunction_attribute attribute,
                          int *value) {
    if (!is_attribute(attribute))
        return CUDA_ERROR_INVALID_VALUE;
    *value = function->attributes[attribute];
    return CUDA_SUCCESS;
}

CUresult sim_function_set(struct sim_function *function, CUfunction_attribute attribute,
                          int value) {
    if (!is_attribute(attribute) || value < settable[attribute].least ||
        value > settable[attribute].most)
        return CUDA_ERROR_INVALID_VALUE;
    function->attributes[attribute] = value;
    return CUDA_SUCCESS;
}

static uint32_t as_set(const struct sim_function *function, CUfunction_attribute attribute) {
    return (uint32_t)function->attributes[attribute];
}

struct sim_grid_limits sim_function_limits(const struct sim_function *function,
                                           int multiprocessors) {
    return (struct sim_grid_limits){
        .threads = as_set(function, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .shared = as_set(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES),
        .cluster = as_set(function, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
                       ? SIM_GRID_CLUSTER_MOST
                       : SIM_GRID_CLUSTER_DEFAULT,
        .multiprocessors = multiprocessors,
    };
}

// --------------------------------------------------------------------------------------- launches

struct buffer {
    char *bytes;
    size_t size;
};

static bool read_extra(void *const *extra, struct buffer *buffer) {
    for (; extra[0] != CU_LAUNCH_PARAM_END; extra += 2) {
        if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
            buffer->bytes = extra[1];
        else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
            memcpy(&buffer->size, extra[1], sizeof(buffer->size));
        else
            return false;
    }
    return true;
}

// Finds each parameter in the one buffer that has all of them.
static CUresult point_into_extra(const struct sim_kernel_call *call, void *const *extra,
                                 void **pointers) {
    struct buffer buffer = {0};
    if (!read_extra(extra, &buffer))
        return CUDA_ERROR_INVALID_VALUE;
    for (size_t i = 0; i < call->count; i++) {
        if (!buffer.bytes || call->layout[i].offset + call->layout[i].size > buffer.size)
            return CUDA_ERROR_INVALID_VALUE;
        pointers[i] = buffer.bytes + call->layout[i].offset;
    }
    return CUDA_SUCCESS;
}

static const struct sim_registration *registration_of(struct sim_function *function) {
    if (function->generation != sim_registered_generation) {
        function->registration = sim_registered_find(function->kernel->name);
        function->generation = sim_registered_generation;
    }
    return function->registration;
}

static void fill(struct sim_function *function, const struct sim_kernel_call *call,
                 struct sim_job *job) {
    const struct sim_registration *registration = registration_of(function);
    if (registration)
        sim_registered_job(registration, call, job);
    else if (!sim_kernel_job(call, job))
        sim_unregistered_job(call, job);
}

static CUresult fill_from_extra(struct sim_function *function, struct sim_kernel_call *call,
                                void *const *extra, struct sim_job *job) {
    if (call->count > 0 && !function->kernel->has_layout)
        return CUDA_ERROR_NOT_SUPPORTED;
    void **pointers = sim_allocate(call->count * sizeof(*pointers));
    call->parameters = pointers;
    CUresult result = point_into_extra(call, extra, pointers);
    if (result == CUDA_SUCCESS)
        fill(function, call, job);
    sim_free(pointers);
    return result;
}

// Where the image doesn't say what the parameters are, the registration does, or else they are
// passed over.
static void set_layout(struct sim_function *function, struct sim_kernel_call *call) {
    const struct sim_registration *registration = registration_of(function);
    call->layout = function->kernel->parameters;
    call->count = function->kernel->has_layout ? function->kernel->count : 0;
    if (!function->kernel->has_layout && registration) {
        call->layout = registration->layout;
        call->count = registration->count;
    }
}

static int multiprocessors_of(int device) {
    int count = 0;
    sim_device_attribute(&count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    return count;
}

static bool are_given(const struct sim_kernel_call *call) {
    for (size_t i = 0; i < call->count; i++) {
        if (!call->parameters || !call->parameters[i])
            return false;
    }
    return true;
}

// A launch that says nothing of clusters has those that were set of the function.
static struct sim_grid with_clusters(const struct sim_function *function,
                                     const struct sim_grid *grid) {
    struct sim_grid result = *grid;
    if (grid->cluster[0] || grid->cluster[1] || grid->cluster[2])
        return result;
    result.cluster[0] = as_set(function, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
    result.cluster[1] = as_set(function, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
    result.cluster[2] = as_set(function, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
    return result;
}

CUresult sim_function_job(struct sim_function *function, const struct sim_grid *grid, int device,
                          void *const *parameters, void *const *extra, struct sim_job *job) {
    struct sim_kernel_call call = {.name = function->kernel->name,
                                   .grid = with_clusters(function, grid),
                                   .device = device,
                                   .parameters = parameters};
    struct sim_grid_limits limits = sim_function_limits(function, multiprocessors_of(device));
    CUresult result = sim_grid_check(&call.grid, &limits);
    if (result != CUDA_SUCCESS)
        return result;
    if (parameters && extra)
        return CUDA_ERROR_INVALID_VALUE;
    set_layout(function, &call);
    if (extra)
        return fill_from_extra(function, &call, extra, job);
    if (!are_given(&call))
        return CUDA_ERROR_INVALID_VALUE;
    fill(function, &call, job);
    return CUDA_SUCCESS;
}

void sim_function_reset(void) {
    if (slab.base)
        sim_slab_clear(&slab);
    sim_unregistered_reset();
}
