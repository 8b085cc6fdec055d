// Rows of modules, libraries and kernels: what is told of them, how they are launched, and how many
// blocks run at a time.
#include <stdint.h>
#include <string.h>

#include "conformance/rows.h"
#include "conformance/wider.h"
#include "simcuda/kernel/kernels.h"
#include "support/check.h"
#include "support/device.h"
#include "support/simulated.h"

#define KERNELS 4 // in the image

static CUmodule module_of_kernels(void) {
    CUmodule module = NULL;
    DRIVER(test_driver()->cuModuleLoadData(&module, SP_KERNELS_PTX));
    return module;
}

static CUfunction function_of(const char *name) {
    CUfunction function = NULL;
    DRIVER(test_driver()->cuModuleGetFunction(&function, module_of_kernels(), name));
    return function;
}

static CUlibrary library_of_kernels(void) {
    CUlibrary library = NULL;
    WIDER_NEEDS(cuLibraryLoadData);
    DRIVER(wider()->cuLibraryLoadData(&library, SP_KERNELS_PTX, NULL, NULL, 0, NULL, NULL, 0));
    return library;
}

static CUkernel kernel_of(CUlibrary library, const char *name) {
    CUkernel kernel = NULL;
    DRIVER(wider()->cuLibraryGetKernel(&kernel, library, name));
    return kernel;
}

static uint64_t attribute(CUfunction function, CUfunction_attribute which) {
    int value = 0;
    DRIVER(wider()->cuFuncGetAttribute(&value, which, function));
    return (uint64_t)value;
}

// The parameters of sp_fill.
struct fill {
    CUdeviceptr memory;
    uint64_t bytes;
    uint32_t seed;
    void *pointers[3];
};

static void set_up(struct fill *fill, uint32_t seed) {
    fill->bytes = KIB(4);
    fill->seed = seed;
    DRIVER(test_driver()->cuMemAlloc(&fill->memory, fill->bytes));
    fill->pointers[0] = &fill->memory;
    fill->pointers[1] = &fill->bytes;
    fill->pointers[2] = &fill->seed;
}

static uint64_t first_word(const struct fill *fill) {
    uint32_t word = 0;
    DRIVER(test_driver()->cuMemcpyDtoH(&word, fill->memory, sizeof word));
    return word;
}

// ----------------------------------------------------------------------------- modules, libraries

void row_a_variable_that_a_module_lacks_is_not_found(void) {
    CUdeviceptr address = 0;
    size_t size = 0;
    CUmodule module = module_of_kernels();
    ANSWERS(wider()->cuModuleGetGlobal_v2(&address, &size, module, "none"), CUDA_ERROR_NOT_FOUND);
    ANSWERS(wider()->cuModuleGetGlobal_v2(&address, NULL, module, "none"), CUDA_ERROR_NOT_FOUND);
    ANSWERS(wider()->cuModuleGetGlobal_v2(&address, &size, module, NULL), CUDA_ERROR_INVALID_VALUE);
}

void row_a_module_counts_and_lists_its_functions(void) {
    unsigned int count = 0;
    CUfunction functions[KERNELS] = {0};
    CUmodule module = module_of_kernels(), found = NULL;
    WIDER_NEEDS(cuModuleEnumerateFunctions);
    DRIVER(wider()->cuModuleGetFunctionCount(&count, module));
    IS_TOLD(count, KERNELS);
    DRIVER(wider()->cuModuleEnumerateFunctions(functions, KERNELS, module));
    for (int i = 0; i < KERNELS; i++) {
        DRIVER(wider()->cuFuncGetModule(&found, functions[i]));
        REQUIRE(found == module);
    }
    ANSWERS(wider()->cuModuleGetFunctionCount(NULL, module), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuModuleEnumerateFunctions(NULL, KERNELS, module), CUDA_ERROR_INVALID_VALUE);
}

void row_no_image_and_no_place_for_the_module_are_invalid(void) {
    CUmodule module = NULL;
    ANSWERS(test_driver()->cuModuleLoadData(&module, NULL), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuModuleLoadData(NULL, SP_KERNELS_PTX), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuModuleLoad(&module, "/no/such/file"), CUDA_ERROR_FILE_NOT_FOUND);
}

void row_no_module_has_a_function(void) {
    CUfunction function = NULL;
    CUmodule module = module_of_kernels();
    ANSWERS(test_driver()->cuModuleGetFunction(&function, NULL, "sp_fill"),
            CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(test_driver()->cuModuleGetFunction(&function, module, NULL), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(test_driver()->cuModuleGetFunction(NULL, module, "sp_fill"), CUDA_ERROR_INVALID_VALUE);
}

void row_a_library_counts_and_lists_its_kernels(void) {
    CUlibrary library = library_of_kernels(), found = NULL;
    CUkernel kernels[KERNELS] = {0};
    unsigned int count = 0;
    WIDER_NEEDS(cuKernelGetLibrary);
    DRIVER(wider()->cuLibraryGetKernelCount(&count, library));
    IS_TOLD(count, KERNELS);
    DRIVER(wider()->cuLibraryEnumerateKernels(kernels, KERNELS, library));
    DRIVER(wider()->cuKernelGetLibrary(&found, kernels[KERNELS - 1]));
    REQUIRE(found == library);
}

void row_a_kernel_and_a_function_tell_their_name(void) {
    const char *name = NULL;
    CUfunction fill = function_of("sp_fill");
    WIDER_NEEDS(cuFuncGetName);
    DRIVER(wider()->cuFuncGetName(&name, fill));
    REQUIRE(name && strcmp(name, "sp_fill") == 0);
    DRIVER(wider()->cuKernelGetName(&name, kernel_of(library_of_kernels(), "sp_check")));
    REQUIRE(name && strcmp(name, "sp_check") == 0);
    ANSWERS(wider()->cuFuncGetName(NULL, fill), CUDA_ERROR_INVALID_VALUE);
}

void row_an_image_of_a_library_is_looked_at_later(void) {
    CUlibrary library = NULL;
    WIDER_NEEDS(cuLibraryLoadData);
    DRIVER(wider()->cuLibraryLoadData(&library, "this is no image", NULL, NULL, 0, NULL, NULL, 0));
    ANSWERS(wider()->cuLibraryLoadData(&library, NULL, NULL, NULL, 0, NULL, NULL, 0),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuLibraryLoadFromFile(&library, "/no/such/file", NULL, NULL, 0, NULL, NULL, 0),
            CUDA_ERROR_FILE_NOT_FOUND);
}

void row_what_a_library_lacks_is_not_found(void) {
    CUlibrary library = library_of_kernels();
    CUdeviceptr address = 0;
    CUkernel kernel = NULL;
    size_t size = 0;
    ANSWERS(wider()->cuLibraryGetGlobal(&address, &size, library, "none"), CUDA_ERROR_NOT_FOUND);
    ANSWERS(wider()->cuLibraryGetKernel(&kernel, library, NULL), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuLibraryGetKernel(NULL, library, "sp_fill"), CUDA_ERROR_INVALID_VALUE);
}

void row_no_library_and_no_kernel_are_invalid_handles(void) {
    CUkernel kernel = NULL;
    CUfunction function = NULL;
    unsigned int count = 0;
    WIDER_NEEDS(cuLibraryGetKernelCount);
    ANSWERS(wider()->cuLibraryGetKernel(&kernel, NULL, "sp_fill"), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(wider()->cuLibraryGetKernelCount(&count, NULL), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(wider()->cuKernelGetFunction(&function, NULL), CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(wider()->cuLibraryUnload(NULL), CUDA_ERROR_INVALID_HANDLE);
}

// -------------------------------------------------------------------------- attributes of kernels

void row_a_plain_kernel_has_these_attributes(void) {
    CUfunction fill = function_of("sp_fill");
    IS_TOLD(attribute(fill, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
    IS_TOLD(attribute(fill, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0);
    IS_TOLD(attribute(fill, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES), 0);
    IS_TOLD(attribute(fill, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 0);
    IS_TOLD(attribute(fill, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152);
    IS_TOLD(attribute(fill, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), (uint64_t)-1);
    REQUIRE(attribute(fill, CU_FUNC_ATTRIBUTE_NUM_REGS) > 0);
}

void row_a_plain_kernel_needs_no_cluster(void) {
    CUfunction fill = function_of("sp_fill");
    IS_TOLD(attribute(fill, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 0);
    IS_TOLD(attribute(fill, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 0);
    IS_TOLD(attribute(fill, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED), 0);
    IS_TOLD(attribute(fill, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE), 0);
}

void row_a_kernel_tells_what_it_was_compiled_for(void) {
    int major = 0, minor = 0;
    CUfunction fill = function_of("sp_fill");
    DRIVER(wider()->cuDeviceComputeCapability(&major, &minor, 0));
    IS_TOLD(attribute(fill, CU_FUNC_ATTRIBUTE_BINARY_VERSION), (uint64_t)(10 * major + minor));
    IS_TOLD(attribute(fill, CU_FUNC_ATTRIBUTE_PTX_VERSION), 52); // its .target
}

void row_an_attribute_of_a_kernel_that_is_none_is_refused(void) {
    int value = 0;
    CUfunction fill = function_of("sp_fill");
    ANSWERS(wider()->cuFuncGetAttribute(&value, (CUfunction_attribute)99, fill),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuFuncGetAttribute(NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, fill),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL),
            CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(wider()->cuFuncSetAttribute(fill, (CUfunction_attribute)99, 0),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuFuncSetAttribute(NULL, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0),
            CUDA_ERROR_INVALID_HANDLE);
}

void row_what_a_compiler_decided_of_a_kernel_can_not_be_set(void) {
    CUfunction fill = function_of("sp_fill");
    ANSWERS(wider()->cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 512),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_NUM_REGS, 32),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, 1),
            CUDA_ERROR_INVALID_VALUE);
}

void row_a_width_of_a_cluster_that_the_compiler_left_open_may_be_set(void) {
    CUfunction fill = function_of("sp_fill");
    DRIVER(wider()->cuFuncSetAttribute(fill, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
}

void row_a_kernels_shared_memory_is_that_of_the_device_at_most(void) {
    const CUfunction_attribute shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    CUfunction fill = function_of("sp_fill");
    int most = 0;
    DRIVER(test_driver()->cuDeviceGetAttribute(&most, (CUdevice_attribute)97, 0));
    DRIVER(wider()->cuFuncSetAttribute(fill, shared, most));
    IS_TOLD(attribute(fill, shared), (uint64_t)most);
    ANSWERS(wider()->cuFuncSetAttribute(fill, shared, most + 1), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuFuncSetAttribute(fill, shared, -1), CUDA_ERROR_INVALID_VALUE);
    IS_TOLD(attribute(fill, shared), (uint64_t)most);
}

void row_a_kernels_share_of_shared_memory_is_in_percent(void) {
    const CUfunction_attribute share = CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
    CUfunction fill = function_of("sp_fill");
    DRIVER(wider()->cuFuncSetAttribute(fill, share, 100));
    IS_TOLD(attribute(fill, share), 100);
    DRIVER(wider()->cuFuncSetAttribute(fill, share, -1));
    ANSWERS(wider()->cuFuncSetAttribute(fill, share, 101), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuFuncSetAttribute(fill, share, -2), CUDA_ERROR_INVALID_VALUE);
}

void row_a_kernel_of_a_library_has_attributes_on_a_device(void) {
    CUkernel kernel = kernel_of(library_of_kernels(), "sp_fill");
    const CUfunction_attribute shared = CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
    int value = 0;
    DRIVER(wider()->cuKernelSetAttribute(shared, 65536, kernel, 0));
    DRIVER(wider()->cuKernelGetAttribute(&value, shared, kernel, 0));
    IS_TOLD(value, 65536);
    ANSWERS(wider()->cuKernelGetAttribute(&value, shared, kernel, 99), CUDA_ERROR_INVALID_DEVICE);
    ANSWERS(wider()->cuKernelSetAttribute((CUfunction_attribute)99, 0, kernel, 0),
            CUDA_ERROR_INVALID_VALUE);
}

void row_a_kernel_of_a_library_tells_its_parameters(void) {
    CUkernel kernel = kernel_of(library_of_kernels(), "sp_check");
    size_t offset = 0, size = 0;
    WIDER_NEEDS(cuKernelGetParamInfo);
    DRIVER(wider()->cuKernelGetParamInfo(kernel, 3, &offset, &size));
    REQUIRE(offset == 24 && size == 8);
    DRIVER(wider()->cuKernelGetParamInfo(kernel, 1, &offset, NULL));
    IS_TOLD(offset, 8);
    ANSWERS(wider()->cuKernelGetParamInfo(kernel, 4, &offset, &size), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuKernelGetParamInfo(kernel, 0, NULL, &size), CUDA_ERROR_INVALID_VALUE);
}

void row_a_kernel_without_parameters_tells_of_none(void) {
    CUfunction trap = function_of("sp_trap");
    size_t offset = 0, size = 0;
    WIDER_NEEDS(cuFuncGetParamInfo);
    ANSWERS(wider()->cuFuncGetParamInfo(trap, 0, &offset, &size), CUDA_ERROR_INVALID_VALUE);
}

void row_a_cache_that_a_kernel_prefers_is_one(void) {
    CUfunction fill = function_of("sp_fill");
    DRIVER(wider()->cuFuncSetCacheConfig(fill, CU_FUNC_CACHE_PREFER_L1));
    ANSWERS(wider()->cuFuncSetCacheConfig(fill, (CUfunc_cache)4), CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuFuncSetCacheConfig(NULL, CU_FUNC_CACHE_PREFER_L1),
            CUDA_ERROR_INVALID_HANDLE);
}

// --------------------------------------------------------------------------------------- launches

void row_shared_memory_beyond_48_kib_must_be_asked_for(void) {
    const struct sp_driver *driver = test_driver();
    CUfunction function = function_of("sp_fill");
    CUstream stream = test_stream();
    struct fill fill;
    set_up(&fill, 11);
    DRIVER(driver->cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 49152, stream, fill.pointers, NULL));
    ANSWERS(driver->cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 65536, stream, fill.pointers, NULL),
            CUDA_ERROR_INVALID_VALUE);
    DRIVER(wider()->cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                       65536));
    DRIVER(driver->cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 65536, stream, fill.pointers, NULL));
    ANSWERS(driver->cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 65537, stream, fill.pointers, NULL),
            CUDA_ERROR_INVALID_VALUE);
    test_finish(stream);
    IS_TOLD(first_word(&fill), 11);
}

void row_a_launch_by_a_description_does_the_same(void) {
    CUstream stream = test_stream();
    struct fill fill;
    CUlaunchConfig config = {.gridDimX = 1,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .hStream = stream};
    WIDER_NEEDS(cuLaunchKernelEx);
    set_up(&fill, 12);
    DRIVER(wider()->cuLaunchKernelEx(&config, function_of("sp_fill"), fill.pointers, NULL));
    test_finish(stream);
    IS_TOLD(first_word(&fill), 12);
}

void row_an_empty_description_of_a_launch_is_invalid(void) {
    CUlaunchConfig empty = {0};
    struct fill fill;
    WIDER_NEEDS(cuLaunchKernelEx);
    set_up(&fill, 13);
    ANSWERS(wider()->cuLaunchKernelEx(&empty, function_of("sp_fill"), fill.pointers, NULL),
            CUDA_ERROR_INVALID_VALUE);
}

void row_no_description_of_a_launch_is_invalid(void) {
    struct fill fill;
    WIDER_NEEDS(cuLaunchKernelEx);
    set_up(&fill, 14);
    ANSWERS(wider()->cuLaunchKernelEx(NULL, function_of("sp_fill"), fill.pointers, NULL),
            CUDA_ERROR_INVALID_VALUE);
}

void row_a_launch_of_no_kernel_is_an_invalid_handle(void) {
    struct fill fill;
    set_up(&fill, 15);
    ANSWERS(test_driver()->cuLaunchKernel(NULL, 1, 1, 1, 32, 1, 1, 0, test_stream(), fill.pointers,
                                          NULL),
            CUDA_ERROR_INVALID_HANDLE);
}

void row_a_launch_in_another_context_is_an_invalid_handle(void) {
    struct fill fill;
    CUcontext own = NULL, other = NULL;
    CUstream stream = test_stream(), of_other = NULL;
    set_up(&fill, 7);
    DRIVER(test_driver()->cuCtxGetCurrent(&own));
    DRIVER(test_driver()->cuCtxCreate(&other, 0, 0));
    CUfunction function = function_of("sp_fill");
    DRIVER(test_driver()->cuStreamCreate(&of_other, CU_STREAM_NON_BLOCKING));
    DRIVER(test_driver()->cuCtxSetCurrent(own));
    ANSWERS(
        test_driver()->cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, NULL, fill.pointers, NULL),
        CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(
        test_driver()->cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, fill.pointers, NULL),
        CUDA_ERROR_INVALID_HANDLE);
    fill.bytes = 0; // the memory is of this context
    DRIVER(test_driver()->cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, of_other, fill.pointers,
                                         NULL));
    DRIVER(test_driver()->cuStreamSynchronize(of_other));
    DRIVER(test_driver()->cuCtxDestroy(other));
}

void row_parameters_come_in_one_way_only(void) {
    CUfunction function = function_of("sp_fill");
    struct fill fill;
    size_t size = sizeof fill.memory + sizeof fill.bytes + sizeof fill.seed;
    set_up(&fill, 16);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &fill, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    ANSWERS(test_driver()->cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, test_stream(),
                                          fill.pointers, extra),
            CUDA_ERROR_INVALID_VALUE);
}

void row_a_cooperative_grid_runs_at_a_time(void) {
    CUfunction function = function_of("sp_fill");
    CUstream stream = test_stream();
    struct fill fill;
    set_up(&fill, 17);
    DRIVER(wider()->cuLaunchCooperativeKernel(function, 2, 1, 1, 1024, 1, 1, 0, stream,
                                              fill.pointers));
    ANSWERS(wider()->cuLaunchCooperativeKernel(function, 100000, 1, 1, 1024, 1, 1, 0, stream,
                                               fill.pointers),
            CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    test_finish(stream);
    IS_TOLD(first_word(&fill), 17);
}

void row_a_grid_has_whole_clusters(void) {
    CUlaunchAttribute cluster = {.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
                                 .value.clusterDim = {2, 1, 1}};
    CUlaunchConfig config = {.gridDimX = 3,
                             .gridDimY = 1,
                             .gridDimZ = 1,
                             .blockDimX = 32,
                             .blockDimY = 1,
                             .blockDimZ = 1,
                             .attrs = &cluster,
                             .numAttrs = 1};
    CUfunction function = function_of("sp_fill");
    struct fill fill;
    WIDER_NEEDS(cuLaunchKernelEx);
    set_up(&fill, 18);
    config.hStream = test_stream();
    ANSWERS(wider()->cuLaunchKernelEx(&config, function, fill.pointers, NULL),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
    cluster.value.clusterDim.x = 64;
    config.gridDimX = 64;
    ANSWERS(wider()->cuLaunchKernelEx(&config, function, fill.pointers, NULL),
            CUDA_ERROR_INVALID_CLUSTER_SIZE);
}

// -------------------------------------------------------------------------------------- occupancy

static uint64_t blocks_of(CUfunction function, int threads, size_t shared) {
    int blocks = -1;
    DRIVER(
        wider()->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, function, threads, shared));
    return (uint64_t)blocks;
}

void row_a_multiprocessor_runs_its_threads_in_blocks(void) {
    CUfunction fill = function_of("sp_fill");
    int most = 0;
    DRIVER(test_driver()->cuDeviceGetAttribute(&most, (CUdevice_attribute)39, 0));
    IS_TOLD(blocks_of(fill, 1024, 0), (uint64_t)most / 1024);
    IS_TOLD(blocks_of(fill, 256, 0), (uint64_t)most / 256);
    IS_TOLD(blocks_of(fill, 225, 0), (uint64_t)most / 256);
}

void row_shared_memory_that_a_kernel_may_not_have_leaves_no_block(void) {
    CUfunction fill = function_of("sp_fill");
    REQUIRE(blocks_of(fill, 32, 49152) > 0);
    IS_TOLD(blocks_of(fill, 32, 1 << 20), 0);
}

void row_a_block_that_is_too_large_leaves_no_block(void) {
    IS_TOLD(blocks_of(function_of("sp_fill"), 1025, 0), 0);
}

void row_occupancy_of_no_block_is_invalid(void) {
    int blocks = 0;
    CUfunction fill = function_of("sp_fill");
    ANSWERS(wider()->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, 0, 0),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuOccupancyMaxActiveBlocksPerMultiprocessor(NULL, fill, 32, 0),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, NULL, 32, 0),
            CUDA_ERROR_INVALID_HANDLE);
    ANSWERS(wider()->cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, fill, 32, 0, 2),
            CUDA_ERROR_INVALID_VALUE);
}

void row_the_best_block_fills_the_device(void) {
    int blocks = 0, threads = 0, most = 0, multiprocessors = 0;
    CUfunction fill = function_of("sp_fill");
    DRIVER(test_driver()->cuDeviceGetAttribute(&most, (CUdevice_attribute)39, 0));
    DRIVER(test_driver()->cuDeviceGetAttribute(&multiprocessors, (CUdevice_attribute)16, 0));
    DRIVER(wider()->cuOccupancyMaxPotentialBlockSize(&blocks, &threads, fill, NULL, 0, 0));
    IS_TOLD(blocks * threads, most * multiprocessors);
    ANSWERS(wider()->cuOccupancyMaxPotentialBlockSize(NULL, &threads, fill, NULL, 0, 0),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuOccupancyMaxPotentialBlockSize(&blocks, &threads, fill, NULL, 0, -1),
            CUDA_ERROR_INVALID_VALUE);
}
