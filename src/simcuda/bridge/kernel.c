// Modules, libraries, functions, and launches of kernels.
#include <string.h>

#include "simcuda/bridge/bridge.h"
#include "simcuda/image/load.h"
#include "simcuda/kernel/function.h"
#include "simcuda/kernel/module.h"
#include "simcuda/memory/device.h"
#include "simcuda/queue/context.h"
#include "simcuda/queue/item.h"
#include "simcuda/queue/queue.h"
#include "simcuda/queue/stream.h"
#include "simcuda/report/report.h"
#include "simcuda/work/launch.h"

// A kernel of a library is its function (module.h), and the library is its module.
static CUfunction function_of(CUkernel kernel) {
    return (CUfunction)(void *)kernel;
}

static CUkernel kernel_of(CUfunction function) {
    return (CUkernel)(void *)function;
}

static CUlibrary library_of(CUmodule module) {
    return (CUlibrary)(void *)module;
}

// ---------------------------------------------------------------------------------------- loading

typedef CUresult (*loader)(struct sim_image *image, const void *source);

static CUresult load_memory(struct sim_image *image, const void *source) {
    return sim_image_load_memory(image, source);
}

static CUresult load_file(struct sim_image *image, const void *source) {
    return sim_image_load_file(image, source);
}

static CUresult load_module(CUmodule *module, loader load, const void *source) {
    struct sim_context *context;
    struct sim_image image;
    if (!module || !source)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = sim_context_current_healthy(&context);
    if (result == CUDA_SUCCESS)
        result = load(&image, source);
    return result == CUDA_SUCCESS ? sim_module_create(context, &image, result, module) : result;
}

// As seen on an H200: an image that is none is no error yet. The driver reads it when something is
// looked for in it.
static CUresult load_library(CUlibrary *library, loader load, const void *source) {
    CUmodule module;
    struct sim_image image;
    if (!library || !source)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = load(&image, source);
    if (result == CUDA_SUCCESS || result == CUDA_ERROR_INVALID_IMAGE ||
        result == CUDA_ERROR_INVALID_PTX)
        result = sim_module_create(NULL, &image, result, &module);
    if (result == CUDA_SUCCESS)
        *library = library_of(module);
    return result;
}

static bool is_log(CUjit_option option) {
    return option == CU_JIT_INFO_LOG_BUFFER || option == CU_JIT_ERROR_LOG_BUFFER;
}

// The option behind that of a buffer has its size, in the bytes of an unsigned int.
static unsigned size_of(CUjit_option log, const CUjit_option *options, void *const *values,
                        unsigned count) {
    unsigned size = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == log + 1)
            memcpy(&size, &values[i], sizeof size);
    }
    return size;
}

// Nothing is compiled, so it takes no time, and logs are empty.
static CUresult tell_of_compiling(const CUjit_option *options, void **values, unsigned count) {
    if (count > 0 && (!options || !values))
        return CUDA_ERROR_INVALID_VALUE;
    for (unsigned i = 0; i < count; i++) {
        if (is_log(options[i]) && values[i] && size_of(options[i], options, values, count) > 0)
            *(char *)values[i] = '\0';
    }
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == CU_JIT_WALL_TIME || is_log((CUjit_option)(options[i] - 1)))
            values[i] = NULL;
    }
    return CUDA_SUCCESS;
}

CUresult cuModuleLoadData(CUmodule *module, const void *image) {
    SIM_CALL(cuModuleLoadData, load_module(module, load_memory, image));
}

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
                            CUjit_option *options, void **values) {
    SIM_BEGIN(cuModuleLoadDataEx);
    CUresult result = tell_of_compiling(options, values, count);
    SIM_END(cuModuleLoadDataEx,
            result == CUDA_SUCCESS ? load_module(module, load_memory, image) : result);
}

CUresult cuModuleLoadFatBinary(CUmodule *module, const void *image) {
    SIM_CALL(cuModuleLoadFatBinary, load_module(module, load_memory, image));
}

CUresult cuModuleLoad(CUmodule *module, const char *path) {
    SIM_CALL(cuModuleLoad, load_module(module, load_file, path));
}

CUresult cuModuleUnload(CUmodule module) {
    SIM_CALL(cuModuleUnload, sim_module_unload(module));
}

// No option of a library changes what is done here.
CUresult cuLibraryLoadData(CUlibrary *library, const void *image, CUjit_option *options,
                           void **values, unsigned int count, CUlibraryOption *libraryOptions,
                           void **libraryValues, unsigned int libraryCount) {
    (void)libraryOptions, (void)libraryValues, (void)libraryCount;
    SIM_BEGIN(cuLibraryLoadData);
    CUresult result = tell_of_compiling(options, values, count);
    SIM_END(cuLibraryLoadData,
            result == CUDA_SUCCESS ? load_library(library, load_memory, image) : result);
}

CUresult cuLibraryLoadFromFile(CUlibrary *library, const char *path, CUjit_option *options,
                               void **values, unsigned int count, CUlibraryOption *libraryOptions,
                               void **libraryValues, unsigned int libraryCount) {
    (void)libraryOptions, (void)libraryValues, (void)libraryCount;
    SIM_BEGIN(cuLibraryLoadFromFile);
    CUresult result = tell_of_compiling(options, values, count);
    SIM_END(cuLibraryLoadFromFile,
            result == CUDA_SUCCESS ? load_library(library, load_file, path) : result);
}

CUresult cuLibraryUnload(CUlibrary library) {
    SIM_CALL(cuLibraryUnload, sim_module_unload_library(library));
}

// ------------------------------------------------------------------------ what modules hold

// All functions are there once their module is.
CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode *mode) {
    SIM_BEGIN(cuModuleGetLoadingMode);
    if (!mode)
        SIM_END(cuModuleGetLoadingMode, CUDA_ERROR_INVALID_VALUE);
    *mode = CU_MODULE_EAGER_LOADING;
    SIM_END(cuModuleGetLoadingMode, CUDA_SUCCESS);
}

// Checks that something can be looked for in a module, or library.
static CUresult check_module(const struct CUmod_st *module) {
    return module ? sim_module_failure(module) : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult find_function(CUfunction *function, const struct CUmod_st *module,
                              const char *name) {
    if (!function || !name)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_module(module);
    if (result != CUDA_SUCCESS)
        return result;
    CUfunction found = sim_module_function(module, name);
    if (!found)
        return CUDA_ERROR_NOT_FOUND;
    *function = found;
    return CUDA_SUCCESS;
}

static CUresult count_functions(unsigned int *count, const struct CUmod_st *module) {
    if (!count)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_module(module);
    if (result == CUDA_SUCCESS)
        *count = (unsigned int)sim_module_function_count(module);
    return result;
}

static CUresult list_functions(CUfunction *functions, unsigned int count,
                               const struct CUmod_st *module) {
    if (!functions || count == 0)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_module(module);
    if (result != CUDA_SUCCESS)
        return result;
    for (size_t i = 0; i < count && i < sim_module_function_count(module); i++)
        functions[i] = sim_module_function_at(module, i);
    return CUDA_SUCCESS;
}

// Variables of a module are not simulated, so none is found.
static CUresult find_global(const CUdeviceptr *address, const size_t *size,
                            const struct CUmod_st *module, const char *name) {
    if ((!address && !size) || !name)
        return CUDA_ERROR_INVALID_VALUE;
    CUresult result = check_module(module);
    return result == CUDA_SUCCESS ? CUDA_ERROR_NOT_FOUND : result;
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
    SIM_CALL(cuModuleGetFunction, find_function(function, sim_module_of(module), name));
}

CUresult cuModuleGetFunctionCount(unsigned int *count, CUmodule module) {
    SIM_CALL(cuModuleGetFunctionCount, count_functions(count, sim_module_of(module)));
}

CUresult cuModuleEnumerateFunctions(CUfunction *functions, unsigned int count, CUmodule module) {
    SIM_CALL(cuModuleEnumerateFunctions, list_functions(functions, count, sim_module_of(module)));
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *address, size_t *size, CUmodule module,
                              const char *name) {
    SIM_CALL(cuModuleGetGlobal_v2, find_global(address, size, sim_module_of(module), name));
}

CUresult cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
    CUfunction function = NULL;
    SIM_BEGIN(cuLibraryGetKernel);
    CUresult result = kernel ? find_function(&function, sim_module_of_library(library), name)
                             : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        *kernel = kernel_of(function);
    SIM_END(cuLibraryGetKernel, result);
}

CUresult cuLibraryGetKernelCount(unsigned int *count, CUlibrary library) {
    SIM_CALL(cuLibraryGetKernelCount, count_functions(count, sim_module_of_library(library)));
}

CUresult cuLibraryEnumerateKernels(CUkernel *kernels, unsigned int count, CUlibrary library) {
    SIM_CALL(cuLibraryEnumerateKernels,
             list_functions((CUfunction *)(void *)kernels, count, sim_module_of_library(library)));
}

CUresult cuLibraryGetGlobal(CUdeviceptr *address, size_t *size, CUlibrary library,
                            const char *name) {
    SIM_CALL(cuLibraryGetGlobal, find_global(address, size, sim_module_of_library(library), name));
}

static CUresult check_context(void) {
    struct sim_context *context;
    return sim_context_current_healthy(&context);
}

CUresult cuLibraryGetModule(CUmodule *module, CUlibrary library) {
    SIM_BEGIN(cuLibraryGetModule);
    CUresult result = module ? check_context() : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = check_module(sim_module_of_library(library));
    if (result == CUDA_SUCCESS)
        *module = (CUmodule)(void *)library;
    SIM_END(cuLibraryGetModule, result);
}

// -------------------------------------------------------------------------------------- functions

static struct sim_function *find_kernel(CUkernel kernel) {
    struct sim_function *function = sim_function_find(function_of(kernel));
    return function && sim_module_is_library(function->module) ? function : NULL;
}

CUresult cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
    SIM_BEGIN(cuKernelGetFunction);
    CUresult result = function ? check_context() : CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS && !find_kernel(kernel))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        *function = function_of(kernel);
    SIM_END(cuKernelGetFunction, result);
}

// Checks what a call needs: a place for its result, and a function.
static CUresult check(const void *result, const struct sim_function *function) {
    if (!result)
        return CUDA_ERROR_INVALID_VALUE;
    return function ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuKernelGetLibrary(CUlibrary *library, CUkernel kernel) {
    SIM_BEGIN(cuKernelGetLibrary);
    const struct sim_function *found = find_kernel(kernel);
    CUresult result = check(library, found);
    if (result == CUDA_SUCCESS)
        *library = library_of(found->module);
    SIM_END(cuKernelGetLibrary, result);
}

CUresult cuFuncGetModule(CUmodule *module, CUfunction function) {
    SIM_BEGIN(cuFuncGetModule);
    const struct sim_function *found = sim_function_find(function);
    CUresult result = check(module, found);
    if (result == CUDA_SUCCESS)
        *module = found->module;
    SIM_END(cuFuncGetModule, result);
}

static CUresult get_name(const char **name, const struct sim_function *function) {
    CUresult result = check(name, function);
    if (result == CUDA_SUCCESS)
        *name = function->kernel->name;
    return result;
}

CUresult cuKernelGetName(const char **name, CUkernel kernel) {
    SIM_CALL(cuKernelGetName, get_name(name, find_kernel(kernel)));
}

CUresult cuFuncGetName(const char **name, CUfunction function) {
    SIM_CALL(cuFuncGetName, get_name(name, sim_function_find(function)));
}

static CUresult get_parameter(const struct sim_function *function, size_t index, size_t *offset,
                              size_t *size) {
    CUresult result = check(offset, function);
    if (result != CUDA_SUCCESS)
        return result;
    if (!function->kernel->has_layout || index >= function->kernel->count)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = function->kernel->parameters[index].offset;
    if (size)
        *size = function->kernel->parameters[index].size;
    return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size) {
    SIM_CALL(cuKernelGetParamInfo, get_parameter(find_kernel(kernel), index, offset, size));
}

CUresult cuFuncGetParamInfo(CUfunction function, size_t index, size_t *offset, size_t *size) {
    SIM_CALL(cuFuncGetParamInfo, get_parameter(sim_function_find(function), index, offset, size));
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute attribute, CUfunction function) {
    SIM_BEGIN(cuFuncGetAttribute);
    const struct sim_function *found = sim_function_find(function);
    CUresult result = check(value, found);
    SIM_END(cuFuncGetAttribute,
            result == CUDA_SUCCESS ? sim_function_get(found, attribute, value) : result);
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
    SIM_BEGIN(cuFuncSetAttribute);
    struct sim_function *found = sim_function_find(function);
    SIM_END(cuFuncSetAttribute,
            found ? sim_function_set(found, attribute, value) : CUDA_ERROR_INVALID_HANDLE);
}

static CUresult check_on_device(const struct sim_function *function, CUdevice device) {
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    return sim_device_exists(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

// A kernel has the same attributes on all devices.
CUresult cuKernelGetAttribute(int *value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice device) {
    SIM_BEGIN(cuKernelGetAttribute);
    const struct sim_function *found = find_kernel(kernel);
    CUresult result = value ? check_on_device(found, device) : CUDA_ERROR_INVALID_VALUE;
    SIM_END(cuKernelGetAttribute,
            result == CUDA_SUCCESS ? sim_function_get(found, attribute, value) : result);
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel,
                              CUdevice device) {
    SIM_BEGIN(cuKernelSetAttribute);
    struct sim_function *found = find_kernel(kernel);
    CUresult result = check_on_device(found, device);
    SIM_END(cuKernelSetAttribute,
            result == CUDA_SUCCESS ? sim_function_set(found, attribute, value) : result);
}

// A preference of caches changes nothing that can be seen.
static CUresult check_cache(const struct sim_function *function, CUfunc_cache cache) {
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    bool is_one = (unsigned int)cache <= CU_FUNC_CACHE_PREFER_EQUAL;
    return is_one ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache cache, CUdevice device) {
    SIM_BEGIN(cuKernelSetCacheConfig);
    const struct sim_function *found = find_kernel(kernel);
    CUresult result = check_on_device(found, device);
    SIM_END(cuKernelSetCacheConfig, result == CUDA_SUCCESS ? check_cache(found, cache) : result);
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache cache) {
    SIM_CALL(cuFuncSetCacheConfig, check_cache(sim_function_find(function), cache));
}

CUresult cuFuncLoad(CUfunction function) {
    SIM_CALL(cuFuncLoad, sim_function_find(function) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE);
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction function) {
    SIM_BEGIN(cuFuncIsLoaded);
    CUresult result = check(state, sim_function_find(function));
    if (result == CUDA_SUCCESS)
        *state = CU_FUNCTION_LOADING_STATE_LOADED;
    SIM_END(cuFuncIsLoaded, result);
}

// --------------------------------------------------------------------------------------- launches

static CUresult launch(CUfunction handle, const struct sim_grid *grid, CUstream stream,
                       void *const *parameters, void *const *extra) {
    struct sim_job job = {0};
    struct sim_queue *queue;
    struct sim_function *function = sim_function_find(handle);
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = sim_stream_queue(stream, &queue);
    if (result == CUDA_SUCCESS && !sim_module_serves(function->module, queue->context))
        result = CUDA_ERROR_INVALID_HANDLE;
    if (result == CUDA_SUCCESS)
        result = sim_function_job(function, grid, queue->context->device, parameters, extra, &job);
    return result == CUDA_SUCCESS ? sim_launch(stream, sim_report_call(), &job) : result;
}

CUresult cuLaunchKernel(CUfunction function, unsigned int gridX, unsigned int gridY,
                        unsigned int gridZ, unsigned int blockX, unsigned int blockY,
                        unsigned int blockZ, unsigned int sharedBytes, CUstream stream,
                        void **parameters, void **extra) {
    const struct sim_grid grid = {
        .grid = {gridX, gridY, gridZ}, .block = {blockX, blockY, blockZ}, .shared = sharedBytes};
    SIM_CALL(cuLaunchKernel, launch(function, &grid, stream, parameters, extra));
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int gridX, unsigned int gridY,
                                   unsigned int gridZ, unsigned int blockX, unsigned int blockY,
                                   unsigned int blockZ, unsigned int sharedBytes, CUstream stream,
                                   void **parameters) {
    const struct sim_grid grid = {.grid = {gridX, gridY, gridZ},
                                  .block = {blockX, blockY, blockZ},
                                  .shared = sharedBytes,
                                  .is_cooperative = true};
    SIM_CALL(cuLaunchCooperativeKernel, launch(function, &grid, stream, parameters, NULL));
}

// Those that only hint at how to run the kernel change nothing. Those that would record an event,
// or let a graph change the launch, are refused: nothing here does it.
static CUresult apply(const CUlaunchAttribute *attribute, struct sim_grid *grid) {
    switch (attribute->id) {
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
        grid->is_cooperative = attribute->value.cooperative != 0;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
        grid->cluster[0] = attribute->value.clusterDim.x;
        grid->cluster[1] = attribute->value.clusterDim.y;
        grid->cluster[2] = attribute->value.clusterDim.z;
        return CUDA_SUCCESS;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE:
        return CUDA_ERROR_NOT_SUPPORTED;
    default:
        return CUDA_SUCCESS;
    }
}

static CUresult read_config(const CUlaunchConfig *config, struct sim_grid *grid) {
    if (!config || (config->numAttrs > 0 && !config->attrs))
        return CUDA_ERROR_INVALID_VALUE;
    *grid = (struct sim_grid){.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
                              .block = {config->blockDimX, config->blockDimY, config->blockDimZ},
                              .shared = config->sharedMemBytes};
    CUresult result = CUDA_SUCCESS;
    for (unsigned int i = 0; i < config->numAttrs && result == CUDA_SUCCESS; i++)
        result = apply(&config->attrs[i], grid);
    return result;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters,
                          void **extra) {
    struct sim_grid grid;
    SIM_BEGIN(cuLaunchKernelEx);
    CUresult result = read_config(config, &grid);
    if (result == CUDA_SUCCESS)
        result = launch(function, &grid, config->hStream, parameters, extra);
    SIM_END(cuLaunchKernelEx, result);
}

// -------------------------------------------------------------------------------------- occupancy

static CUresult count_blocks(int *blocks, CUfunction handle, int threads, size_t shared,
                             unsigned int flags) {
    const struct sim_function *function = sim_function_find(handle);
    CUresult result = check(blocks, function);
    if (result != CUDA_SUCCESS)
        return result;
    struct sim_grid_limits limits = sim_function_limits(function, 1);
    if (threads <= 0 || flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    bool has_room = (uint32_t)threads <= limits.threads && shared <= limits.shared;
    *blocks = has_room ? sim_grid_blocks((uint64_t)threads, shared) : 0;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction function, int threads,
                                                     size_t shared) {
    SIM_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessor,
             count_blocks(blocks, function, threads, shared, 0));
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction function,
                                                              int threads, size_t shared,
                                                              unsigned int flags) {
    SIM_CALL(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
             count_blocks(blocks, function, threads, shared, flags));
}

// The block size that keeps the most threads of a multiprocessor busy; of several the largest.
struct choice {
    int blocks; // on a multiprocessor
    int threads;
};

// The program's function is called without the engine's lock.
static struct choice choose(const struct sim_grid_limits *limits, CUoccupancyB2DSize sharedOf,
                            size_t shared, int limit) {
    struct choice best = {0};
    int most = limit > 0 && (uint32_t)limit < limits->threads ? limit : (int)limits->threads;
    for (int threads = most; threads > 0; threads = (threads - 1) / SIM_GRID_WARP * SIM_GRID_WARP) {
        size_t bytes = sharedOf ? sharedOf(threads) : shared;
        int blocks = bytes <= limits->shared ? sim_grid_blocks((uint64_t)threads, bytes) : 0;
        if (blocks * threads > best.blocks * best.threads)
            best = (struct choice){blocks, threads};
    }
    return best;
}

static CUresult find_limits(const int *blocks, const int *threads, CUfunction handle, int limit,
                            unsigned int flags, struct sim_grid_limits *limits) {
    struct sim_context *context;
    int multiprocessors = 0;
    const struct sim_function *function = sim_function_find(handle);
    if (!blocks || !threads || limit < 0 || flags > 1)
        return CUDA_ERROR_INVALID_VALUE;
    if (!function)
        return CUDA_ERROR_INVALID_HANDLE;
    CUresult result = sim_context_current_healthy(&context);
    if (result != CUDA_SUCCESS)
        return result;
    sim_device_attribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
                         context->device);
    *limits = sim_function_limits(function, multiprocessors);
    return CUDA_SUCCESS;
}

static CUresult choose_block(int *blocks, int *threads, CUoccupancyB2DSize sharedOf, size_t shared,
                             int limit, const struct sim_grid_limits *limits) {
    struct choice choice = choose(limits, sharedOf, shared, limit);
    if (choice.blocks == 0)
        return CUDA_ERROR_INVALID_VALUE;
    *blocks = choice.blocks * limits->multiprocessors;
    *threads = choice.threads;
    return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialBlockSize(int *blocks, int *threads, CUfunction function,
                                          CUoccupancyB2DSize sharedOf, size_t shared, int limit) {
    struct sim_grid_limits limits;
    SIM_BEGIN(cuOccupancyMaxPotentialBlockSize);
    CUresult result = sim_call_end(SIM_ENTRY_cuOccupancyMaxPotentialBlockSize,
                                   find_limits(blocks, threads, function, limit, 0, &limits));
    return result == CUDA_SUCCESS ? choose_block(blocks, threads, sharedOf, shared, limit, &limits)
                                  : result;
}

CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int *blocks, int *threads, CUfunction function,
                                                   CUoccupancyB2DSize sharedOf, size_t shared,
                                                   int limit, unsigned int flags) {
    struct sim_grid_limits limits;
    SIM_BEGIN(cuOccupancyMaxPotentialBlockSizeWithFlags);
    CUresult result = sim_call_end(SIM_ENTRY_cuOccupancyMaxPotentialBlockSizeWithFlags,
                                   find_limits(blocks, threads, function, limit, flags, &limits));
    return result == CUDA_SUCCESS ? choose_block(blocks, threads, sharedOf, shared, limit, &limits)
                                  : result;
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t *shared, CUfunction function, int blocks,
                                                 int threads) {
    SIM_BEGIN(cuOccupancyAvailableDynamicSMemPerBlock);
    CUresult result = check(shared, sim_function_find(function));
    if (result == CUDA_SUCCESS && threads <= 0)
        result = CUDA_ERROR_INVALID_VALUE;
    if (result == CUDA_SUCCESS)
        result = sim_grid_shared_for(blocks, (uint64_t)threads, shared);
    SIM_END(cuOccupancyAvailableDynamicSMemPerBlock, result);
}
