// A block goes from stream A to stream B: malloc and free on A, an event behind them for which B
// waits, malloc on B, and an event back, behind which A frees B's block. So B never frees and never
// has memory of its own. Opportunistic reuse and internal dependencies are off: what B gets was
// freed by A before the event, by FollowEventDependencies, or the pool grows at every handoff. What
// it has reserved in the end tells which.
#include "bench.h"

#include <streampool/streampool.h>

#include <stdio.h>

enum { HANDOFFS = 500 };

// Puts what comes on one stream behind what is on the other.
static int order(const struct bench *bench, const struct subject *subject, CUstream before,
                 CUstream after) {
    int error = subject->record(subject, bench->event, before);
    return error ? error : subject->wait(subject, after, bench->event);
}

static int hand_over(const struct bench *bench, const struct subject *subject, size_t size) {
    CUstream first = bench->streams[0], second = bench->streams[1];
    void *block;
    int error = bench_pairs(subject, size, first, 1);
    if (!error)
        error = order(bench, subject, first, second);
    if (!error)
        error = subject->allocate(subject, &block, size, second);
    if (!error)
        error = order(bench, subject, second, first);
    return error ? error : subject->release(subject, block, first);
}

static int hand_over_all(const struct bench *bench, const struct subject *subject, size_t size) {
    int error = 0;
    for (int i = 0; i < HANDOFFS && !error; i++)
        error = hand_over(bench, subject, size);
    return error;
}

static int order_all(const struct bench *bench, const struct subject *subject) {
    int error = 0;
    for (int i = 0; i < 2 * HANDOFFS && !error; i++)
        error = order(bench, subject, bench->streams[i % 2], bench->streams[!(i % 2)]);
    return error;
}

// In the first handoffs the pool grows and B uses up what it grew by; they don't count.
static int measure_opened(struct bench *bench, struct subject *subject, size_t size,
                          double *values) {
    uint64_t reserved = 0;
    int error = hand_over_all(bench, subject, size);
    double begin = samples_clock();
    if (!error)
        error = hand_over_all(bench, subject, size);
    values[0] = (samples_clock() - begin) / HANDOFFS;
    begin = samples_clock();
    if (!error)
        error = order_all(bench, subject);
    values[1] = (samples_clock() - begin) / HANDOFFS;
    if (!error)
        error = subject->reserved_high(subject, &reserved);
    values[2] = (double)reserved / (1 << 20);
    for (int i = 0; i < 2 && !error; i++)
        error = subject->synchronize(subject, bench->streams[i]);
    return error;
}

static int follow_events_only(struct subject *subject) {
    int error = subject->set_policy(subject, poolMemPoolReuseAllowOpportunistic, 0);
    return error ? error
                 : subject->set_policy(subject, poolMemPoolReuseAllowInternalDependencies, 0);
}

// In a pool of its own, so that what it reserved is this size's alone.
static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    const size_t *size = setting;
    int error = subject->open(subject, UINT64_MAX);
    if (!error)
        error = follow_events_only(subject);
    if (!error)
        error = measure_opened(bench, subject, *size, values);
    int closed = subject->close(subject);
    return error ? error : closed;
}

static int measure_size(struct bench *bench, size_t size) {
    char text[16], handoff[RESULT_TEXT], events[RESULT_TEXT], reserved[RESULT_TEXT];
    struct bench_row rows[] = {{handoff, "ns"}, {events, "ns"}, {reserved, "MiB"}};
    bench_size_text(size, text);
    snprintf(handoff, sizeof handoff, "%s, handoff", text);
    snprintf(events, sizeof events, "%s, its events alone", text);
    snprintf(reserved, sizeof reserved, "%s, reserved", text);
    return bench_rows(bench, &bench->pools, measure, &size, (double)size, rows, 3);
}

int case_handoff(struct bench *bench) {
    static const size_t sizes[] = {512, 65536, 1 << 20, 16 << 20};
    int error = 0;
    bench_print_head(bench, &bench->pools,
                     "malloc + free, event, malloc on another stream, event, free");
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && !error; i++)
        error = measure_size(bench, sizes[i]);
    return error;
}
