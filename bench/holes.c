#include "holes.h"

#include "floor.h"

#include <stdio.h>
#include <stdlib.h>

static int release_every(struct holes *holes, const struct subject *subject, size_t first,
                         size_t step, CUstream stream) {
    int first_error = 0;
    for (size_t i = first; i < holes->count; i += step) {
        int error = holes->blocks[i] ? subject->release(subject, holes->blocks[i], stream) : 0;
        holes->blocks[i] = NULL;
        first_error = first_error ? first_error : error;
    }
    int error = subject->synchronize(subject, stream);
    return first_error ? first_error : error;
}

int holes_open(struct holes *holes, const struct subject *subject, size_t count, size_t size,
               CUstream stream) {
    *holes = (struct holes){.blocks = calloc(count, sizeof *holes->blocks), .count = count};
    if (!holes->blocks) {
        holes->count = 0;
        return CUDA_ERROR_OUT_OF_MEMORY;
    }
    int error = 0;
    for (size_t i = 0; i < count && !error; i++)
        error = subject->allocate(subject, &holes->blocks[i], size, stream);
    return error ? error : release_every(holes, subject, 1, 2, stream);
}

int holes_close(struct holes *holes, const struct subject *subject, CUstream stream) {
    int error = release_every(holes, subject, 0, 1, stream);
    free(holes->blocks);
    return error;
}

static int allocate(const struct subject *subject, size_t size, CUstream stream,
                    struct wanted *wanted, void **block) {
    uint64_t before = 0, after = 0;
    struct remapped remapped = subject->remapped(subject);
    int error = subject->reserved(subject, &before);
    if (error)
        return error;
    double begin = samples_clock();
    error = subject->allocate(subject, block, size, stream);
    wanted->microseconds = (samples_clock() - begin) / 1000;
    wanted->remapped = subject->remapped(subject);
    wanted->remapped.calls -= remapped.calls;
    wanted->remapped.extents -= remapped.extents;
    wanted->remapped.bytes -= remapped.bytes;
    wanted->held = subject->held(subject);
    if (!error)
        error = subject->reserved(subject, &after);
    wanted->grown = ((double)after - (double)before) / (1 << 20);
    return error;
}

int holes_want(const struct subject *subject, size_t size, CUstream stream, struct wanted *wanted) {
    void *block = NULL;
    int error = allocate(subject, size, stream, wanted, &block);
    int released = block ? subject->release(subject, block, stream) : 0;
    return error ? error : released;
}

void held_add(struct samples samples[HELD_ROWS], const struct held *held) {
    samples_add(&samples[0], (double)held->mappings);
    samples_add(&samples[1], (double)held->address_space / (1 << 30));
    samples_add(&samples[2], (double)held->reaper_time / 1000);
}

// A table of our pool's alone, with `label` in front of each row.
static void print_rows(struct bench *bench, const char *label, const struct bench_row what[],
                       size_t count, struct samples *samples) {
    char labels[BENCH_ROWS_MAX][RESULT_TEXT];
    struct bench_row rows[BENCH_ROWS_MAX];
    for (size_t i = 0; i < count; i++) {
        snprintf(labels[i], sizeof labels[i], "%s, %s", label, what[i].label);
        rows[i] = (struct bench_row){labels[i], what[i].unit};
    }
    bench_print_rows(bench,
                     &(struct bench_field){.subjects = bench->pools.subjects,
                                           .subject_count = 1,
                                           .rows = rows,
                                           .row_count = count},
                     samples);
}

void held_print(struct bench *bench, const char *label, struct samples samples[HELD_ROWS]) {
    static const struct bench_row what[HELD_ROWS] = {
        {"mappings kept", "mappings"}, {"address space", "GiB"}, {"in the reaper", "us"}};
    print_rows(bench, label, what, HELD_ROWS, samples);
}

int remap_floor_add(const struct bench *bench, struct remap_floor *floor,
                    const struct wanted *wanted, size_t pieces, size_t size) {
    const struct remapped *remapped = &wanted->remapped;
    bool known = remapped->has_extents && remapped->extents > 0;
    size_t count = known ? remapped->extents : pieces;
    double microseconds;
    floor->has_extents = remapped->has_extents;
    int error = floor_measure(bench->device.driver, count, known ? remapped->bytes / count : size,
                              &microseconds);
    if (error || bench->round < 0)
        return error;
    samples_add(&floor->samples[0], (double)remapped->extents);
    samples_add(&floor->samples[1], microseconds);
    samples_add(&floor->samples[2], 100 * wanted->microseconds / microseconds);
    return 0;
}

void remap_floor_print(struct bench *bench, const char *label, struct remap_floor *floor) {
    static const struct bench_row what[FLOOR_ROWS] = {
        {"remapped", "extents"}, {"floor", "us"}, {"malloc", "% of floor"}};
    int first = floor->has_extents ? 0 : 1;
    print_rows(bench, label, &what[first], (size_t)(FLOOR_ROWS - first), &floor->samples[first]);
}
