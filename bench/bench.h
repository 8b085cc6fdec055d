// What the cases of the bench share. A case measures all subjects in interleaved rounds, so that
// whatever drifts drifts for all, and prints a row for each quantity of each of its settings.
//
// Functions that return int return 0 or the number of a driver's error. One thread uses a bench at
// a time.
#ifndef STREAMPOOL_BENCH_BENCH_H
#define STREAMPOOL_BENCH_BENCH_H

#include "results.h"
#include "samples.h"
#include "subject.h"

#include "cli/program/device.h"
#include "cli/program/work.h"

// X(name, what it measures)
#define BENCH_CASES(X)                                                                             \
    X(pair, "a malloc and a free on one stream, by size")                                          \
    X(live, "pairs and host memory, by the number of live blocks")                                 \
    X(mam, "a malloc and a free of one chunk without streams, by size and number of live blocks")  \
    X(sizes, "blocks of random sizes that come and go, by how many live at a time")                \
    X(growth, "a new pool's first allocation and its trim, by size")                               \
    X(evict, "a pool's memory, given up and taken again under live blocks, by their size")         \
    X(pause, "a pool whose contents go to the host and come back, by the amount")                  \
    X(loop, "malloc, kernel, free, synchronise, by size and release threshold")                    \
    X(alternate, "pairs on two streams in turn, by size")                                          \
    X(handoff, "a block that goes from stream to stream, ordered by an event, by size")            \
    X(ahead, "two streams that take turns while the host runs ahead: time and memory")             \
    X(streams, "pairs, misses and host memory, by the number of streams")                          \
    X(unfenced, "pairs beside work and memory that other streams can't see, by UnfencedBytesMax")  \
    X(threads, "pairs by the number of threads, and by what they share and do")                    \
    X(fragments, "a large block from free memory in pieces, and just the calls that remap it")     \
    X(full, "a large block from free memory in pieces on a full device")                           \
    X(after,                                                                                       \
      "after a peak: what is held, a huge block again, time; few small blocks on many streams")    \
    X(cold_lanes, "calls beside many streams that used the pool before, and their host memory")    \
    X(stall, "other threads' calls, and a kernel, while one thread remaps")                        \
    X(kinds, "a malloc and a free on one stream, by the stream's kind")                            \
    X(host, "memory of the host: pairs, copies, kernels, and getting gibibytes of it")             \
    X(copy,                                                                                        \
      "pageable memory to the device and back: by size, settings, small, behind a held stream; "   \
      "batches and files")                                                                         \
    X(heap, "malloc and free inside kernels, by size and threads; built where there is nvcc")      \
    X(ended_threads, "threads that use their default stream once and end: time and memory")        \
    X(ended_streams, "streams that are used once and destroyed: time and memory")                  \
    X(ended_contexts, "contexts that are used once and destroyed: time and memory")                \
    X(ended_slots, "a pair on the n-th stream that came and went, beside 1,000 live ones")         \
    X(user_events, "events that are recorded after frees and stay: time and memory")               \
    X(queries,                                                                                     \
      "pairs and records of a stream that has waited for others, which were only queried")         \
    X(pending, "misses beside streams with pending frees")                                         \
    X(many_pools,                                                                                  \
      "pools that allocate and trim, and that hold memory: time, memory, address space")           \
    X(given_up, "pools that were destroyed with work pending: what others notice")                 \
    X(fixed_sizes, "fixed blocks of growing sizes: address space compared with the peak in use")   \
    X(many_holes, "large blocks, TrimTo and others' pairs beside free blocks of 64 KiB")

struct bench {
    struct sp_device device;
    struct sp_work work;
    struct sp_peers peers;
    struct lineup pools; // ours and CUDA's, each made for the purpose
    CUstream streams[2];
    CUevent event;
    int rounds;
    bool rounds_given;      // by --rounds
    int seconds;            // that a case measured by time takes for each of its forms
    uint64_t device_memory; // that is left free for `full`; UINT64_MAX: all
    uint64_t host_memory;   // that `host` gets at once, and does no more; 0: what can be spared
    uint64_t divisor;       // of the amounts of cases of what must not grow (bounded.h)
    int round;              // the one that is measured; -1 warms up and doesn't count
    int repeat;             // of it
    const char *step;       // that the measured subject is at, if the case says so; else null
    bool left_out;          // a subject, because it failed
    bool simulated;
    bool silent; // prints no table
    bool wide;   // tables may have more than 80 columns
    const char *case_name;
    struct results results;
};

#define BENCH_DECLARE_CASE(name, summary) int case_##name(struct bench *bench);
BENCH_CASES(BENCH_DECLARE_CASE)
#undef BENCH_DECLARE_CASE

// --------------------------------------------------------------------------------------- measuring

enum { BENCH_SUBJECTS_MAX = 16, BENCH_ROWS_MAX = 16 };

// Measures one subject once: a value for each quantity, in its unit. One that fails is named, with
// the step, and left out from then on, and the case goes on with the others. If none is left, that
// is the case's error.
typedef int bench_measure(struct bench *bench, struct subject *subject, const void *setting,
                          double *values);

// A quantity that is measured.
struct bench_row {
    const char *label;
    const char *unit;
};

// What is measured in the same rounds.
struct bench_field {
    struct subject *subjects;
    size_t subject_count;
    int repeats; // samples of a subject in a row in each round; 0: one
    const struct bench_row *rows;
    size_t row_count;
    // The first ones, if each of their samples is a call or a few: the p99 has a line of its
    // own.
    size_t call_rows;
    double at; // the setting as a number, for plots: bytes, blocks, threads; 0: it is none
    bench_measure *measure;
    const void *setting;
};

// Measures subjects in interleaved rounds and prints a row for each quantity. `at` is that of a
// field.
int bench_rows(struct bench *bench, struct lineup *lineup, bench_measure *measure,
               const void *setting, double at, const struct bench_row rows[], size_t row_count);

// Measures many subjects in interleaved rounds and prints a line for each, with a column for each
// quantity. Their names must outlive the bench.
int bench_lines(struct bench *bench, const struct bench_field *field);

// The same with a row for each quantity.
int bench_compare(struct bench *bench, const struct bench_field *field);

// Non-blocking streams, and giving them back. Opening that fails leaves none behind.
int bench_open_streams(struct bench *bench, CUstream *streams, size_t count);
void bench_close_streams(CUstream *streams, size_t count);

// Names a subject that has failed, on standard error: at which setting and step, and why.
void bench_name_failure(const struct bench *bench, const char *setting,
                        const struct subject *subject, int error);

// `count` times a malloc and a free.
int bench_pairs(const struct subject *subject, size_t size, CUstream stream, int count);

// The same, and how many nanoseconds one of them took on average. The stream is idle then.
int bench_mean_pair(const struct subject *subject, size_t size, CUstream stream, int count,
                    double *mean);

// Whether the device has so many bytes free, and some to spare. If not, a line says that `what` is
// left out.
bool bench_fits(const struct bench *bench, uint64_t bytes, const char *what);

// ---------------------------------------------------------------------------------------- printing

// On the simulated driver every line ends with its name, which is short in narrow tables. A text
// that is too long for a line of a narrow table goes on in the next one.
void bench_print(const struct bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void bench_end_line(const struct bench *bench);
void bench_print_text(const struct bench *bench, const char *text);

// What the case does; the same with the names of subjects below it, or of those of a field.
void bench_print_title(const struct bench *bench, const char *title);
void bench_print_head(const struct bench *bench, const struct lineup *lineup, const char *title);
void bench_print_head_of(const struct bench *bench, const struct bench_field *field,
                         const char *title);

// Prints the quantities of a field and keeps them as results; samples[quantity * subject_count +
// subject]. A subject without samples has none of either. Rows have the median of each subject with
// its least and most, and lines with its quartiles. Narrow ones have the ratios of the medians to
// those of the reference and the floor; wide ones that to the reference, and rows have the first
// subject's with those of the quartiles.
void bench_print_rows(struct bench *bench, const struct bench_field *field,
                      struct samples *samples);
void bench_print_lines(struct bench *bench, const struct bench_field *field,
                       struct samples *samples);

// "256 B", "32 MiB" into a buffer.
const char *bench_size_text(size_t size, char text[16]);

#endif
