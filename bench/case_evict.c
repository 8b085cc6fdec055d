// A pool with live blocks gives up its memory (poolMemPoolEvict), and gets other memory at the same
// addresses (poolMemPoolMakeResident), by the size of the blocks; nothing is copied. The floor is
// just the driver's calls for extents of that size.
//
// A driver may take long to clear what was released a moment ago, so that making a pool resident
// right behind its eviction is another row than making it resident after a pause.
#include "bench.h"

#include <stdio.h>
#include <stdlib.h>
#include <streampool/streampool.h>
#include <time.h>

enum { EVICT, RESIDENT, EVICT_AGAIN, RESIDENT_AT_ONCE, EXTENTS, ROWS };
enum way { OURS, FLOOR, WAYS };

#define MOST           ((size_t)64 << 30)
#define MOST_SIMULATED ((size_t)1 << 30)
#define PAUSE_NS       200000000

struct scene {
    struct subject subjects[WAYS];
    size_t size, count; // of blocks
    poolMemPool_t pool;
    void **blocks;
    CUdeviceptr address; // of the floor's extents
    CUmemGenericAllocationHandle *handles;
};

static const CUmemAllocationProp on_device = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                              .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
static const CUmemAccessDesc by_device = {{CU_MEM_LOCATION_TYPE_DEVICE, 0},
                                          CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

// ---------------------------------------------------------------------------------------- our pool

static int open_ours(struct bench *bench, struct scene *scene) {
    const struct poolMemPoolProps props = {.allocType = poolMemAllocationTypePinned,
                                           .location = {poolMemLocationTypeDevice, 0}};
    int error = (int)poolMemPoolCreate(&scene->pool, &props);
    for (size_t i = 0; i < scene->count && !error; i++)
        error = (int)poolMallocFromPoolAsync(&scene->blocks[i], scene->size, scene->pool,
                                             bench->streams[0]);
    return error;
}

static int close_ours(struct bench *bench, struct scene *scene) {
    int error = 0;
    for (size_t i = 0; i < scene->count; i++) {
        if (scene->blocks[i] && !error)
            error = (int)poolFreeAsync(scene->blocks[i], bench->streams[0]);
        scene->blocks[i] = NULL;
    }
    if (!error)
        error = (int)poolStreamSynchronize(bench->streams[0]);
    if (!error && scene->pool)
        error = (int)poolMemPoolDestroy(scene->pool);
    scene->pool = NULL;
    return error;
}

// --------------------------------------------------------------------------------------- the floor

static int map_floor(const struct sp_driver *driver, struct scene *scene) {
    CUresult error = CUDA_SUCCESS;
    for (size_t i = 0; i < scene->count && error == CUDA_SUCCESS; i++) {
        CUdeviceptr address = scene->address + i * scene->size;
        error = driver->cuMemCreate(&scene->handles[i], scene->size, &on_device, 0);
        if (error == CUDA_SUCCESS)
            error = driver->cuMemMap(address, scene->size, 0, scene->handles[i], 0);
        if (error == CUDA_SUCCESS)
            error = driver->cuMemSetAccess(address, scene->size, &by_device, 1);
    }
    return (int)error;
}

static int unmap_floor(const struct sp_driver *driver, struct scene *scene) {
    CUresult error = CUDA_SUCCESS;
    for (size_t i = 0; i < scene->count && error == CUDA_SUCCESS; i++) {
        error = driver->cuMemUnmap(scene->address + i * scene->size, scene->size);
        if (error == CUDA_SUCCESS)
            error = driver->cuMemRelease(scene->handles[i]);
    }
    return (int)error;
}

static int open_floor(const struct sp_driver *driver, struct scene *scene) {
    CUresult error =
        driver->cuMemAddressReserve(&scene->address, scene->size * scene->count, 0, 0, 0);
    return error == CUDA_SUCCESS ? map_floor(driver, scene) : (int)error;
}

static int close_floor(const struct sp_driver *driver, struct scene *scene) {
    int error = unmap_floor(driver, scene);
    return error ? error
                 : (int)driver->cuMemAddressFree(scene->address, scene->size * scene->count);
}

// --------------------------------------------------------------------------------------- the table

static int leave(const struct bench *bench, struct scene *scene, enum way way) {
    return way == OURS ? (int)poolMemPoolEvict(scene->pool, NULL, NULL, NULL)
                       : unmap_floor(bench->device.driver, scene);
}

static int come_back(const struct bench *bench, struct scene *scene, enum way way) {
    return way == OURS ? (int)poolMemPoolMakeResident(scene->pool, NULL, NULL)
                       : map_floor(bench->device.driver, scene);
}

static double milliseconds_since(double begin) {
    return (samples_clock() - begin) / 1e6;
}

static int measure_turns(const struct bench *bench, struct scene *scene, enum way way,
                         double *values) {
    int error = 0;
    for (int turn = 0; turn < 2 && !error; turn++) {
        double begin = samples_clock();
        error = leave(bench, scene, way);
        values[turn ? EVICT_AGAIN : EVICT] = milliseconds_since(begin);
        if (turn == 0 && !bench->simulated)
            nanosleep(&(struct timespec){0, PAUSE_NS}, NULL);
        begin = samples_clock();
        if (!error)
            error = come_back(bench, scene, way);
        values[turn ? RESIDENT_AT_ONCE : RESIDENT] = milliseconds_since(begin);
    }
    return error;
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    struct scene *scene = (struct scene *)setting; // as measure_size() has it
    enum way way = (enum way)(subject - scene->subjects);
    const struct sp_driver *driver = bench->device.driver;
    uint64_t extents = scene->count;
    int error = way == OURS ? open_ours(bench, scene) : open_floor(driver, scene);
    if (!error)
        error = measure_turns(bench, scene, way, values);
    if (!error && way == OURS)
        error = (int)poolMemPoolGetAttribute(scene->pool, poolMemPoolStatExtents, &extents);
    values[EXTENTS] = (double)extents;
    int closed = way == OURS ? close_ours(bench, scene) : close_floor(driver, scene);
    return error ? error : closed;
}

static int measure_size(struct bench *bench, struct scene *scene) {
    static const struct bench_row what[ROWS] = {
        [EVICT] = {"evict", "ms"},
        [RESIDENT] = {"make resident", "ms"},
        [EVICT_AGAIN] = {"evict again", "ms"},
        [RESIDENT_AT_ONCE] = {"make resident at once", "ms"},
        [EXTENTS] = {"extents", ""},
    };
    char labels[ROWS][RESULT_TEXT], amount[16], size[16];
    struct bench_row rows[ROWS];
    bench_size_text(scene->size * scene->count, amount);
    bench_size_text(scene->size, size);
    for (int i = 0; i < ROWS; i++) {
        snprintf(labels[i], sizeof labels[i], "%s of %s, %s", amount, size, what[i].label);
        rows[i] = (struct bench_row){labels[i], what[i].unit};
    }
    scene->blocks = calloc(scene->count, sizeof *scene->blocks);
    scene->handles = calloc(scene->count, sizeof *scene->handles);
    int error = scene->blocks && scene->handles ? 0 : (int)poolErrorMemoryAllocation;
    if (!error)
        error = bench_compare(bench, &(struct bench_field){.subjects = scene->subjects,
                                                           .subject_count = WAYS,
                                                           .rows = rows,
                                                           .row_count = ROWS,
                                                           .at = (double)scene->size,
                                                           .measure = measure,
                                                           .setting = scene});
    free(scene->blocks);
    free(scene->handles);
    return error;
}

int case_evict(struct bench *bench) {
    static const size_t mebibytes[] = {32, 128, 512, 2 << 10};
    struct scene scene = {.subjects = {{.name = "streampool", .role = SUBJECT_IS_MEASURED},
                                       {.name = "floor: the calls", .role = SUBJECT_IS_FLOOR}}};
    size_t amount = bench->simulated ? MOST_SIMULATED : MOST;
    int error = 0;
    while (amount > MOST_SIMULATED && !bench_fits(bench, amount, "an amount"))
        amount /= 2;
    bench_print_head_of(
        bench, &(struct bench_field){.subjects = scene.subjects, .subject_count = WAYS},
        "a pool's live blocks lose their memory and get other memory at their addresses");
    for (size_t i = 0; i < sizeof mebibytes / sizeof mebibytes[0] && !error; i++) {
        scene.size = mebibytes[i] << 20;
        scene.count = amount / scene.size;
        if (scene.count > 0)
            error = measure_size(bench, &scene);
    }
    return error;
}
