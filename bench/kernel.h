// A kernel that writes to memory, which stands for what a program does with it.
#ifndef STREAMPOOL_BENCH_KERNEL_H
#define STREAMPOOL_BENCH_KERNEL_H

#include "driver/driver.h"

struct kernel {
    const struct sp_driver *driver;
    CUmodule module;
    CUfunction fill;
};

// All return 0 or the driver's error. Closing one that could not be opened does nothing.
int kernel_open(struct kernel *kernel, const struct sp_driver *driver);
void kernel_close(struct kernel *kernel);

// Puts on a stream what writes all of these bytes, a multiple of 4.
int kernel_launch(const struct kernel *kernel, CUstream stream, void *memory, size_t size);

#endif
