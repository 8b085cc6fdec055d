// cost [CALLS]: how many calls a second of a core the simulated driver serves, in loops of so many
// calls. STREAMPOOL_SIMCUDA=reports=check tells it of a program that is checked.
#include <time.h>

#include "check/driver.h"

enum { BLOCK = 4096, BLOCKS = 64 };

static CUstream stream;
static CUevent event;
static CUfunction kernel;
static CUdeviceptr blocks[BLOCKS];

static void query_stream(size_t i) {
    (void)i;
    (void)cuStreamQuery(stream);
}

static void record_event(size_t i) {
    (void)i;
    OK(cuEventRecord(event, stream));
}

static void query_event(size_t i) {
    (void)i;
    (void)cuEventQuery(event);
}

static void launch_kernel(size_t i) {
    uint64_t address = blocks[i % BLOCKS], size = 64;
    uint32_t seed = (uint32_t)i;
    void *parameters[] = {&address, &size, &seed};
    OK(cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, stream, parameters, NULL));
}

static void set_bytes(size_t i) {
    OK(cuMemsetD8Async(blocks[i % BLOCKS], 0, 64, stream));
}

static void allocate_and_free(size_t i) {
    CUdeviceptr block = allocate(BLOCK + i % BLOCKS);
    OK(cuMemFree_v2(block));
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void measure(const char *name, void (*call)(size_t i), size_t calls) {
    double begin = now();
    for (size_t i = 0; i < calls; i++)
        call(i);
    printf("%-28s %8.0f thousand a second\n", name, (double)calls / (now() - begin) / 1e3);
    OK(cuCtxSynchronize());
}

int main(int argc, char **argv) {
    size_t calls = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    CUmodule module = start();
    stream = make_stream();
    kernel = find_kernel(module, "sp_fill");
    OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
    for (size_t i = 0; i < BLOCKS; i++)
        blocks[i] = allocate(BLOCK);
    measure("cuStreamQuery", query_stream, calls);
    measure("cuEventRecord", record_event, calls);
    measure("cuEventQuery", query_event, calls);
    measure("cuLaunchKernel", launch_kernel, calls);
    measure("cuMemsetD8Async", set_bytes, calls);
    measure("cuMemAlloc and cuMemFree", allocate_and_free, calls / 4);
    for (size_t i = 0; i < BLOCKS; i++)
        OK(cuMemFree_v2(blocks[i]));
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(stream));
    OK(cuModuleUnload(module));
    return 0;
}
