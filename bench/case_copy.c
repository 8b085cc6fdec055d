// Copies between a device and pageable memory: ours beside the driver's own, the pinned bus and the
// host's memcpy; by size, by settings, small ones, and behind a stream that is held; batches of
// pieces; and files.
//
// What is copied to is there, but in rows that say *fresh*: these pages are touched for the first
// time, so that the time has what the system takes to get them. Copies of less than 16 MiB are
// made several times in a sample, each of other bytes.
#include "copies.h"
#include "copies_batch.h"
#include "copies_behind.h"
#include "copies_files.h"
#include "copies_small.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MIB          ((size_t)1 << 20)
#define COUNT(array) (sizeof(array) / sizeof(array)[0])

enum { ROUNDS_BY_SIZE = 9, ROUNDS_BY_SETTING = 7, ROUNDS_OF_BATCHES = 9 };

// Smaller copies are made until they are so many bytes.
#define SAMPLE (16 * MIB)

// Settings are compared with such a copy, or a smaller one where there is less memory.
#define USUAL (256 * MIB)

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

// -------------------------------------------------------------------------------------- one sample

// So many bytes are copied in one sample, at most all that there are.
static size_t bytes_of_sample(const struct copies *copies, size_t bytes) {
    size_t most = least(bytes < SAMPLE ? SAMPLE : bytes, copies->size);
    return most / bytes * bytes;
}

// In bytes per nanosecond, which are GB/s.
static int measure_rate(struct copies *copies, enum copies_way way, enum copies_direction direction,
                        size_t bytes, double *rate) {
    size_t all = bytes_of_sample(copies, bytes);
    double begin = samples_clock();
    int error = 0;
    for (size_t at = 0; at < all && !error; at += bytes) {
        error = copies_issue(copies, way, direction, at, bytes);
        if (!error)
            error = copies_finish(copies, way, direction, at, bytes);
    }
    *rate = (double)all / (samples_clock() - begin);
    return error;
}

static int measure_both_ways(const struct bench *bench, struct copies *copies, enum copies_way way,
                             size_t bytes, double *rates) {
    int error = bench->round < 0 ? copies_check(copies, way, bytes) : 0;
    for (int i = 0; i < COPIES_DIRECTIONS && !error; i++)
        error = measure_rate(copies, way, (enum copies_direction)i, bytes, &rates[i]);
    return error;
}

// ----------------------------------------------------------------------------------------- by size

// Measures one way: a rate for each row.
typedef int measure_way(const struct bench *bench, struct copies *copies, enum copies_way way,
                        size_t bytes, double *rates);

struct by_size {
    struct copies *copies;
    struct copies_lineup lineup;
    unsigned int threads; // of the floor
    size_t bytes;
    measure_way *measure;
    const char *const *rows; // their labels behind the size
    size_t row_count;
};

static int measure_fresh(const struct bench *bench, struct copies *copies, enum copies_way way,
                         size_t bytes, double *rates) {
    (void)bench;
    copies_drop_pages(copies, bytes_of_sample(copies, bytes));
    return measure_rate(copies, way, COPIES_OUT, bytes, rates);
}

static int measure_subject(struct bench *bench, struct subject *subject, const void *setting,
                           double *values) {
    const struct by_size *by_size = setting;
    struct copies *copies = by_size->copies;
    enum copies_way way = copies_way_of(&by_size->lineup, subject);
    int error = team_start(&copies->team, way == COPIES_FLOOR ? by_size->threads : 1);
    if (error)
        return error;
    error = by_size->measure(bench, copies, way, by_size->bytes, values);
    team_stop(&copies->team);
    return error;
}

static int measure_size(struct bench *bench, struct by_size *by_size) {
    struct bench_row rows[COPIES_DIRECTIONS];
    char labels[COUNT(rows)][RESULT_TEXT], text[16];
    bench_size_text(by_size->bytes, text);
    for (size_t i = 0; i < by_size->row_count; i++) {
        snprintf(labels[i], sizeof labels[i], "%s, %s", text, by_size->rows[i]);
        rows[i] = (struct bench_row){labels[i], "GB/s"};
    }
    return bench_compare(bench, &(struct bench_field){.subjects = by_size->lineup.subjects,
                                                      .subject_count = by_size->lineup.count,
                                                      .rows = rows,
                                                      .row_count = by_size->row_count,
                                                      .at = (double)by_size->bytes,
                                                      .measure = measure_subject,
                                                      .setting = by_size});
}

static const size_t sizes[] = {MIB, 4 * MIB, 16 * MIB, 64 * MIB, 256 * MIB, 1024 * MIB};

static int measure_sizes(struct bench *bench, struct by_size *by_size, const char *title) {
    int error = 0;
    copies_print_head(bench, &by_size->lineup, title);
    for (size_t i = 0; i < COUNT(sizes) && !error; i++) {
        by_size->bytes = sizes[i];
        if (copies_fit(bench, by_size->copies, sizes[i]))
            error = measure_size(bench, by_size);
    }
    return error;
}

static int measure_in_and_out(struct bench *bench, struct copies *copies,
                              const struct poolCopySettings *settings) {
    static const enum copies_way ways[] = {COPIES_OURS, COPIES_COMPLETION, COPIES_PAGEABLE,
                                           COPIES_PINNED, COPIES_FLOOR};
    struct by_size by_size = {.copies = copies,
                              .threads = settings->threads,
                              .measure = measure_both_ways,
                              .rows = copies_direction_text,
                              .row_count = COPIES_DIRECTIONS};
    char title[160], text[16];
    snprintf(title, sizeof title,
             "pageable memory in and out, %u threads, %u chunks of %s, to CUDA's own copy",
             settings->threads, settings->depth, bench_size_text(settings->chunkBytes, text));
    copies_line_up(copies, &by_size.lineup, ways, COUNT(ways));
    return measure_sizes(bench, &by_size, title);
}

static int measure_out_fresh(struct bench *bench, struct copies *copies,
                             const struct poolCopySettings *settings) {
    static const enum copies_way ways[] = {COPIES_OURS, COPIES_COMPLETION, COPIES_PAGEABLE,
                                           COPIES_FLOOR};
    static const char *const row = "out, fresh";
    struct by_size by_size = {.copies = copies,
                              .threads = settings->threads,
                              .measure = measure_fresh,
                              .rows = &row,
                              .row_count = 1};
    copies_line_up(copies, &by_size.lineup, ways, COUNT(ways));
    return measure_sizes(bench, &by_size, "out into pages that are touched first, likewise");
}

static int measure_by_size(struct bench *bench, struct copies *copies) {
    struct poolCopySettings settings;
    int error = (int)poolCopyGetSettings(&settings);
    if (!error)
        error = measure_in_and_out(bench, copies, &settings);
    return error ? error : measure_out_fresh(bench, copies, &settings);
}

// ---------------------------------------------------------------------------- by threads and chunk

static const unsigned int threads[] = {1, 2, 4, 8};
static const struct {
    const char *name;
    size_t bytes;
} chunks[] = {
    {"chunks of 1 MiB", MIB},     {"chunks of 2 MiB", 2 * MIB},   {"chunks of 4 MiB", 4 * MIB},
    {"chunks of 8 MiB", 8 * MIB}, {"chunks of 16 MiB", 16 * MIB},
};

struct by_setting {
    struct copies *copies;
    struct subject *subjects;
    size_t bytes;
};

static int set(unsigned int thread_count, unsigned int depth, size_t chunk) {
    return (int)poolCopySetSettings(&(struct poolCopySettings){thread_count, depth, chunk});
}

static int measure_chunk(struct bench *bench, struct subject *subject, const void *setting,
                         double *values) {
    const struct by_setting *by_setting = setting;
    size_t chunk = chunks[subject - by_setting->subjects].bytes;
    int error = 0;
    for (size_t i = 0; i < COUNT(threads) && !error; i++) {
        error = set(threads[i], 0, chunk);
        if (!error)
            error = measure_both_ways(bench, by_setting->copies, COPIES_OURS, by_setting->bytes,
                                      &values[COPIES_DIRECTIONS * i]);
    }
    return error;
}

// Two rows for each number of threads.
static int measure_threads_and_chunks(struct bench *bench, struct by_setting *by_setting) {
    struct subject subjects[COUNT(chunks)];
    struct bench_row rows[COUNT(threads) * COPIES_DIRECTIONS];
    char labels[COUNT(rows)][RESULT_TEXT], title[128], text[16];
    for (size_t i = 0; i < COUNT(chunks); i++)
        subjects[i] = (struct subject){.name = chunks[i].name};
    for (size_t i = 0; i < COUNT(rows); i++) {
        unsigned int count = threads[i / COPIES_DIRECTIONS];
        snprintf(labels[i], sizeof labels[i], "%u thread%s, %s", count, count == 1 ? "" : "s",
                 copies_direction_text[i % COPIES_DIRECTIONS]);
        rows[i] = (struct bench_row){labels[i], "GB/s"};
    }
    by_setting->subjects = subjects;
    struct bench_field field = {.subjects = subjects,
                                .subject_count = COUNT(chunks),
                                .rows = rows,
                                .row_count = COUNT(rows),
                                .measure = measure_chunk,
                                .setting = by_setting};
    snprintf(title, sizeof title, "%s by threads and chunk, as many chunks as the library chooses",
             bench_size_text(by_setting->bytes, text));
    bench_print_head_of(bench, &field, title);
    return bench_compare(bench, &field);
}

// ---------------------------------------------------------------------------------------- by depth

static const struct {
    const char *name;
    unsigned int depth; // 1: the bench copies, and nothing overlaps
} depths[] = {
    {"1 chunk, by the bench", 1},
    {"2 chunks", 2},
    {"3 chunks", 3},
    {"4 chunks", 4},
    {"8 chunks", 8},
};

static int measure_without_overlap(struct bench *bench, struct copies *copies, size_t bytes,
                                   double *values) {
    struct poolCopySettings settings;
    int error = (int)poolCopyGetSettings(&settings);
    if (!error)
        error = team_start(&copies->team, settings.threads);
    if (error)
        return error;
    error = measure_both_ways(bench, copies, COPIES_CHUNK, bytes, values);
    team_stop(&copies->team);
    return error;
}

static int measure_depth(struct bench *bench, struct subject *subject, const void *setting,
                         double *values) {
    const struct by_setting *by_setting = setting;
    unsigned int depth = depths[subject - by_setting->subjects].depth;
    if (depth == 1)
        return measure_without_overlap(bench, by_setting->copies, by_setting->bytes, values);
    int error = set(0, depth, 0);
    if (!error)
        error =
            measure_both_ways(bench, by_setting->copies, COPIES_OURS, by_setting->bytes, values);
    return error;
}

static int measure_depths(struct bench *bench, struct by_setting *by_setting) {
    static const struct bench_row rows[] = {
        [COPIES_IN] = {"by depth, in", "GB/s"}, [COPIES_OUT] = {"by depth, out", "GB/s"}};
    struct subject subjects[COUNT(depths)];
    char title[128], text[16];
    for (size_t i = 0; i < COUNT(depths); i++)
        subjects[i] = (struct subject){.name = depths[i].name};
    by_setting->subjects = subjects;
    struct bench_field field = {.subjects = subjects,
                                .subject_count = COUNT(depths),
                                .rows = rows,
                                .row_count = COUNT(rows),
                                .measure = measure_depth,
                                .setting = by_setting};
    snprintf(title, sizeof title, "%s by depth, threads and chunk as the library chooses",
             bench_size_text(by_setting->bytes, text));
    bench_print_head_of(bench, &field, title);
    return bench_compare(bench, &field);
}

static int measure_by_setting(struct bench *bench, struct copies *copies) {
    struct by_setting by_setting = {.copies = copies, .bytes = least(USUAL, copies->size)};
    int error = measure_threads_and_chunks(bench, &by_setting);
    int restored = set(0, 0, 0);
    if (!error && !restored)
        error = measure_depths(bench, &by_setting);
    restored = set(0, 0, 0);
    return error ? error : restored;
}

// ------------------------------------------------------------------------------------ all of these

static int with_rounds(struct bench *bench, struct copies *copies, int rounds,
                       int (*measure)(struct bench *bench, struct copies *copies)) {
    int before = bench->rounds;
    bench->rounds = bench->rounds_given ? before : rounds;
    int error = measure(bench, copies);
    bench->rounds = before;
    return error;
}

// A sixteenth of what the machine has, and half of what the device has free, as a power of two.
static size_t spared(const struct bench *bench) {
    uint64_t host = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 16;
    size_t size = sizes[COUNT(sizes) - 1], available = 0, total = 0;
    bench->device.driver->cuMemGetInfo(&available, &total);
    while (size > MIB && (size > host || size > available / 2))
        size /= 2;
    return bench->simulated ? least(size, 4 * MIB) : size;
}

// With the first large copy the library measures which settings are best. No table has that in it.
static int let_library_measure(struct bench *bench, struct copies *copies) {
    double begin = samples_clock();
    char text[16], title[96];
    int error = copies_issue(copies, COPIES_OURS, COPIES_IN, 0, copies->size);
    if (!error)
        error = copies_finish(copies, COPIES_OURS, COPIES_IN, 0, copies->size);
    snprintf(title, sizeof title, "the first copy of all, %s to the device, takes %.1f ms",
             bench_size_text(copies->size, text), (samples_clock() - begin) / 1e6);
    bench_print_title(bench, title);
    return error ? error : copies_take_settings(copies);
}

static int measure_all(struct bench *bench, struct copies *copies) {
    int error = let_library_measure(bench, copies);
    if (!error)
        error = with_rounds(bench, copies, ROUNDS_BY_SIZE, measure_by_size);
    if (!error)
        error = with_rounds(bench, copies, ROUNDS_BY_SETTING, measure_by_setting);
    if (!error)
        error = copies_small(bench, copies);
    if (!error)
        error = with_rounds(bench, copies, COPIES_BEHIND_ROUNDS, copies_behind);
    if (!error)
        error = with_rounds(bench, copies, ROUNDS_OF_BATCHES, copies_batch);
    if (!error)
        error = with_rounds(bench, copies, COPIES_FILES_ROUNDS, copies_files);
    return error;
}

// A page that is touched first costs less where it is a huge one.
static void print_host(const struct bench *bench) {
    char pages[128] = "unknown", text[256];
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "r");
    if (file && fgets(pages, sizeof pages, file))
        pages[strcspn(pages, "\n")] = '\0';
    if (file)
        fclose(file);
    snprintf(text, sizeof text, "the host has %ld processors, transparent huge pages: %s",
             sysconf(_SC_NPROCESSORS_ONLN), pages);
    bench_print_title(bench, text);
}

int case_copy(struct bench *bench) {
    struct copies copies;
    print_host(bench);
    int error = copies_open(&copies, bench->device.driver, bench->streams[0], spared(bench));
    if (!error)
        error = measure_all(bench, &copies);
    int closed = copies_close(&copies);
    return error ? error : closed;
}
