// Free memory in pieces: 512 blocks of 16 MiB, every second one freed and the stream synchronised,
// then 1 GiB wanted.
//
// A pool has 4 GiB free then. It may grow by 1 GiB, or map pieces side by side, which takes a call
// and more for each extent. The *floor* is what these calls take by themselves: as many extents as
// the library says that it remapped, of their mean size, mapped in the same round with no pool
// around them. Where it remapped none, or doesn't say, it is that of as many extents as there are
// pieces in 1 GiB.
#include "bench.h"
#include "holes.h"

enum { BLOCKS = 512, BLOCK = 16 << 20, WANTED = 1 << 30 };

// What only our pool has.
struct own {
    struct remap_floor floor;
    struct samples held[HELD_ROWS];
};

static int run_in_pool(const struct subject *subject, CUstream stream, struct wanted *wanted) {
    struct holes holes;
    int error = holes_open(&holes, subject, BLOCKS, BLOCK, stream);
    if (!error)
        error = holes_want(subject, WANTED, stream, wanted);
    int closed = holes_close(&holes, subject, stream);
    return error ? error : closed;
}

static int measure_own(const struct bench *bench, struct own *own, const struct wanted *wanted) {
    if (bench->round >= 0)
        held_add(own->held, &wanted->held);
    return remap_floor_add(bench, &own->floor, wanted, WANTED / BLOCK, BLOCK);
}

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    struct own *own = *(struct own *const *)setting;
    struct wanted wanted = {0};
    int error = subject->open(subject, UINT64_MAX);
    if (!error)
        error = run_in_pool(subject, bench->streams[0], &wanted);
    int closed = subject->close(subject);
    error = error ? error : closed;
    values[0] = wanted.microseconds;
    values[1] = wanted.grown;
    bool ours = subject == &bench->pools.subjects[SUBJECT_OURS];
    return ours && !error ? measure_own(bench, own, &wanted) : error;
}

static void print_own(struct bench *bench, struct own *own) {
    remap_floor_print(bench, "1 GiB", &own->floor);
    held_print(bench, "1 GiB", own->held);
}

int case_fragments(struct bench *bench) {
    static const struct bench_row rows[] = {{"1 GiB, malloc", "us"}, {"1 GiB, new memory", "MiB"}};
    struct own own = {0}, *setting = &own;
    bench_print_head(bench, &bench->pools,
                     "512 blocks of 16 MiB, every second one freed, then 1 GiB wanted");
    int error = bench_rows(bench, &bench->pools, measure, &setting, 0, rows, 2);
    if (!error)
        print_own(bench, &own);
    return error;
}
