#include "cli/plot/series.h"

#include "cli/program/quantity.h"

#include <inttypes.h>

void sp_series_open(struct sp_series *series, size_t operations, unsigned passes) {
    size_t all = operations * passes;
    *series = (struct sp_series){.operations = operations, .passes = passes, .pass = 1};
    series->columns = all < SP_SERIES_COLUMNS ? all : SP_SERIES_COLUMNS;
    for (int figure = 0; figure < SP_FIGURE_COUNT; figure++)
        for (size_t column = 0; column < series->columns; column++)
            series->lines[figure].bands[column].least = UINT64_MAX;
    pthread_mutex_init(&series->lock, NULL);
}

void sp_series_close(struct sp_series *series) {
    pthread_mutex_destroy(&series->lock);
}

// --------------------------------------------------------------------------------- what is thinned

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
    line->is_whole = true;
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

void sp_series_add_peak(struct sp_series *series, enum sp_figure figure, uint64_t bytes) {
    struct sp_line *line = &series->lines[figure];
    pthread_mutex_lock(&series->lock);
    line->peak = bytes > line->peak ? bytes : line->peak;
    pthread_mutex_unlock(&series->lock);
}

// ----------------------------------------------------------------------------------- what is drawn

enum edge { EDGE_ZERO, EDGE_LEAST, EDGE_MOST };

static double x_of(const struct sp_plot *plot, const struct sp_series *series, size_t column) {
    return plot->box.left + plot->box.width * (double)column / (double)series->columns;
}

static double y_of(const struct sp_plot *plot, const struct sp_band *band, enum edge edge) {
    uint64_t bytes = edge == EDGE_ZERO ? 0 : edge == EDGE_LEAST ? band->least : band->most;
    return sp_plot_y(plot, (double)bytes);
}

// Goes along the upper edge of the columns from one to another, and back along the lower one.
static void draw_run(struct sp_plot *plot, const struct sp_series *series,
                     const struct sp_band *bands, enum edge lower, enum edge upper, size_t begin,
                     size_t end) {
    struct sp_svg *svg = &plot->svg;
    sp_svg_go(svg, x_of(plot, series, begin), y_of(plot, &bands[begin], upper));
    for (size_t column = begin; column < end; column++)
        sp_svg_step(svg, x_of(plot, series, column), y_of(plot, &bands[column], upper));
    sp_svg_go(svg, x_of(plot, series, end), y_of(plot, &bands[end - 1], upper));
    for (size_t column = end; column-- > begin;)
        sp_svg_step(svg, x_of(plot, series, column + 1), y_of(plot, &bands[column], lower));
    sp_svg_go(svg, x_of(plot, series, begin), y_of(plot, &bands[begin], lower));
}

// Draws all columns in which something was seen, run after run.
static void draw_runs(struct sp_plot *plot, const char *class, const struct sp_series *series,
                      const struct sp_band *bands, enum edge lower, enum edge upper) {
    for (size_t begin = 0, end = 0; begin < series->columns; begin = ++end) {
        for (end = begin; end < series->columns && bands[end].least <= bands[end].most;)
            end++;
        if (end == begin)
            continue;
        sp_svg_begin_path(&plot->svg, class);
        draw_run(plot, series, bands, lower, upper, begin, end);
        sp_svg_end_path(&plot->svg);
    }
}

void sp_series_draw(struct sp_plot *plot, const struct sp_series *series, enum sp_figure figure,
                    size_t colour) {
    static const char *const names[] = {
#define NAME(figure, text) text,
        SP_FIGURES(NAME)
#undef NAME
    };
    bool is_area = figure == SP_FIGURE_LIVE || figure == SP_FIGURE_PENDING;
    const struct sp_line *line = &series->lines[figure];
    char peak[SP_QUANTITY_TEXT];
    snprintf(peak, sizeof peak, "%" PRIu64, line->peak);
    sp_svg_begin_group(&plot->svg, names[figure], "figure", names[figure], "peak-bytes", peak,
                       SP_SVG_END);
    if (is_area)
        draw_runs(plot, sp_class("area", colour).text, series, line->bands, EDGE_ZERO, EDGE_LEAST);
    draw_runs(plot, sp_class(is_area ? "sometimes" : "band", colour).text, series, line->bands,
              EDGE_LEAST, EDGE_MOST);
    sp_svg_end_group(&plot->svg);
}

void sp_series_panel(struct sp_plot *plot, const struct sp_series *series, double height,
                     uint64_t peak) {
    enum { TICKS = 8 };
    size_t all = series->operations * series->passes;
    struct sp_axis across =
        sp_axis_linear(SP_AXIS_COUNT, (double)all, TICKS,
                       series->passes > 1 ? "operation, pass after pass" : "operation");
    struct sp_axis up = sp_axis_linear(SP_AXIS_BYTES, (double)peak, sp_plot_ticks(height), NULL);
    across.most = all > 0 ? (double)all : 1;
    sp_plot_panel(plot, height, &across, &up);
}
