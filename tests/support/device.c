#include "support/device.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/check.h"

// ------------------------------------------------------------------------------- driver and device

// TEST_SIMULATED_DRIVER is the simulated driver's file, relative to this program's folder.
static bool find_simulated_driver(char *path, size_t room) {
    char program[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0)
        return false;
    program[length] = '\0';
    int printed = snprintf(path, room, "%s/%s", dirname(program), TEST_SIMULATED_DRIVER);
    return printed > 0 && (size_t)printed < room && access(path, R_OK) == 0;
}

bool test_choose_driver(const char *name) {
    char path[2 * PATH_MAX];
    if (strcmp(name, "gpu") == 0)
        return setenv("STREAMPOOL_DRIVER", "libcuda.so.1", 1) == 0;
    if (strcmp(name, "sim") != 0)
        return setenv("STREAMPOOL_DRIVER", name, 1) == 0;
    return find_simulated_driver(path, sizeof path) && setenv("STREAMPOOL_DRIVER", path, 1) == 0;
}

const struct sp_driver *test_driver(void) {
    const struct sp_driver *driver = NULL;
    CUresult error = sp_driver_load(&driver);
    if (error != CUDA_SUCCESS)
        test_fail(__FILE__, __LINE__, "no driver: %s: %s", sp_driver_error_name(error),
                  sp_driver_problem());
    return driver;
}

int test_device_count(void) {
    int count = 0;
    DRIVER(test_driver()->cuDeviceGetCount(&count));
    return count;
}

void test_use_device(int ordinal) {
    const struct sp_driver *driver = test_driver();
    CUdevice device;
    CUcontext context;
    DRIVER(driver->cuDeviceGet(&device, ordinal));
    DRIVER(driver->cuDevicePrimaryCtxRetain(&context, device));
    DRIVER(driver->cuCtxSetCurrent(context));
}

void test_use_no_context(void) {
    DRIVER(test_driver()->cuCtxSetCurrent(NULL));
}

// ------------------------------------------------------------------------------ streams and memory

static CUstream make_stream(unsigned flags) {
    CUstream stream = NULL;
    DRIVER(test_driver()->cuStreamCreate(&stream, flags));
    return stream;
}

CUstream test_stream(void) {
    return make_stream(CU_STREAM_NON_BLOCKING);
}

CUstream test_blocking_stream(void) {
    return make_stream(CU_STREAM_DEFAULT);
}

CUevent test_event(void) {
    CUevent event = NULL;
    DRIVER(test_driver()->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    return event;
}

void test_finish(CUstream stream) {
    DRIVER(test_driver()->cuStreamSynchronize(stream));
}

static void memory_info(size_t *free_bytes, size_t *total) {
    DRIVER(test_driver()->cuMemGetInfo(free_bytes, total));
}

size_t test_device_free_bytes(void) {
    size_t free_bytes, total;
    memory_info(&free_bytes, &total);
    return free_bytes;
}

size_t test_device_used_bytes(void) {
    size_t free_bytes, total;
    memory_info(&free_bytes, &total);
    return total - free_bytes;
}

void test_fill_device(size_t left) {
    for (size_t piece = GIB(64); piece >= MIB(2); piece /= 2) {
        CUdeviceptr memory;
        while (test_device_free_bytes() > left + piece &&
               test_driver()->cuMemAlloc(&memory, piece) == CUDA_SUCCESS)
            ;
    }
    REQUIRE(test_device_free_bytes() < left + MIB(64));
}

void test_fill(void *address, unsigned char value, size_t size, CUstream stream) {
    DRIVER(test_driver()->cuMemsetD8Async((CUdeviceptr)(uintptr_t)address, value, size, stream));
}

bool test_is_filled(const void *address, unsigned char value, size_t size) {
    unsigned char *copy = malloc(size);
    REQUIRE(copy);
    DRIVER(test_driver()->cuMemcpyDtoH(copy, (CUdeviceptr)(uintptr_t)address, size));
    bool filled = true;
    for (size_t i = 0; i < size && filled; i++)
        filled = copy[i] == value;
    free(copy);
    return filled;
}

// --------------------------------------------------------------------------------------- held work

static void wait_in_stream(void *argument) {
    sem_t *ended = argument;
    while (sem_wait(ended) != 0)
        ;
    sem_destroy(ended);
    free(ended);
}

void test_hold(struct test_hold *hold, CUstream stream) {
    hold->ended = malloc(sizeof(*hold->ended));
    REQUIRE(hold->ended && sem_init(hold->ended, 0, 0) == 0);
    DRIVER(test_driver()->cuLaunchHostFunc(stream, wait_in_stream, hold->ended));
}

void test_let_go(struct test_hold *hold) {
    sem_post(hold->ended);
}
