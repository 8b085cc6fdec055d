// Memory inside kernels: each of many threads allocates once, or frees once, or does both. A
// million threads by size, and blocks of one size by the number of threads.
//
// The time is the device's own, from the begin of a kernel's first block to the end of its last one
// (heap_kernels.cu). Beside it stands CUDA's own allocator for kernels, with at most 2^14 threads,
// and no more than have a block of 1 MiB together: its heap has 8 MiB unless a program asks for
// more. And an addition to one counter, which the compiler makes once for a warp. Blocks are
// written and checked in the round that warms up.
#include "bench.h"

#ifdef STREAMPOOL_HAVE_HEAP

#include "heap_image.h"

#include <math.h>
#include <streampool/heap.h>
#include <string.h>

#define THREADS_MOST (UINT32_C(1) << 20)

enum {
    BLOCK = 256,
    CUDA_THREADS = 1 << 14,
    CUDA_BYTES = 1 << 20, // that its threads ask for together
    SCATTER = 7919,       // a prime, so that each block is freed by one thread
    BY_THREADS_BYTES = 64
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
    uint32_t threads;
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
    uint64_t nanoseconds = clock[1] > clock[0] ? clock[1] - clock[0] : 1; // a coarse clock's 0
    *rate = error ? NAN : threads / (double)nanoseconds * 1e3;
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

static int measure_counter(const struct scene *scene, uint32_t threads, double *values) {
    CUdeviceptr counter = scene->words + 24, blocks = scene->blocks, clock = scene->words;
    int error = timed(scene, KERNEL_counter, threads,
                      (void *[]){&counter, &blocks, &threads, &clock}, &values[MALLOC]);
    for (int row = MALLOC + 1; row < ROWS; row++)
        values[row] = values[MALLOC];
    return error;
}

static uint32_t cuda_threads(const struct setting *on) {
    uint64_t most = CUDA_BYTES / on->bytes < CUDA_THREADS ? CUDA_BYTES / on->bytes : CUDA_THREADS;
    return on->threads < most ? on->threads : (uint32_t)most;
}

// Allocates for all threads and frees: each its own block, then each one that lies far away.
static int measure_heap(const struct setting *on, bool ours, bool checks, double *values) {
    const struct scene *scene = on->scene;
    uint64_t bytes = on->bytes;
    uint32_t threads = ours ? on->threads : cuda_threads(on), step = 1;
    CUdeviceptr blocks = scene->blocks, clock = scene->words;
    struct pool_heap heap = scene->device;
    // CUDA's kernels have no heap to be told of.
    void *to_malloc[] = {&heap, &blocks, &bytes, &threads, &clock};
    void *to_free[] = {&heap, &blocks, &step, &threads, &clock};
    void *to_pair[] = {&heap, &bytes, &threads, &clock};
    enum kernel_name mallocs = ours ? KERNEL_heap_malloc : KERNEL_cuda_malloc;
    enum kernel_name frees = ours ? KERNEL_heap_free : KERNEL_cuda_free;
    int error = 0;
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
        return measure_counter(on->scene, on->threads, values);
    return measure_heap(on, subject->value == HEAP, bench->round < 0, values);
}

static int measure_setting(struct bench *bench, const struct setting *on, const char *label,
                           double at) {
    static const char *const what[ROWS] = {"malloc", "free", "free, scattered", "malloc + free"};
    struct bench_row rows[ROWS];
    char labels[ROWS][48];
    for (int row = 0; row < ROWS; row++) {
        snprintf(labels[row], sizeof labels[row], "%s, %s", label, what[row]);
        rows[row] = (struct bench_row){labels[row], "10^6/s"};
    }
    return bench_compare(bench, &(struct bench_field){
                                    .subjects = on->scene->subjects,
                                    .subject_count = SUBJECTS_OF_CASE,
                                    .rows = rows,
                                    .row_count = ROWS,
                                    .at = at,
                                    .measure = measure,
                                    .setting = on,
                                });
}

static void print_head(struct bench *bench, struct scene *scene, const char *title) {
    bench_print_head_of(
        bench,
        &(struct bench_field){.subjects = scene->subjects, .subject_count = SUBJECTS_OF_CASE},
        title);
}

// All classes up to 4 KiB.
static int by_size(struct bench *bench, struct scene *scene) {
    static const uint64_t sizes[] = {16,  32,  48,  64,   96,   128,  192,  256,
                                     384, 512, 768, 1024, 1536, 2048, 3072, 4096};
    int error = 0;
    print_head(bench, scene, "memory inside kernels, 2^20 threads");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++) {
        char label[16];
        error = measure_setting(bench, &(struct setting){scene, sizes[i], THREADS_MOST},
                                bench_size_text(sizes[i], label), (double)sizes[i]);
    }
    return error;
}

static int by_threads(struct bench *bench, struct scene *scene) {
    static const int powers[] = {10, 14, 18, 20};
    int error = 0;
    print_head(bench, scene, "memory inside kernels, blocks of 64 B, by threads");
    for (size_t i = 0; i < sizeof powers / sizeof powers[0] && !error; i++) {
        char label[32];
        uint32_t threads = UINT32_C(1) << powers[i];
        snprintf(label, sizeof label, "2^%d threads", powers[i]);
        error = measure_setting(bench, &(struct setting){scene, BY_THREADS_BYTES, threads}, label,
                                threads);
    }
    return error;
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
        error = (int)scene->driver->cuMemAlloc(&scene->blocks, THREADS_MOST * sizeof(CUdeviceptr));
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
    struct scene scene;
    if (bench->simulated) {
        bench_print(bench, "heap: left out, the simulated driver runs no kernels of this kind");
        bench_end_line(bench);
        return 0;
    }
    if (!bench_fits(bench, UINT64_C(14) << 30, "heap"))
        return 0;
    int error = open_scene(bench, &scene);
    if (!error)
        error = by_size(bench, &scene);
    if (!error)
        error = by_threads(bench, &scene);
    int closed = close_scene(&scene);
    return error ? error : closed;
}

#else

int case_heap(struct bench *bench) {
    bench_print(bench, "heap: left out, the program was built without nvcc");
    bench_end_line(bench);
    return 0;
}

#endif
