// Memory inside kernels: each of a million threads allocates once, or frees once, or does both.
//
// The time is the device's own, from the begin of a kernel's first block to the end of its last one
// (heap_kernels.cu). Beside it stands CUDA's own allocator for kernels, with as many threads as its
// heap of 8 MiB has room for; and an addition to one counter, which the compiler makes once for a
// warp. Blocks are written and checked in the round that warms up.
#include "bench.h"

#ifdef STREAMPOOL_HAVE_HEAP

#include "heap_image.h"

#include <math.h>
#include <streampool/heap.h>
#include <string.h>

#define THREADS (UINT32_C(1) << 20)

enum {
    BLOCK = 256,
    CUDA_THREADS = 1 << 14,
    CUDA_BYTES = 1 << 20,
    SCATTER = 7919, // a prime, so that each block is freed by one thread
};

// X(name): the kernels of heap_kernels.cu
#define KERNELS(X)                                                                                 \
    X(heap_malloc)                                                                                 \
    X(heap_free) X(heap_pair) X(heap_check) X(cuda_malloc) X(cuda_free) X(cuda_pair) X(counter)

enum kernel_name {
#define KERNEL_NUMBER(name) KERNEL_##name,
    KERNELS(KERNEL_NUMBER)
#undef KERNEL_NUMBER
        KERNEL_COUNT
};

static const char *const kernel_names[KERNEL_COUNT] = {
#define KERNEL_NAME(name) "bench_" #name,
    KERNELS(KERNEL_NAME)
#undef KERNEL_NAME
};

enum { HEAP, CUDAS, COUNTER, SUBJECTS_OF_CASE };
enum { MALLOC, FREE, SCATTERED, PAIR, ROWS };

struct scene {
    const struct sp_driver *driver;
    CUstream stream;
    struct subject subjects[SUBJECTS_OF_CASE];
    CUmodule module;
    CUfunction kernels[KERNEL_COUNT];
    poolMemPool_t pool;
    poolHeap_t heap;
    struct pool_heap device;
    CUdeviceptr blocks; // an address for each thread
    CUdeviceptr words;  // the two of the clock; wrong blocks; the counter
};

struct setting {
    struct scene *scene;
    uint64_t bytes;
};

// ----------------------------------------------------------------------------------------- kernels

static int launch(const struct scene *scene, enum kernel_name kernel, uint32_t threads,
                  void **parameters) {
    return (int)scene->driver->cuLaunchKernel(scene->kernels[kernel], (threads + BLOCK - 1) / BLOCK,
                                              1, 1, BLOCK, 1, 1, 0, scene->stream, parameters,
                                              NULL);
}

// Runs a kernel that notes its time, and tells how many threads it served in a microsecond.
static int timed(const struct scene *scene, enum kernel_name kernel, uint32_t threads,
                 void **parameters, double *rate) {
    uint64_t clock[2] = {UINT64_MAX, 0};
    int error = (int)scene->driver->cuMemcpyHtoD(scene->words, clock, sizeof clock);
    if (!error)
        error = launch(scene, kernel, threads, parameters);
    if (!error)
        error = (int)scene->driver->cuStreamSynchronize(scene->stream);
    if (!error)
        error = (int)scene->driver->cuMemcpyDtoH(clock, scene->words, sizeof clock);
    *rate = error ? NAN : threads / (double)(clock[1] - clock[0]) * 1e3;
    return error;
}

// Writes to all blocks, or looks whether each has what was written to it.
static int check_blocks(const struct scene *scene, uint64_t bytes, uint32_t threads) {
    CUdeviceptr blocks = scene->blocks, wrong_at = scene->words + 16;
    uint64_t wrong = 0;
    int error = (int)scene->driver->cuMemcpyHtoD(wrong_at, &wrong, sizeof wrong);
    for (uint32_t write = 2; write-- > 0 && !error;)
        error = launch(scene, KERNEL_heap_check, threads,
                       (void *[]){&blocks, &bytes, &threads, &wrong_at, &write});
    if (!error)
        error = (int)scene->driver->cuStreamSynchronize(scene->stream);
    if (!error)
        error = (int)scene->driver->cuMemcpyDtoH(&wrong, wrong_at, sizeof wrong);
    return !error && wrong != 0 ? (int)poolErrorUnknown : error;
}

// --------------------------------------------------------------------------------------- measuring

static int measure_counter(const struct scene *scene, double *values) {
    CUdeviceptr counter = scene->words + 24, blocks = scene->blocks, clock = scene->words;
    uint32_t threads = THREADS;
    int error = timed(scene, KERNEL_counter, threads,
                      (void *[]){&counter, &blocks, &threads, &clock}, &values[MALLOC]);
    for (int row = MALLOC + 1; row < ROWS; row++)
        values[row] = values[MALLOC];
    return error;
}

// Allocates for all threads and frees: each its own block, then each one that lies far away.
static int measure_heap(const struct scene *scene, const struct subject *subject, uint64_t bytes,
                        bool checks, double *values) {
    bool ours = subject->value == HEAP;
    uint32_t threads = THREADS, step = 1;
    CUdeviceptr blocks = scene->blocks, clock = scene->words;
    struct pool_heap heap = scene->device;
    // CUDA's kernels have no heap to be told of.
    void *to_malloc[] = {&heap, &blocks, &bytes, &threads, &clock};
    void *to_free[] = {&heap, &blocks, &step, &threads, &clock};
    void *to_pair[] = {&heap, &bytes, &threads, &clock};
    enum kernel_name mallocs = ours ? KERNEL_heap_malloc : KERNEL_cuda_malloc;
    enum kernel_name frees = ours ? KERNEL_heap_free : KERNEL_cuda_free;
    int error = 0;
    if (!ours)
        threads = CUDA_BYTES / bytes < CUDA_THREADS ? (uint32_t)(CUDA_BYTES / bytes) : CUDA_THREADS;
    for (int row = FREE; row <= SCATTERED && !error; row++) {
        error = timed(scene, mallocs, threads, to_malloc + !ours, &values[MALLOC]);
        if (!error && checks && ours)
            error = check_blocks(scene, bytes, threads);
        step = row == FREE ? 1 : SCATTER;
        if (!error)
            error = timed(scene, frees, threads, to_free + !ours, &values[row]);
    }
    return error ? error
                 : timed(scene, ours ? KERNEL_heap_pair : KERNEL_cuda_pair, threads,
                         to_pair + !ours, &values[PAIR]);
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    const struct setting *on = setting;
    if (subject->value == COUNTER)
        return measure_counter(on->scene, values);
    return measure_heap(on->scene, subject, on->bytes, bench->round < 0, values);
}

static int measure_size(struct bench *bench, struct scene *scene, uint64_t bytes) {
    static const char *const what[ROWS] = {"malloc", "free", "free, scattered", "malloc + free"};
    struct setting on = {scene, bytes};
    struct bench_row rows[ROWS];
    char labels[ROWS][48], text[16];
    for (int row = 0; row < ROWS; row++) {
        snprintf(labels[row], sizeof labels[row], "%s, %s", bench_size_text(bytes, text),
                 what[row]);
        rows[row] = (struct bench_row){labels[row], "10^6/s"};
    }
    return bench_compare(bench, &(struct bench_field){
                                    .subjects = scene->subjects,
                                    .subject_count = SUBJECTS_OF_CASE,
                                    .rows = rows,
                                    .row_count = ROWS,
                                    .at = (double)bytes,
                                    .measure = measure,
                                    .setting = &on,
                                });
}

// ------------------------------------------------------------------------------------------- scene

static int load(struct scene *scene) {
    int error = (int)scene->driver->cuModuleLoadData(&scene->module, sp_bench_heap_image);
    for (int i = 0; i < KERNEL_COUNT && !error; i++)
        error = (int)scene->driver->cuModuleGetFunction(&scene->kernels[i], scene->module,
                                                        kernel_names[i]);
    return error;
}

// A heap that has room for three million blocks of 4 KiB, and all of its memory.
static int make_heap(struct bench *bench, struct scene *scene) {
    const size_t bytes = (size_t)12 << 30;
    const struct poolMemPoolProps props = {
        .allocType = poolMemAllocationTypePinned,
        .location = {poolMemLocationTypeDevice, bench->device.ordinal}};
    int error = (int)poolMemPoolCreate(&scene->pool, &props);
    if (!error)
        error = (int)poolHeapCreate(&scene->heap, scene->pool, bytes);
    if (!error)
        error = (int)poolHeapGrow(scene->heap, bytes - bytes / 8, scene->stream);
    if (!error)
        scene->device = poolHeapDevice(scene->heap);
    return error;
}

static int open_scene(struct bench *bench, struct scene *scene) {
    static const char *const names[SUBJECTS_OF_CASE] = {[HEAP] = "streampool heap",
                                                        [CUDAS] = "CUDA's in kernels",
                                                        [COUNTER] = "floor: one counter"};
    *scene = (struct scene){.driver = bench->device.driver, .stream = bench->streams[0]};
    for (int i = 0; i < SUBJECTS_OF_CASE; i++)
        scene->subjects[i] = (struct subject){.name = names[i], .value = (uint64_t)i};
    scene->subjects[CUDAS].role = SUBJECT_IS_REFERENCE;
    scene->subjects[COUNTER].role = SUBJECT_IS_FLOOR;
    int error = load(scene);
    if (!error)
        error = (int)scene->driver->cuMemAlloc(&scene->blocks, THREADS * sizeof(CUdeviceptr));
    if (!error)
        error = (int)scene->driver->cuMemAlloc(&scene->words, 4 * sizeof(uint64_t));
    return error ? error : make_heap(bench, scene);
}

static int close_scene(struct scene *scene) {
    int error = 0, first = 0;
    if (scene->heap)
        first = (int)poolHeapDestroy(scene->heap, NULL, 0);
    if (scene->pool)
        error = (int)poolMemPoolDestroy(scene->pool);
    if (scene->blocks)
        scene->driver->cuMemFree(scene->blocks);
    if (scene->words)
        scene->driver->cuMemFree(scene->words);
    if (scene->module)
        scene->driver->cuModuleUnload(scene->module);
    return first ? first : error;
}

int case_heap(struct bench *bench) {
    static const uint64_t sizes[] = {16,  24,  32,  64,      96,      128,
                                     192, 256, 512, 1 << 10, 2 << 10, 4 << 10};
    struct scene scene;
    if (bench->simulated) {
        bench_print(bench, "heap: left out, the simulated driver runs no kernels of this kind");
        return 0;
    }
    if (!bench_fits(bench, UINT64_C(14) << 30, "heap"))
        return 0;
    int error = open_scene(bench, &scene);
    if (!error)
        bench_print_head_of(
            bench,
            &(struct bench_field){.subjects = scene.subjects, .subject_count = SUBJECTS_OF_CASE},
            "memory inside kernels, 2^20 threads");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++)
        error = measure_size(bench, &scene, sizes[i]);
    int closed = close_scene(&scene);
    return error ? error : closed;
}

#else

int case_heap(struct bench *bench) {
    bench_print(bench, "heap: left out, the program was built without nvcc");
    return 0;
}

#endif
