#include "kernel.h"

#include "simcuda/kernel/kernels.h"

#include <stdint.h>

// 4 bytes for each thread of a block, and not more blocks than keep a part of a GPU busy: the time
// of the launch is what matters.
enum { THREADS = 256, BLOCKS_MAX = 64 };

int kernel_open(struct kernel *kernel, const struct sp_driver *driver) {
    *kernel = (struct kernel){.driver = driver};
    CUresult error = driver->cuModuleLoadData(&kernel->module, SP_KERNELS_PTX);
    if (error == CUDA_SUCCESS)
        error = driver->cuModuleGetFunction(&kernel->fill, kernel->module, "sp_fill");
    if (error != CUDA_SUCCESS)
        kernel_close(kernel);
    return (int)error;
}

void kernel_close(struct kernel *kernel) {
    if (kernel->module)
        kernel->driver->cuModuleUnload(kernel->module);
    kernel->module = NULL;
}

int kernel_launch(const struct kernel *kernel, CUstream stream, void *memory, size_t size) {
    uint64_t address = (uint64_t)(uintptr_t)memory, bytes = size;
    uint32_t seed = 1;
    size_t blocks = (size / 4 + THREADS - 1) / THREADS;
    unsigned grid = blocks < BLOCKS_MAX ? (unsigned)blocks : BLOCKS_MAX;
    return (int)kernel->driver->cuLaunchKernel(kernel->fill, grid, 1, 1, THREADS, 1, 1, 0, stream,
                                               (void *[]){&address, &bytes, &seed}, NULL);
}
