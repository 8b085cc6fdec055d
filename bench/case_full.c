// A full device: blocks of 512 MiB, as many as fit, every second one freed and the stream
// synchronised, then half of what is free wanted in one block, 32 GiB at most. No pool can grow by
// that much.
//
// Each pool is alone on the device in its turn. With --device-memory the rest of the device is
// taken first, by memory that is mapped nowhere.
#include "bench.h"
#include "holes.h"

#include <stdio.h>

#define BLOCK       ((size_t)512 << 20)
#define WANTED_MAX  ((size_t)32 << 30)
#define RESERVE_MAX ((size_t)4 << 30) // left free, for what driver and program need besides

enum { ROUNDS = 3, BLOCKS_MIN = 6 };

struct plan {
    size_t count; // of blocks
    size_t wanted;
    // Of our pool:
    struct samples held[HELD_ROWS];
    struct remap_floor floor;
};

// -------------------------------------------------------------------------------------- the device

static int take_all_but(const struct bench *bench, uint64_t left,
                        CUmemGenericAllocationHandle *taken) {
    const struct sp_driver *driver = bench->device.driver;
    CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    size_t available, total, granule;
    *taken = 0;
    CUresult error = driver->cuMemGetInfo(&available, &total);
    if (error == CUDA_SUCCESS)
        error = driver->cuMemGetAllocationGranularity(&granule, &prop,
                                                      CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (error != CUDA_SUCCESS || available <= left || (available - left) / granule == 0)
        return (int)error;
    return (int)driver->cuMemCreate(taken, (available - left) / granule * granule, &prop, 0);
}

// A small device keeps an eighth of its memory in reserve, so that the reserve is never what was
// wanted.
static int make_plan(const struct bench *bench, struct plan *plan) {
    size_t available, total;
    CUresult error = bench->device.driver->cuMemGetInfo(&available, &total);
    if (error != CUDA_SUCCESS)
        return (int)error;
    size_t reserve = available / 8 < RESERVE_MAX ? available / 8 : RESERVE_MAX;
    plan->count = (available - reserve) / BLOCK;
    plan->wanted = plan->count / 2 * BLOCK / 2;
    if (plan->wanted > WANTED_MAX)
        plan->wanted = WANTED_MAX;
    return plan->count < BLOCKS_MIN ? CUDA_ERROR_OUT_OF_MEMORY : 0;
}

// --------------------------------------------------------------------------------------- measuring

static int run_in_pool(const struct subject *subject, const struct plan *plan, CUstream stream,
                       struct wanted *wanted) {
    struct holes holes;
    int error = holes_open(&holes, subject, plan->count, BLOCK, stream);
    if (!error)
        error = holes_want(subject, plan->wanted, stream, wanted);
    int closed = holes_close(&holes, subject, stream);
    return error ? error : closed;
}

// The pool is closed by then, and its memory free.
static int measure_own(const struct bench *bench, struct plan *plan, const struct wanted *wanted) {
    if (bench->round >= 0)
        held_add(plan->held, &wanted->held);
    return remap_floor_add(bench, &plan->floor, wanted, plan->wanted / BLOCK, BLOCK);
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    struct plan *plan = *(struct plan *const *)setting;
    struct wanted wanted = {0};
    int error = subject->open(subject, UINT64_MAX);
    if (!error)
        error = run_in_pool(subject, plan, bench->streams[0], &wanted);
    int closed = subject->close(subject);
    values[0] = wanted.microseconds;
    values[1] = wanted.grown;
    error = error ? error : closed;
    bool ours = subject == &bench->pools.subjects[SUBJECT_OURS];
    return ours && !error ? measure_own(bench, plan, &wanted) : error;
}

static int measure_plan(struct bench *bench) {
    char size[16], title[128], time[RESULT_TEXT], grown[RESULT_TEXT];
    struct bench_row rows[] = {{time, "us"}, {grown, "MiB"}};
    struct plan plan = {0}, *setting = &plan;
    int error = make_plan(bench, &plan);
    if (error)
        return error;
    bench_size_text(plan.wanted, size);
    snprintf(title, sizeof title,
             "%zu blocks of 512 MiB, every second one freed, then %s wanted, %d rounds", plan.count,
             size, bench->rounds);
    snprintf(time, sizeof time, "%s, malloc", size);
    snprintf(grown, sizeof grown, "%s, new memory", size);
    bench_print_head(bench, &bench->pools, title);
    error = bench_rows(bench, &bench->pools, measure, &setting, 0, rows, 2);
    if (!error) {
        remap_floor_print(bench, size, &plan.floor);
        held_print(bench, size, plan.held);
    }
    return error;
}

int case_full(struct bench *bench) {
    CUmemGenericAllocationHandle taken;
    int rounds = bench->rounds;
    int error = take_all_but(bench, bench->device_memory, &taken);
    if (error)
        return error;
    bench->rounds = bench->rounds_given ? rounds : ROUNDS;
    error = measure_plan(bench);
    bench->rounds = rounds;
    if (taken)
        bench->device.driver->cuMemRelease(taken);
    return error;
}
