#include <stddef.h>
#include <stdint.h>

#include "simcuda/kernel/kernels.h"
#include "support/check.h"
#include "support/device.h"
#include "support/simulated.h"

// Of a large block this much is touched at each end.
#define EDGE KIB(16)

static struct {
    CUmodule module;
    CUfunction fill;
    CUfunction check;
    CUdeviceptr wrong_words;
} kernels;

void test_load_kernels(void) {
    const struct sp_driver *driver = test_driver();
    const uint64_t none = 0;
    DRIVER(driver->cuModuleLoadData(&kernels.module, SP_KERNELS_PTX));
    DRIVER(driver->cuModuleGetFunction(&kernels.fill, kernels.module, "sp_fill"));
    DRIVER(driver->cuModuleGetFunction(&kernels.check, kernels.module, "sp_check"));
    DRIVER(driver->cuMemAlloc(&kernels.wrong_words, sizeof none));
    DRIVER(driver->cuMemcpyHtoD(kernels.wrong_words, &none, sizeof none));
}

uint64_t test_wrong_words(void) {
    uint64_t count;
    DRIVER(test_driver()->cuMemcpyDtoH(&count, kernels.wrong_words, sizeof count));
    return count;
}

void test_unload_kernels(void) {
    DRIVER(test_driver()->cuMemFree(kernels.wrong_words));
    DRIVER(test_driver()->cuModuleUnload(kernels.module));
}

static void launch(CUfunction function, void **parameters, CUstream stream) {
    DRIVER(
        test_driver()->cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, stream, parameters, NULL));
}

static void fill_part(uint64_t address, uint64_t size, uint32_t value, CUstream stream) {
    launch(kernels.fill, (void *[]){&address, &size, &value}, stream);
}

static void check_part(uint64_t address, uint64_t size, uint32_t value, CUstream stream) {
    launch(kernels.check, (void *[]){&address, &size, &value, &kernels.wrong_words}, stream);
}

// Whole words of the block, at an address that the kernels can take.
static void touch(void (*part)(uint64_t, uint64_t, uint32_t, CUstream), const void *block,
                  uint32_t value, size_t size, CUstream stream) {
    uint64_t address = (uintptr_t)block, bytes = size / 8 * 8;
    if (bytes > 2 * EDGE) {
        part(address, EDGE, value, stream);
        part(address + bytes - EDGE, EDGE, value, stream);
    } else if (bytes != 0) {
        part(address, bytes, value, stream);
    }
}

// The kernels write words, so the few bytes after the last one are set; they are not checked.
void test_fill_block(void *address, unsigned char value, size_t size, CUstream stream) {
    size_t rest = size % 8;
    touch(fill_part, address, value, size, stream);
    if (rest != 0)
        test_fill((char *)address + size - rest, value, rest, stream);
}

void test_check_block(const void *address, unsigned char value, size_t size, CUstream stream) {
    touch(check_part, address, value, size, stream);
}

// The same by the host, which writes the words that the kernels write.
static bool host_found_other_words;

static void host_fill_part(uint64_t address, uint64_t size, uint32_t value, CUstream stream) {
    uint32_t *words = (uint32_t *)(uintptr_t)address;
    (void)stream;
    test_tell_host_access(words, size, simcudaAccessWrite);
    for (uint64_t i = 0; i < size / 4; i++)
        words[i] = (uint32_t)(value + i);
}

static void host_check_part(uint64_t address, uint64_t size, uint32_t value, CUstream stream) {
    const uint32_t *words = (const uint32_t *)(uintptr_t)address;
    (void)stream;
    test_tell_host_access(words, size, simcudaAccessRead);
    for (uint64_t i = 0; i < size / 4; i++)
        host_found_other_words |= words[i] != (uint32_t)(value + i);
}

void test_host_fill_block(void *address, unsigned char value, size_t size) {
    touch(host_fill_part, address, value, size, NULL);
}

bool test_host_is_block(const void *address, unsigned char value, size_t size) {
    host_found_other_words = false;
    touch(host_check_part, address, value, size, NULL);
    return !host_found_other_words;
}

static CUfunction load(const char *name) {
    CUmodule module;
    CUfunction function;
    DRIVER(test_driver()->cuModuleLoadData(&module, SP_KERNELS_PTX));
    DRIVER(test_driver()->cuModuleGetFunction(&function, module, name));
    return function;
}

static void launch_spin(CUfunction function, uint64_t nanoseconds, CUdeviceptr flag,
                        CUstream stream) {
    DRIVER(test_driver()->cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream,
                                         (void *[]){&nanoseconds, &flag}, NULL));
}

// One thread that looks at the flag; a minute is more than any test has.
void test_spin(struct test_spin *spin, CUstream stream) {
    const uint64_t clear = 0;
    CUfunction function = load("sp_spin");
    DRIVER(test_driver()->cuMemAlloc(&spin->flag, sizeof clear));
    DRIVER(test_driver()->cuMemcpyHtoD(spin->flag, &clear, sizeof clear));
    spin->other = test_stream();
    launch_spin(function, UINT64_C(60000000000), spin->flag, stream);
}

void test_stop_spinning(const struct test_spin *spin) {
    DRIVER(test_driver()->cuMemsetD8Async(spin->flag, 1, sizeof(uint32_t), spin->other));
    test_finish(spin->other);
}

CUfunction test_load_trap(void) {
    return load("sp_trap");
}

void test_trap(CUfunction trap, CUstream stream) {
    void *none[] = {NULL};
    DRIVER(test_driver()->cuLaunchKernel(trap, 1, 1, 1, 1, 1, 1, 0, stream, none, NULL));
}

void test_work(CUstream stream) {
    launch_spin(load("sp_spin"), UINT64_C(5000000), 0, stream);
}
