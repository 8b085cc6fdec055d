// Cases of what must not grow: a loop is measured after little of its work and after all of it, and
// what each figure has grown by in between is printed as a factor. Ours alone is measured: a
// program that runs for weeks asks of a figure that it stays, whatever another pool's is.
#ifndef STREAMPOOL_BENCH_BOUNDED_H
#define STREAMPOOL_BENCH_BOUNDED_H

#include "bench.h"

enum {
    BOUNDED_POINTS_MAX = 5,
    BOUNDED_FIGURES_MAX = 7,
    BOUNDED_DIVISOR = 100, // of the amounts where the command line has no other
    BOUNDED_DIVISOR_MAX = 100000,
};

struct bounded;

struct bounded_loop {
    const char *what; // what amounts count: "threads"
    const char *form; // of several that a case has: "poolStreamDestroy"; null: it has one
    // What the figures are measured at, the amount of the whole work last. Points that divided work
    // doesn't reach are left out; where one alone is left, a tenth of it is the other.
    uint64_t points[BOUNDED_POINTS_MAX];
    size_t point_count;
    const struct bench_row *figures;
    size_t figure_count;
    // Does the work between two points, and adds to the figures.
    int (*advance)(struct bounded *bounded);
};

// A loop at one of its points.
struct bounded {
    struct bench *bench;
    const struct bounded_loop *loop;
    const struct subject *subject; // ours, with a pool that keeps what it has
    void *state;
    uint64_t done;   // so much work, up to the point before; 0 at first
    uint64_t amount; // what must be done at this point
    struct samples *samples;
};

// What the case does, with the column of the figures below it.
void bounded_print_head(const struct bench *bench, const char *title);

// Runs the loop, prints and keeps what it measures. Behind `state` is what the loop likes.
int bounded_run(struct bench *bench, const struct bounded_loop *loop, void *state);

void bounded_add(const struct bounded *bounded, size_t figure, double value);

// Resident memory as this figure in MiB, and what malloc handed out as the next one, where the C
// library tells.
#define BOUNDED_MEMORY_FIGURES                                                                     \
    {"resident", "MiB"}, {                                                                         \
        "mallinfo2", "MiB"                                                                         \
    }
void bounded_add_memory(const struct bounded *bounded, size_t figure);

// Does one piece of work after another up to the amount; the times of the last ones, as many as
// there are rounds, are added to the figure in microseconds.
int bounded_repeat(const struct bounded *bounded, size_t figure,
                   int (*work)(const struct bounded *bounded, uint64_t index));

// Does a piece of work as often as there are rounds, once more at first, and adds its times
// likewise. `work` gets the number of the round.
int bounded_measure(const struct bounded *bounded, size_t figure,
                    int (*work)(const struct bounded *bounded, uint64_t index));

// Puts work on a stream, but the bench's second one, that is pending until somebody waits for it;
// on a GPU for three seconds at most.
int bounded_hold(const struct bounded *bounded, CUstream stream, const void *block, size_t size);

#endif
