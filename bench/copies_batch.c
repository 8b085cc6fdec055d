// The blocks of a cache, say: pieces of one size that go between places all over the device's
// memory and places all over the host's, drawn from a fixed seed, in random order. All of a batch
// are given to the stream at once, and a synchronise ends it.
//
// A batch of pinned pieces is copied by our call, one by one, by the driver's own call for batches
// where there is one, and its bytes as one piece: that is what the bus can do. Beside a kernel on
// all multiprocessors a way that needs one waits until that kernel ends.
#include "copies_batch.h"

#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KIB          ((size_t)1 << 10)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { PIECES_MOST = 1000, SEED = 20261130 };

#define LARGEST (256 * KIB)

// Batches are copied until they are so many bytes.
#define SAMPLE ((size_t)16 << 20)

#define OCCUPIED_NS UINT64_C(20000000)
#define STARTS_US   1000 // until the kernel has all multiprocessors

enum way { OURS, ONE_BY_ONE, CUDAS_BATCH, ONE_COPY, WAYS };

// The places of the pieces in one memory, for calls that want pointers and those that want
// addresses.
struct places {
    void *pointers[PIECES_MOST];
    CUdeviceptr addresses[PIECES_MOST];
};

struct batch {
    struct copies *copies;
    size_t count, bytes; // bytes of each piece
    size_t sizes[PIECES_MOST];
    bool is_pinned;
    struct places device;
    struct places source, target;      // in the host's memory; pinned ones are the same
    const void *expected[PIECES_MOST]; // has the bytes of each piece
    struct kernel kernel;
};

// ------------------------------------------------------------------------------------------ places

static uint64_t draw(uint64_t *state, uint64_t below) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (*state >> 33) % below;
}

// Chooses how far from the beginning of a memory each piece lies. No two overlap.
static void scatter(const struct batch *batch, size_t slots[], uint64_t *state, size_t at[]) {
    size_t slot_count = batch->copies->size / batch->bytes;
    for (size_t i = 0; i < slot_count; i++)
        slots[i] = i;
    for (size_t i = 0; i < batch->count; i++) {
        size_t drawn = i + (size_t)draw(state, slot_count - i), slot = slots[drawn];
        slots[drawn] = slots[i];
        at[i] = slot * batch->bytes;
    }
}

static void place(struct places *places, size_t piece, uintptr_t address) {
    places->pointers[piece] = (void *)address;
    places->addresses[piece] = address;
}

static int make_pieces(struct batch *batch, size_t bytes) {
    const struct copies *copies = batch->copies;
    uintptr_t source = (uintptr_t)(batch->is_pinned ? copies->pinned : copies->source);
    uintptr_t target = (uintptr_t)(batch->is_pinned ? copies->pinned : copies->target);
    size_t on_device[PIECES_MOST], on_host[PIECES_MOST];
    size_t *slots = malloc(copies->size / bytes * sizeof *slots);
    uint64_t state = SEED;
    if (!slots)
        return CUDA_ERROR_OUT_OF_MEMORY;
    batch->bytes = bytes;
    scatter(batch, slots, &state, on_device);
    scatter(batch, slots, &state, on_host);
    free(slots);
    for (size_t i = 0; i < batch->count; i++) {
        batch->sizes[i] = bytes;
        place(&batch->device, i, copies->device + on_device[i]);
        place(&batch->source, i, source + on_host[i]);
        place(&batch->target, i, target + on_host[i]);
        batch->expected[i] = copies->source + on_host[i];
    }
    return 0;
}

// -------------------------------------------------------------------------------------------- ways

static int give_ours(struct batch *batch, struct places *to, struct places *from) {
    return (int)poolCopyBatchAsync(to->pointers, (const void *const *)from->pointers, batch->sizes,
                                   batch->count, batch->copies->stream);
}

static CUresult give_pageable(const struct batch *batch, const struct places *to,
                              const struct places *from, size_t piece) {
    const struct sp_driver *driver = batch->copies->driver;
    CUstream stream = batch->copies->stream;
    return to == &batch->device
               ? driver->cuMemcpyHtoDAsync(to->addresses[piece], from->pointers[piece],
                                           batch->bytes, stream)
               : driver->cuMemcpyDtoHAsync(to->pointers[piece], from->addresses[piece],
                                           batch->bytes, stream);
}

static int give_one_by_one(struct batch *batch, struct places *to, struct places *from) {
    CUresult error = CUDA_SUCCESS;
    for (size_t i = 0; i < batch->count && error == CUDA_SUCCESS; i++)
        error = batch->is_pinned
                    ? batch->copies->driver->cuMemcpyAsync(to->addresses[i], from->addresses[i],
                                                           batch->bytes, batch->copies->stream)
                    : give_pageable(batch, to, from, i);
    return (int)error;
}

static int give_to_cuda(struct batch *batch, struct places *to, struct places *from) {
    const struct copies *copies = batch->copies;
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    size_t first = 0, failed = 0;
    return (int)copies->driver->cuMemcpyBatchAsync(to->addresses, from->addresses, batch->sizes,
                                                   batch->count, &attributes, &first, 1, &failed,
                                                   copies->stream);
}

// The same number of bytes, which lie at the beginning of each memory.
static int give_as_one(struct batch *batch, struct places *to, struct places *from) {
    const struct copies *copies = batch->copies;
    CUdeviceptr pinned = (CUdeviceptr)(uintptr_t)copies->pinned;
    bool in = to == &batch->device;
    (void)from;
    return (int)copies->driver->cuMemcpyAsync(in ? copies->device : pinned,
                                              in ? pinned : copies->device,
                                              batch->count * batch->bytes, copies->stream);
}

static const struct {
    const char *name;
    enum subject_role role;
    int (*give)(struct batch *batch, struct places *to, struct places *from);
} ways[WAYS] = {
    [OURS] = {"streampool", SUBJECT_IS_MEASURED, give_ours},
    [ONE_BY_ONE] = {"CUDA, one by one", SUBJECT_IS_REFERENCE, give_one_by_one},
    [CUDAS_BATCH] = {"CUDA, batch", SUBJECT_IS_MEASURED, give_to_cuda},
    [ONE_COPY] = {"floor: one copy", SUBJECT_IS_FLOOR, give_as_one},
};

static int copy(struct batch *batch, enum way way, enum copies_direction direction) {
    int error = direction == COPIES_IN ? ways[way].give(batch, &batch->device, &batch->source)
                                       : ways[way].give(batch, &batch->target, &batch->device);
    return error ? error : (int)batch->copies->driver->cuStreamSynchronize(batch->copies->stream);
}

// Copies in and out, and compares: poolErrorUnknown where a byte is another one. One copy of all
// bytes has no pieces to compare.
static int check(struct batch *batch, enum way way) {
    const struct copies *copies = batch->copies;
    if (way == ONE_COPY)
        return 0;
    int error =
        (int)copies->driver->cuMemsetD8Async(copies->device, 0, copies->size, copies->stream);
    if (!error)
        error = copy(batch, way, COPIES_IN);
    for (size_t i = 0; i < batch->count; i++)
        memset(batch->target.pointers[i], 0, batch->bytes);
    if (!error)
        error = copy(batch, way, COPIES_OUT);
    for (size_t i = 0; i < batch->count && !error; i++)
        if (memcmp(batch->target.pointers[i], batch->expected[i], batch->bytes) != 0)
            error = (int)poolErrorUnknown;
    return error;
}

// -------------------------------------------------------------------------------------- one sample

// In bytes per nanosecond, which are GB/s.
static int time_rate(struct batch *batch, enum way way, enum copies_direction direction,
                     double *rate) {
    size_t most = SAMPLE < batch->copies->size ? SAMPLE : batch->copies->size, done = 0;
    double begin = samples_clock();
    int error = 0;
    while (done < most && !error) {
        error = copy(batch, way, direction);
        done += batch->count * batch->bytes;
    }
    *rate = (double)done / (samples_clock() - begin);
    return error;
}

// In microseconds, until the batch is complete.
static int time_beside(const struct bench *bench, struct batch *batch, enum way way,
                       enum copies_direction direction, double *time) {
    int error = kernel_occupy(&batch->kernel, bench->streams[1], OCCUPIED_NS, bench->device.handle);
    if (error)
        return error;
    usleep(STARTS_US);
    double begin = samples_clock();
    error = copy(batch, way, direction);
    *time = (samples_clock() - begin) / 1000;
    int ended = (int)bench->device.driver->cuStreamSynchronize(bench->streams[1]);
    return error ? error : ended;
}

// ----------------------------------------------------------------------------------------- a table

// What its rows are called behind the size and the direction, and what stands side by side.
struct table {
    struct batch *batch;
    const char *pieces, *behind;
    bool is_beside; // a kernel on all multiprocessors
    struct subject subjects[WAYS];
    enum way ways[WAYS];
    size_t count;
};

static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    const struct table *table = setting;
    enum way way = table->ways[subject - table->subjects];
    int error = bench->round < 0 ? check(table->batch, way) : 0;
    for (size_t i = 0; i < COPIES_DIRECTIONS && !error; i++) {
        enum copies_direction direction = (enum copies_direction)i;
        error = table->is_beside ? time_beside(bench, table->batch, way, direction, &values[i])
                                 : time_rate(table->batch, way, direction, &values[i]);
    }
    return error;
}

static int measure_size(struct bench *bench, struct table *table) {
    struct bench_row rows[COPIES_DIRECTIONS];
    char labels[COUNT(rows)][RESULT_TEXT], text[16];
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(labels[i], sizeof labels[i], "%s %s, %s%s",
                 bench_size_text(table->batch->bytes, text), table->pieces,
                 copies_direction_text[i], table->behind);
        rows[i] = (struct bench_row){labels[i], table->is_beside ? "us" : "GB/s"};
    }
    return bench_compare(bench, &(struct bench_field){.subjects = table->subjects,
                                                      .subject_count = table->count,
                                                      .rows = rows,
                                                      .row_count = COUNT(rows),
                                                      .at = (double)table->batch->bytes,
                                                      .measure = measure,
                                                      .setting = table});
}

static void line_up(struct table *table, const enum way wanted[], size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (wanted[i] == CUDAS_BATCH && !table->batch->copies->driver->cuMemcpyBatchAsync)
            continue;
        table->ways[table->count] = wanted[i];
        table->subjects[table->count++] =
            (struct subject){.name = ways[wanted[i]].name, .role = ways[wanted[i]].role};
    }
}

static int measure_sizes(struct bench *bench, struct table *table, const char *title,
                         const size_t sizes[], size_t count) {
    int error = 0;
    bench_print_head_of(
        bench, &(struct bench_field){.subjects = table->subjects, .subject_count = table->count},
        title);
    for (size_t i = 0; i < count && !error; i++) {
        error = make_pieces(table->batch, sizes[i]);
        if (!error)
            error = measure_size(bench, table);
    }
    return error;
}

// -------------------------------------------------------------------------------------- the tables

static const size_t few_sizes[] = {4 * KIB, 32 * KIB, LARGEST};

static int measure_pinned(struct bench *bench, struct batch *batch) {
    static const enum way wanted[] = {OURS, ONE_BY_ONE, CUDAS_BATCH, ONE_COPY};
    static const size_t sizes[] = {4 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, LARGEST};
    struct table table = {.batch = batch, .pieces = "pieces", .behind = ""};
    char title[160], text[16];
    snprintf(title, sizeof title,
             "batches of %zu pinned pieces, scattered over %s, to a loop of cuMemcpyAsync",
             batch->count, bench_size_text(batch->copies->size, text));
    batch->is_pinned = true;
    // Other tables have left bytes of theirs there.
    memcpy(batch->copies->pinned, batch->copies->source, batch->copies->size);
    line_up(&table, wanted, COUNT(wanted));
    return measure_sizes(bench, &table, title, sizes, COUNT(sizes));
}

static int measure_pageable(struct bench *bench, struct batch *batch) {
    static const enum way wanted[] = {OURS, ONE_BY_ONE};
    struct table table = {.batch = batch, .pieces = "pageable pieces", .behind = ""};
    batch->is_pinned = false;
    line_up(&table, wanted, COUNT(wanted));
    return measure_sizes(bench, &table, "batches of as many pageable pieces, to a loop likewise",
                         few_sizes, COUNT(few_sizes));
}

static int measure_beside(struct bench *bench, struct batch *batch) {
    static const enum way wanted[] = {OURS, ONE_BY_ONE, CUDAS_BATCH};
    struct table table = {
        .batch = batch, .pieces = "pieces", .behind = ", beside", .is_beside = true};
    batch->is_pinned = true;
    line_up(&table, wanted, COUNT(wanted));
    return measure_sizes(
        bench, &table,
        "batches of pinned pieces beside a kernel that fills the device for 20,000 us", few_sizes,
        COUNT(few_sizes));
}

int copies_batch(struct bench *bench, struct copies *copies) {
    struct batch *batch = calloc(1, sizeof *batch);
    size_t most = copies->size / LARGEST / 2;
    if (!batch)
        return CUDA_ERROR_OUT_OF_MEMORY;
    batch->copies = copies;
    batch->count = most < PIECES_MOST ? most : PIECES_MOST;
    int error = kernel_open(&batch->kernel, copies->driver);
    if (!error)
        error = measure_pinned(bench, batch);
    if (!error)
        error = measure_pageable(bench, batch);
    if (!error)
        error = measure_beside(bench, batch);
    kernel_close(&batch->kernel);
    free(batch);
    return error;
}
