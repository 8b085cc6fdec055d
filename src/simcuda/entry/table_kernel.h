// Modules, libraries, kernels and launches: entry points of a part of table.h.
#ifndef STREAMPOOL_SIMCUDA_ENTRY_TABLE_KERNEL_H
#define STREAMPOOL_SIMCUDA_ENTRY_TABLE_KERNEL_H

// clang-format off
#define SIM_TABLE_KERNEL(X) \
    X(cuModuleLoad, cuModuleLoad, 2000, (CUmodule *module, const char *path)) \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, (CUmodule *module, const void *image, unsigned int count, CUjit_option *options, void **values)) \
    X(cuModuleLoadFatBinary, cuModuleLoadFatBinary, 2000, (CUmodule *module, const void *image)) \
    X(cuModuleGetGlobal, cuModuleGetGlobal_v2, 3020, (CUdeviceptr *address, size_t *size, CUmodule module, const char *name)) \
    X(cuModuleGetLoadingMode, cuModuleGetLoadingMode, 11070, (CUmoduleLoadingMode *mode)) \
    X(cuModuleGetFunctionCount, cuModuleGetFunctionCount, 12040, (unsigned int *count, CUmodule module)) \
    X(cuModuleEnumerateFunctions, cuModuleEnumerateFunctions, 12040, (CUfunction *functions, unsigned int count, CUmodule module)) \
    X(cuLibraryLoadData, cuLibraryLoadData, 12000, (CUlibrary *library, const void *image, CUjit_option *options, void **values, unsigned int count, CUlibraryOption *libraryOptions, void **libraryValues, unsigned int libraryCount)) \
    X(cuLibraryLoadFromFile, cuLibraryLoadFromFile, 12000, (CUlibrary *library, const char *path, CUjit_option *options, void **values, unsigned int count, CUlibraryOption *libraryOptions, void **libraryValues, unsigned int libraryCount)) \
    X(cuLibraryUnload, cuLibraryUnload, 12000, (CUlibrary library)) \
    X(cuLibraryGetKernel, cuLibraryGetKernel, 12000, (CUkernel *kernel, CUlibrary library, const char *name)) \
    X(cuLibraryGetKernelCount, cuLibraryGetKernelCount, 12040, (unsigned int *count, CUlibrary library)) \
    X(cuLibraryEnumerateKernels, cuLibraryEnumerateKernels, 12040, (CUkernel *kernels, unsigned int count, CUlibrary library)) \
    X(cuLibraryGetModule, cuLibraryGetModule, 12000, (CUmodule *module, CUlibrary library)) \
    X(cuLibraryGetGlobal, cuLibraryGetGlobal, 12000, (CUdeviceptr *address, size_t *size, CUlibrary library, const char *name)) \
    X(cuKernelGetFunction, cuKernelGetFunction, 12000, (CUfunction *function, CUkernel kernel)) \
    X(cuKernelGetLibrary, cuKernelGetLibrary, 12050, (CUlibrary *library, CUkernel kernel)) \
    X(cuKernelGetName, cuKernelGetName, 12030, (const char **name, CUkernel kernel)) \
    X(cuKernelGetParamInfo, cuKernelGetParamInfo, 12040, (CUkernel kernel, size_t index, size_t *offset, size_t *size)) \
    X(cuKernelGetAttribute, cuKernelGetAttribute, 12000, (int *value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device)) \
    X(cuKernelSetAttribute, cuKernelSetAttribute, 12000, (CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device)) \
    X(cuKernelSetCacheConfig, cuKernelSetCacheConfig, 12000, (CUkernel kernel, CUfunc_cache cache, CUdevice device)) \
    X(cuFuncGetAttribute, cuFuncGetAttribute, 2020, (int *value, CUfunction_attribute attribute, CUfunction function)) \
    X(cuFuncSetAttribute, cuFuncSetAttribute, 9000, (CUfunction function, CUfunction_attribute attribute, int value)) \
    X(cuFuncSetCacheConfig, cuFuncSetCacheConfig, 3000, (CUfunction function, CUfunc_cache cache)) \
    X(cuFuncGetName, cuFuncGetName, 12030, (const char **name, CUfunction function)) \
    X(cuFuncGetModule, cuFuncGetModule, 11000, (CUmodule *module, CUfunction function)) \
    X(cuFuncGetParamInfo, cuFuncGetParamInfo, 12040, (CUfunction function, size_t index, size_t *offset, size_t *size)) \
    X(cuFuncLoad, cuFuncLoad, 12040, (CUfunction function)) \
    X(cuFuncIsLoaded, cuFuncIsLoaded, 12040, (CUfunctionLoadingState *state, CUfunction function)) \
    X(cuLaunchKernelEx, cuLaunchKernelEx, 11060, (const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra)) \
    X(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel, 9000, (CUfunction function, unsigned int gridX, unsigned int gridY, unsigned int gridZ, unsigned int blockX, unsigned int blockY, unsigned int blockZ, unsigned int sharedBytes, CUstream stream, void **parameters)) \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050, (int *blocks, CUfunction function, int threads, size_t shared)) \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, 7000, (int *blocks, CUfunction function, int threads, size_t shared, unsigned int flags)) \
    X(cuOccupancyMaxPotentialBlockSize, cuOccupancyMaxPotentialBlockSize, 6050, (int *blocks, int *threads, CUfunction function, CUoccupancyB2DSize sharedOf, size_t shared, int limit)) \
    X(cuOccupancyMaxPotentialBlockSizeWithFlags, cuOccupancyMaxPotentialBlockSizeWithFlags, 7000, (int *blocks, int *threads, CUfunction function, CUoccupancyB2DSize sharedOf, size_t shared, int limit, unsigned int flags)) \
    X(cuOccupancyAvailableDynamicSMemPerBlock, cuOccupancyAvailableDynamicSMemPerBlock, 10020, (size_t *shared, CUfunction function, int blocks, int threads))
// clang-format on

#endif
