// A series keeps the figures of a replay over its trace, thinned out to the columns of a plot.
//
// A column has the least and the most of each figure at the operations that fall into it, so peaks
// stay however many operations there are. Passes follow each other; starts lie over each other.
// The caller owns the struct. Any number of threads may add to it at a time.
#ifndef STREAMPOOL_CLI_SERIES_H
#define STREAMPOOL_CLI_SERIES_H

#include "cli/plot/figures.h"

#include <pthread.h>
#include <stddef.h>

enum { SP_SERIES_COLUMNS = 720 };

// A figure is not known, at single operations, or at every one.
enum sp_line_kind { SP_LINE_UNKNOWN, SP_LINE_POINTS, SP_LINE_WHOLE };

struct sp_band {
    uint64_t least, most; // least > most: nothing was seen
};

struct sp_line {
    enum sp_line_kind kind;
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

// Makes an empty series for a trace of so many operations, with that many columns at most.
void sp_series_open(struct sp_series *series, size_t operations, unsigned passes, size_t columns);
void sp_series_close(struct sp_series *series);

// Begins a pass, from 1. A start begins with pass 1 again.
void sp_series_begin_pass(struct sp_series *series, unsigned pass);

// Adds the figures that are known behind an operation of the pass.
void sp_series_add(struct sp_series *series, size_t operation, const struct sp_figures *figures);

// Adds a figure that is known at this operation alone.
void sp_series_add_point(struct sp_series *series, size_t operation, enum sp_figure figure,
                         uint64_t bytes);

static inline bool sp_series_is_empty(const struct sp_band *band) {
    return band->least > band->most;
}

// Returns the most of the figures from one to another.
uint64_t sp_series_peak(const struct sp_series *series, enum sp_figure first, enum sp_figure last);

#endif
