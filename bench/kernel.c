#include "kernel.h"

#include "cli/program/device.h"
#include "simcuda/kernel/kernels.h"

#include <stdint.h>

// 4 bytes for each thread of a block, and not more blocks than keep a part of a GPU busy: the time
// of the launch is what matters.
enum { THREADS = 256, BLOCKS_MAX = 64, SEED = 1 };

// An H200 has 132 multiprocessors, each of which runs eight of these blocks at a time.
enum { BLOCKS_OF_ALL = 132 * 8 };

// The library has no need of this attribute.
#define MAX_THREADS_PER_MULTIPROCESSOR ((CUdevice_attribute)39)

int kernel_open(struct kernel *kernel, const struct sp_driver *driver) {
    *kernel = (struct kernel){.driver = driver};
    CUresult error = driver->cuModuleLoadData(&kernel->module, SP_KERNELS_PTX);
    if (error == CUDA_SUCCESS)
        error = driver->cuModuleGetFunction(&kernel->fill, kernel->module, "sp_fill");
    if (error == CUDA_SUCCESS)
        error = driver->cuModuleGetFunction(&kernel->check, kernel->module, "sp_check");
    if (error == CUDA_SUCCESS)
        error = driver->cuModuleGetFunction(&kernel->spin, kernel->module, "sp_spin");
    if (error != CUDA_SUCCESS)
        kernel_close(kernel);
    return (int)error;
}

void kernel_close(struct kernel *kernel) {
    if (kernel->module)
        kernel->driver->cuModuleUnload(kernel->module);
    kernel->module = NULL;
}

static int launch(const struct kernel *kernel, CUfunction function, size_t size, unsigned most,
                  CUstream stream, void **parameters) {
    size_t blocks = (size / 4 + THREADS - 1) / THREADS;
    unsigned grid = blocks < most ? (unsigned)blocks : most;
    return (int)kernel->driver->cuLaunchKernel(function, grid, 1, 1, THREADS, 1, 1, 0, stream,
                                               parameters, NULL);
}

static int fill(const struct kernel *kernel, CUstream stream, void *memory, size_t size,
                unsigned most) {
    uint64_t address = (uint64_t)(uintptr_t)memory, bytes = size;
    uint32_t seed = SEED;
    return launch(kernel, kernel->fill, size, most, stream, (void *[]){&address, &bytes, &seed});
}

int kernel_launch(const struct kernel *kernel, CUstream stream, void *memory, size_t size) {
    return fill(kernel, stream, memory, size, BLOCKS_MAX);
}

int kernel_write(const struct kernel *kernel, CUstream stream, void *memory, size_t size) {
    return fill(kernel, stream, memory, size, BLOCKS_OF_ALL);
}

int kernel_read(const struct kernel *kernel, CUstream stream, void *memory, size_t size,
                CUdeviceptr wrong) {
    uint64_t address = (uint64_t)(uintptr_t)memory, bytes = size, errors = wrong;
    uint32_t seed = SEED;
    return launch(kernel, kernel->check, size, BLOCKS_OF_ALL, stream,
                  (void *[]){&address, &bytes, &seed, &errors});
}

int kernel_spin(const struct kernel *kernel, CUstream stream, uint64_t nanoseconds,
                CUdeviceptr flag) {
    uint64_t address = flag;
    return (int)kernel->driver->cuLaunchKernel(kernel->spin, 1, 1, 1, 1, 1, 1, 0, stream,
                                               (void *[]){&nanoseconds, &address}, NULL);
}

// Blocks of this size fill a multiprocessor exactly, of whichever GPU.
int kernel_occupy(const struct kernel *kernel, CUstream stream, uint64_t nanoseconds,
                  CUdevice device) {
    const struct sp_driver *driver = kernel->driver;
    int each = sp_device_attribute(driver, device, MAX_THREADS_PER_MULTIPROCESSOR) / THREADS;
    int all = each * sp_device_attribute(driver, device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    uint64_t no_flag = 0;
    return (int)driver->cuLaunchKernel(kernel->spin, (unsigned)all, 1, 1, THREADS, 1, 1, 0, stream,
                                       (void *[]){&nanoseconds, &no_flag}, NULL);
}
