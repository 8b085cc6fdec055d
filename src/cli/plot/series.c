#include "cli/plot/series.h"

void sp_series_open(struct sp_series *series, size_t operations, unsigned passes, size_t columns) {
    size_t all = operations * passes;
    *series = (struct sp_series){.operations = operations, .passes = passes, .pass = 1};
    series->columns = columns < SP_SERIES_COLUMNS ? columns : SP_SERIES_COLUMNS;
    if (all < series->columns)
        series->columns = all;
    for (int figure = 0; figure < SP_FIGURE_COUNT; figure++)
        for (size_t column = 0; column < series->columns; column++)
            series->lines[figure].bands[column].least = UINT64_MAX;
    pthread_mutex_init(&series->lock, NULL);
}

void sp_series_close(struct sp_series *series) {
    pthread_mutex_destroy(&series->lock);
}

void sp_series_begin_pass(struct sp_series *series, unsigned pass) {
    series->pass = pass;
    for (int figure = 0; figure < SP_FIGURE_COUNT; figure++)
        series->lines[figure].high = 0;
}

static size_t column_of(const struct sp_series *series, size_t operation) {
    size_t all = series->operations * series->passes;
    size_t index = series->operations * (series->pass - 1) + operation;
    return (size_t)((double)index * (double)series->columns / (double)all);
}

static void widen(struct sp_line *line, size_t column, uint64_t bytes) {
    struct sp_band *band = &line->bands[column];
    if (bytes < band->least)
        band->least = bytes;
    if (bytes > band->most)
        band->most = bytes;
    if (bytes > line->peak)
        line->peak = bytes;
}

// A figure may have risen and fallen again within the operation, or between it and the last one
// that was looked at: its high figure tells.
static void add(struct sp_line *line, size_t column, const struct sp_reading *reading) {
    line->kind = SP_LINE_WHOLE;
    widen(line, column, reading->now);
    if (reading->high <= line->high)
        return;
    line->high = reading->high;
    widen(line, column, reading->high);
}

void sp_series_add(struct sp_series *series, size_t operation, const struct sp_figures *figures) {
    pthread_mutex_lock(&series->lock);
    for (int figure = 0; figure < SP_FIGURE_COUNT; figure++)
        if (figures->of[figure].known)
            add(&series->lines[figure], column_of(series, operation), &figures->of[figure]);
    pthread_mutex_unlock(&series->lock);
}

void sp_series_add_point(struct sp_series *series, size_t operation, enum sp_figure figure,
                         uint64_t bytes) {
    pthread_mutex_lock(&series->lock);
    series->lines[figure].kind = SP_LINE_POINTS;
    widen(&series->lines[figure], column_of(series, operation), bytes);
    pthread_mutex_unlock(&series->lock);
}

uint64_t sp_series_peak(const struct sp_series *series, enum sp_figure first, enum sp_figure last) {
    uint64_t peak = 0;
    for (enum sp_figure figure = first; figure <= last; figure++)
        if (series->lines[figure].peak > peak)
            peak = series->lines[figure].peak;
    return peak;
}
