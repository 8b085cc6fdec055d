// A series keeps the figures of a replay over its trace, thinned out to the columns of a plot, and
// draws them.
//
// A column has the least and the most of each figure at the operations that fall into it, so peaks
// stay however many operations there are. Passes follow each other; starts lie over each other.
// The caller owns the struct. Any number of threads may add to it at a time.
#ifndef STREAMPOOL_CLI_SERIES_H
#define STREAMPOOL_CLI_SERIES_H

#include "cli/plot/plot.h"

#include <pthread.h>
#include <stdint.h>

// The figures of an allocator, and how they stand at a moment. docs/replay.md says where each of
// them comes from.
//   X(name, its name in a plot), in the order of the legend
#define SP_FIGURES(X)                                                                              \
    X(LIVE, "live")                                                                                \
    X(RESERVED, "reserved")                                                                        \
    X(PENDING, "pending")                                                                          \
    X(PINNED, "pinned")

#define SP_FIGURE_INDEX(name, text) SP_FIGURE_##name,
enum sp_figure { SP_FIGURES(SP_FIGURE_INDEX) SP_FIGURE_COUNT };
#undef SP_FIGURE_INDEX

struct sp_reading {
    bool known;
    uint64_t now;  // bytes
    uint64_t high; // the most since the pass began, or less where nobody knows
};

struct sp_figures {
    struct sp_reading of[SP_FIGURE_COUNT];
};

static inline void sp_figures_note(struct sp_figures *figures, enum sp_figure figure, uint64_t now,
                                   uint64_t high) {
    figures->of[figure] = (struct sp_reading){.known = true, .now = now, .high = high};
}

enum { SP_SERIES_COLUMNS = 720 };

struct sp_band {
    uint64_t least, most; // least > most: nothing was seen
};

struct sp_line {
    bool is_whole; // it is known at every operation; else by its peak, if that isn't 0
    uint64_t peak;
    uint64_t high; // of the pass: what has been noted of sp_reading.high
    struct sp_band bands[SP_SERIES_COLUMNS];
};

struct sp_series {
    size_t operations; // of a pass
    unsigned passes;
    unsigned pass; // that is played, from 1
    size_t columns;
    pthread_mutex_t lock;
    struct sp_line lines[SP_FIGURE_COUNT];
};

// Makes an empty series for a trace of so many operations.
void sp_series_open(struct sp_series *series, size_t operations, unsigned passes);
void sp_series_close(struct sp_series *series);

// Begins a pass, from 1. A start begins with pass 1 again.
void sp_series_begin_pass(struct sp_series *series, unsigned pass);

// Adds the figures that are known behind an operation of the pass.
void sp_series_add(struct sp_series *series, size_t operation, const struct sp_figures *figures);

// Adds the peak of a figure of which no more is known.
void sp_series_add_peak(struct sp_series *series, enum sp_figure figure, uint64_t bytes);

// Begins a panel over the operations of all passes, for bytes of which there are so many at most.
void sp_series_panel(struct sp_plot *plot, const struct sp_series *series, double height,
                     uint64_t peak);

// Draws a figure that is whole. What is live or pending is an area, which is full up to the least
// of a column and lighter from there to the most; the others are lines, which are thick where the
// least and the most differ.
void sp_series_draw(struct sp_plot *plot, const struct sp_series *series, enum sp_figure figure,
                    size_t colour);

#endif
