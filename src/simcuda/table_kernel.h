// Modules, libraries, kernels and launches: entry points of a part of table.h.
#ifndef STREAMPOOL_SIMCUDA_TABLE_KERNEL_H
#define STREAMPOOL_SIMCUDA_TABLE_KERNEL_H

// clang-format off
#define SIM_TABLE_KERNEL(X) \
    X(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, (CUmodule *module, const void *image, unsigned int count, CUjit_option *options, void **values))
// clang-format on

#endif
