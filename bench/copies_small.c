// Each copy begins on a stream that is idle. One of pageable memory to the host returns when the
// bytes are there, whoever copies: to issue it takes nearly all of its time.
#include "copies_small.h"

#include <stdio.h>

enum { COPIES = 100, COPIES_SIMULATED = 10 };

enum { WHOLE, ISSUE, QUANTITIES };

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

struct small {
    struct copies *copies;
    struct copies_lineup lineup;
    size_t bytes;
    size_t directions; // 1: only to the device
};

// Adds the microseconds of one copy.
static int time_one(struct copies *copies, enum copies_way way, enum copies_direction direction,
                    size_t bytes, double *values) {
    double begin = samples_clock();
    int error = copies_issue(copies, way, direction, 0, bytes);
    double issued = samples_clock();
    if (!error)
        error = copies_finish(copies, way, direction, 0, bytes);
    values[WHOLE] += (samples_clock() - begin) / 1000;
    values[ISSUE] += (issued - begin) / 1000;
    return error;
}

static int time_many(const struct bench *bench, struct copies *copies, enum copies_way way,
                     enum copies_direction direction, size_t bytes, double *values) {
    int count = bench->simulated ? COPIES_SIMULATED : COPIES, error = 0;
    values[WHOLE] = values[ISSUE] = 0;
    for (int i = 0; i < count && !error; i++)
        error = time_one(copies, way, direction, bytes, values);
    values[WHOLE] /= count;
    values[ISSUE] /= count;
    return error;
}

// The one chunk is the caller's alone.
static int measure(struct bench *bench, struct subject *subject, const void *setting,
                   double *values) {
    const struct small *small = setting;
    struct copies *copies = small->copies;
    enum copies_way way = copies_way_of(&small->lineup, subject);
    int error = team_start(&copies->team, 1);
    if (!error && bench->round < 0 && small->directions == COPIES_DIRECTIONS)
        error = copies_check(copies, way, small->bytes);
    for (size_t i = 0; i < small->directions && !error; i++)
        error = time_many(bench, copies, way, (enum copies_direction)i, small->bytes,
                          &values[QUANTITIES * i]);
    team_stop(&copies->team);
    return error;
}

static int measure_size(struct bench *bench, struct small *small) {
    static const char *const quantities[QUANTITIES] = {[WHOLE] = "", [ISSUE] = ", issue"};
    struct bench_row rows[COPIES_DIRECTIONS * QUANTITIES];
    char labels[COUNT(rows)][RESULT_TEXT], text[16];
    for (size_t i = 0; i < COUNT(rows); i++) {
        snprintf(labels[i], sizeof labels[i], "%s, %s%s", bench_size_text(small->bytes, text),
                 copies_direction_text[i / QUANTITIES], quantities[i % QUANTITIES]);
        rows[i] = (struct bench_row){labels[i], "us"};
    }
    return bench_compare(bench, &(struct bench_field){
                                    .subjects = small->lineup.subjects,
                                    .subject_count = small->lineup.count,
                                    .rows = rows,
                                    .row_count = small->directions * QUANTITIES,
                                    .at = (double)small->bytes,
                                    .measure = measure,
                                    .setting = small,
                                });
}

static int measure_sizes(struct bench *bench, struct small *small, const char *title,
                         const size_t sizes[], size_t count) {
    int error = 0;
    copies_print_head(bench, &small->lineup, title);
    for (size_t i = 0; i < count && !error; i++) {
        small->bytes = sizes[i];
        error = measure_size(bench, small);
    }
    return error;
}

int copies_small(struct bench *bench, struct copies *copies) {
    static const enum copies_way ways[] = {COPIES_OURS,   COPIES_COMPLETION, COPIES_PAGEABLE,
                                           COPIES_PINNED, COPIES_CHUNK,      COPIES_WORDS};
    static const size_t words[] = {4, 8};
    static const size_t sizes[] = {64,       512,      4 << 10,   16 << 10,
                                   32 << 10, 64 << 10, 128 << 10, 256 << 10};
    struct small small = {.copies = copies, .directions = 1};
    copies_line_up(copies, &small.lineup, ways, COUNT(ways));
    int error =
        measure_sizes(bench, &small, "one word and two, to CUDA's own copy", words, COUNT(words));
    small.directions = COPIES_DIRECTIONS;
    copies_line_up(copies, &small.lineup, ways, COUNT(ways) - 1); // a stream writes a few words
    if (!error)
        error = measure_sizes(bench, &small, "small copies with a synchronise, and to issue them",
                              sizes, COUNT(sizes));
    return error;
}
