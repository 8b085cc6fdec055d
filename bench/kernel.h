// A kernel that writes to memory, which stands for what a program does with it, and one that reads
// what was written.
#ifndef STREAMPOOL_BENCH_KERNEL_H
#define STREAMPOOL_BENCH_KERNEL_H

#include "driver/driver.h"

struct kernel {
    const struct sp_driver *driver;
    CUmodule module;
    CUfunction fill;
    CUfunction check;
    CUfunction spin;
};

// All return 0 or the driver's error. Closing one that could not be opened does nothing.
int kernel_open(struct kernel *kernel, const struct sp_driver *driver);
void kernel_close(struct kernel *kernel);

// Puts on a stream what writes all of these bytes, a multiple of 4.
int kernel_launch(const struct kernel *kernel, CUstream stream, void *memory, size_t size);

// The same by so many threads that the bus to the host is what takes the time, and reading what
// that has written. Adds the number of wrong words to the one of 64 bits on the device.
int kernel_write(const struct kernel *kernel, CUstream stream, void *memory, size_t size);
int kernel_read(const struct kernel *kernel, CUstream stream, void *memory, size_t size,
                CUdeviceptr wrong);

// Puts on a stream what runs for so many nanoseconds, or until the word of 32 bits at this address
// is not 0.
int kernel_spin(const struct kernel *kernel, CUstream stream, uint64_t nanoseconds,
                CUdeviceptr flag);

// The same by so many threads that none of the device's multiprocessors can take another block.
int kernel_occupy(const struct kernel *kernel, CUstream stream, uint64_t nanoseconds,
                  CUdevice device);

#endif
