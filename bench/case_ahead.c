// Two streams on which the host runs ahead of the device: what one stream has freed is pending when
// the other one wants memory.
//
// In each step one of the streams allocates blocks of random sizes, with a kernel behind each, and
// frees most of them again. The rest it frees at the end of its step. Streams take turns. In one
// form the next stream waits for this one's step, by the driver's own event, of which no pool
// learns, and which is recorded before the last frees. In the other form nothing orders the two, so
// a device runs them side by side if their memory allows it. Nothing synchronises before the end.
//
// A pool that hands out only what is complete, or was the stream's own, grows for each stream by
// all that a step uses. One that makes the stream wait holds what a step uses; in the second form
// the streams then run one after the other.
//
// In the third form one stream allocates a block at a time and works on it, and the other one works
// on it longer, and frees it. What is pending is what the device is behind by, which is as much as
// the streams' queues hold.
#include "bench.h"

#include <stdio.h>
#include <streampool/streampool.h>

enum { STEPS = 32, BLOCKS_OF_STEP = 48, LIVE = 24, PIECE_NS = 50000 };
enum { PASSED = 10000, PASSED_SIZE = 1 << 20, PRODUCE_NS = 5000, CONSUME_NS = 15000 };

enum form { IN_TURN, SIDE_BY_SIDE, PASSED_ON };

enum { TIME, RESERVED, SHARE, ROWS };

static const struct bench_row rows[ROWS] = {[TIME] = {"time", "ms"},
                                            [RESERVED] = {"reserved", "MiB"},
                                            [SHARE] = {"reserved, of used", "%"}};

struct block {
    void *pointer;
    size_t size;
};

// One run: what is live of a step, and the most bytes that were live at once.
struct run {
    struct bench *bench;
    const struct subject *subject;
    enum form form;
    uint64_t state; // of its random numbers
    struct block live[LIVE + 1];
    int count;
    uint64_t used, used_high;
};

static uint64_t draw(struct run *run, uint64_t below) {
    run->state = run->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (run->state >> 33) % below;
}

static int work_on(const struct run *run, const struct block *block, CUstream stream,
                   uint64_t nanoseconds) {
    return (int)sp_work_launch(&run->bench->work, stream, nanoseconds, (uintptr_t)block->pointer,
                               block->size);
}

static int allocate(struct run *run, size_t size, CUstream stream) {
    struct block block = {.size = size};
    int error = run->subject->allocate(run->subject, &block.pointer, block.size, stream);
    if (error)
        return error;
    run->live[run->count++] = block;
    run->used += block.size;
    run->used_high = run->used > run->used_high ? run->used : run->used_high;
    return 0;
}

// From 1 to 24 MiB, for which there are kernels enough in a step that the host is ahead.
static int begin_block(struct run *run, CUstream stream) {
    int error = allocate(run, (size_t)((1 << 20) + draw(run, 23 << 20)) / 512 * 512, stream);
    return error ? error : work_on(run, &run->live[run->count - 1], stream, PIECE_NS);
}

static int release(struct run *run, int index, CUstream stream) {
    struct block block = run->live[index];
    run->live[index] = run->live[--run->count];
    run->used -= block.size;
    return run->subject->release(run->subject, block.pointer, stream);
}

// By the driver: a pool that was told would know the order of the frees before.
static int hand_over(const struct bench *bench, CUstream stream, CUstream next) {
    CUresult error = bench->device.driver->cuEventRecord(bench->event, stream);
    if (error == CUDA_SUCCESS)
        error = bench->device.driver->cuStreamWaitEvent(next, bench->event, 0);
    return (int)error;
}

static int take_step(struct run *run, CUstream stream, CUstream next) {
    int error = 0;
    for (int i = 0; i < BLOCKS_OF_STEP && !error; i++) {
        error = begin_block(run, stream);
        if (!error && run->count > LIVE)
            error = release(run, (int)draw(run, (uint64_t)run->count), stream);
    }
    if (!error && run->form == IN_TURN)
        error = hand_over(run->bench, stream, next);
    while (run->count > 0) {
        int released = release(run, run->count - 1, stream);
        error = error ? error : released;
    }
    return error;
}

static int take_all_steps(struct run *run) {
    CUstream *streams = run->bench->streams;
    int error = 0;
    for (int step = 0; step < STEPS && !error; step++)
        error = take_step(run, streams[step % 2], streams[(step + 1) % 2]);
    return error;
}

static int pass_block(struct run *run, CUstream producer, CUstream consumer) {
    int error = allocate(run, PASSED_SIZE, producer);
    if (error)
        return error;
    error = work_on(run, &run->live[0], producer, PRODUCE_NS);
    if (!error)
        error = hand_over(run->bench, producer, consumer);
    if (!error)
        error = work_on(run, &run->live[0], consumer, CONSUME_NS);
    int released = release(run, 0, consumer);
    return error ? error : released;
}

static int pass_all(struct run *run) {
    CUstream *streams = run->bench->streams;
    int error = 0;
    for (int i = 0; i < PASSED && !error; i++)
        error = pass_block(run, streams[0], streams[1]);
    return error;
}

static int run_form(struct run *run) {
    CUstream *streams = run->bench->streams;
    int error = run->form == PASSED_ON ? pass_all(run) : take_all_steps(run);
    for (int i = 0; i < 2; i++) {
        int synchronized = run->subject->synchronize(run->subject, streams[i]);
        error = error ? error : synchronized;
    }
    return error;
}

// By the clock that the device runs by.
static int measure_opened(struct run *run, double *values) {
    uint64_t reserved = 0;
    uint64_t begin = sp_work_now(&run->bench->work);
    int error = run_form(run);
    uint64_t end = sp_work_now(&run->bench->work);
    if (!error)
        error = run->subject->reserved_high(run->subject, &reserved);
    values[TIME] = (double)(end - begin) / 1e6;
    values[RESERVED] = (double)reserved / (1 << 20);
    values[SHARE] = (double)reserved * 100 / (double)run->used_high;
    return error;
}

// In a new pool each time, with the same sizes.
static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    struct run run = {
        .bench = bench, .subject = subject, .form = *(const enum form *)setting, .state = 20261123};
    int error = subject->open(subject, UINT64_MAX);
    if (!error)
        error = measure_opened(&run, values);
    int closed = subject->close(subject);
    return error ? error : closed;
}

// Of what is passed on one block is live at a time.
static int measure_form(struct bench *bench, struct lineup *lineup, enum form form) {
    static const char *const titles[] = {
        [IN_TURN] = "two streams that take turns, the host ahead: in the program's order",
        [SIDE_BY_SIDE] = "two streams that take turns, the host ahead: side by side",
        [PASSED_ON] = "one stream allocates and another one frees, the host ahead",
    };
    bench_print_title(bench, titles[form]);
    return bench_lines(bench, &(struct bench_field){.subjects = lineup->subjects,
                                                    .subject_count = lineup->count,
                                                    .rows = rows,
                                                    .row_count = form == PASSED_ON ? SHARE : ROWS,
                                                    .measure = measure,
                                                    .setting = &form});
}

int case_ahead(struct bench *bench) {
    struct lineup lineup;
    LINE_UP(&lineup, bench->device.driver, SUBJECT_OURS, SUBJECT_BOUNDED, SUBJECT_CUDAS);
    int error = 0;
    for (enum form form = IN_TURN; form <= PASSED_ON && !error; form++)
        error = measure_form(bench, &lineup, form);
    return error;
}
