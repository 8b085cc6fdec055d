// A pool pauses with its contents saved, and resumes (swap.h), by the amount: how many bytes a
// second go to the host and come back, with the memory of the host primed. The floor copies as much
// between the device and pinned memory, and unmaps nothing.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <streampool/swap.h>

enum { PAUSE, RESUME, ROWS };
enum way { OURS, FLOOR, WAYS };

#define MIB            ((size_t)1 << 20)
#define BLOCK          (512 * MIB)
#define MOST_SIMULATED (1024 * MIB)

struct scene {
    struct subject subjects[WAYS];
    size_t count; // of blocks
    poolMemPool_t pool;
    void **blocks;
    void *pinned; // of one block
};

static int open_scene(const struct bench *bench, struct scene *scene) {
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 0}};
    const struct sp_driver *driver = bench->device.driver;
    poolMemPool_t host;
    uint64_t all = UINT64_MAX;
    int error = (int)poolSwapGetHostPool(&host);
    if (!error)
        error = (int)poolMemPoolSetAttribute(host, poolMemPoolAttrReleaseThreshold, &all);
    if (!error)
        error = (int)poolMemPoolPrime(host, scene->count * BLOCK);
    if (!error)
        error = (int)poolMemPoolCreate(&scene->pool, &props);
    for (size_t i = 0; i < scene->count && !error; i++)
        error =
            (int)poolMallocFromPoolAsync(&scene->blocks[i], BLOCK, scene->pool, bench->streams[0]);
    return error ? error : (int)driver->cuMemHostAlloc(&scene->pinned, BLOCK, 0);
}

static int close_scene(const struct bench *bench, struct scene *scene) {
    poolMemPool_t host;
    int error = 0;
    for (size_t i = 0; i < scene->count && scene->blocks[i] && !error; i++)
        error = (int)poolFreeAsync(scene->blocks[i], bench->streams[0]);
    if (!error)
        error = (int)poolStreamSynchronize(bench->streams[0]);
    if (!error && scene->pool)
        error = (int)poolMemPoolDestroy(scene->pool);
    if (!error && scene->pinned)
        error = (int)bench->device.driver->cuMemFreeHost(scene->pinned);
    if (!error)
        error = (int)poolSwapGetHostPool(&host);
    return error ? error : (int)poolMemPoolTrimTo(host, 0);
}

static int copy_all(const struct bench *bench, const struct scene *scene, bool out) {
    const struct sp_driver *driver = bench->device.driver;
    CUresult error = CUDA_SUCCESS;
    for (size_t i = 0; i < scene->count && error == CUDA_SUCCESS; i++) {
        CUdeviceptr block = (CUdeviceptr)(uintptr_t)scene->blocks[i];
        error = out ? driver->cuMemcpyDtoHAsync(scene->pinned, block, BLOCK, bench->streams[0])
                    : driver->cuMemcpyHtoDAsync(block, scene->pinned, BLOCK, bench->streams[0]);
    }
    return (int)(error == CUDA_SUCCESS ? driver->cuStreamSynchronize(bench->streams[0]) : error);
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    const struct scene *scene = setting;
    bool is_ours = subject - scene->subjects == OURS;
    int error = 0;
    for (int row = PAUSE; row < ROWS && !error; row++) {
        double begin = samples_clock();
        if (!is_ours)
            error = copy_all(bench, scene, row == PAUSE);
        else if (row == PAUSE)
            error = (int)poolMemPoolPause(scene->pool, NULL, poolPauseSave, NULL, 0, NULL);
        else
            error = (int)poolMemPoolResume(scene->pool, NULL);
        values[row] = (double)(scene->count * BLOCK) / (samples_clock() - begin);
    }
    return error;
}

static int measure_amount(struct bench *bench, struct scene *scene) {
    char labels[ROWS][RESULT_TEXT], amount[16];
    bench_size_text(scene->count * BLOCK, amount);
    snprintf(labels[PAUSE], sizeof labels[PAUSE], "%s, pause", amount);
    snprintf(labels[RESUME], sizeof labels[RESUME], "%s, resume", amount);
    const struct bench_row rows[ROWS] = {{labels[PAUSE], "GB/s"}, {labels[RESUME], "GB/s"}};
    scene->blocks = calloc(scene->count, sizeof *scene->blocks);
    int error = scene->blocks ? open_scene(bench, scene) : (int)poolErrorMemoryAllocation;
    if (!error)
        error = bench_compare(bench, &(struct bench_field){.subjects = scene->subjects,
                                                           .subject_count = WAYS,
                                                           .rows = rows,
                                                           .row_count = ROWS,
                                                           .at = (double)(scene->count * BLOCK),
                                                           .measure = measure,
                                                           .setting = scene});
    int closed = close_scene(bench, scene);
    free(scene->blocks);
    return error ? error : closed;
}

int case_pause(struct bench *bench) {
    static const size_t gibibytes[] = {1, 4, 16, 32};
    struct scene scene = {.subjects = {{.name = "streampool", .role = SUBJECT_IS_MEASURED},
                                       {.name = "floor: pinned", .role = SUBJECT_IS_FLOOR}}};
    int error = 0;
    bench_print_head_of(bench,
                        &(struct bench_field){.subjects = scene.subjects, .subject_count = WAYS},
                        "a pool pauses with its contents saved, and resumes");
    for (size_t i = 0; i < sizeof gibibytes / sizeof gibibytes[0] && !error; i++) {
        char text[16];
        size_t bytes = gibibytes[i] << 30;
        if ((bench->simulated && bytes > MOST_SIMULATED) ||
            !bench_fits(bench, bytes, bench_size_text(bytes, text)))
            continue;
        scene.count = bytes / BLOCK;
        scene.pool = NULL;
        scene.pinned = NULL;
        error = measure_amount(bench, &scene);
    }
    return error;
}
