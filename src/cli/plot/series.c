#include "cli/plot/series.h"

#include "cli/program/quantity.h"

#include <inttypes.h>

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

// ---------------------------------------------------------------------------------- what is
// thinned

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

// -------------------------------------------------------------------------------------- what is
// drawn

struct sp_panel sp_series_begin_panel(struct sp_svg *svg, const struct sp_series *series,
                                      const struct sp_box *box, uint64_t peak) {
    enum { TICKS = 8 };
    size_t all = series->operations * series->passes;
    const char *title = series->passes > 1 ? "operation, pass after pass" : "operation";
    struct sp_panel panel = {
        .box = *box,
        .x = sp_axis_linear(SP_AXIS_COUNT, (double)all, TICKS, title),
        .y = sp_axis_linear(SP_AXIS_BYTES, (double)peak, sp_panel_ticks(box->height), NULL),
    };
    char top[SP_QUANTITY_TEXT], bottom[SP_QUANTITY_TEXT], height[SP_QUANTITY_TEXT];
    panel.x.most = all > 0 ? (double)all : 1;
    snprintf(top, sizeof top, "%.0f", panel.y.most);
    snprintf(bottom, sizeof bottom, "%.0f", box->top + box->height);
    snprintf(height, sizeof height, "%.0f", box->height);
    sp_svg_begin_group(svg, "lines", "top-bytes", top, "bottom", bottom, "height", height, NULL);
    sp_panel_draw_y(svg, &panel);
    return panel;
}

enum edge { EDGE_ZERO, EDGE_LEAST, EDGE_MOST };

// The part of a line between two edges.
struct part {
    const struct sp_panel *panel;
    const struct sp_series *series;
    const struct sp_band *bands;
    enum edge lower, upper;
};

static double x_of(const struct part *part, size_t column) {
    const struct sp_box *box = &part->panel->box;
    return box->left + box->width * (double)column / (double)part->series->columns;
}

static double y_of(const struct part *part, size_t column, enum edge edge) {
    const struct sp_band *band = &part->bands[column];
    uint64_t bytes = edge == EDGE_ZERO ? 0 : edge == EDGE_LEAST ? band->least : band->most;
    return sp_panel_y(part->panel, (double)bytes);
}

// Goes along the upper edge of the columns from one to another, and back along the lower one.
static void draw_run(struct sp_svg *svg, const struct part *part, size_t begin, size_t end) {
    double last = y_of(part, begin, part->upper);
    sp_svg_go(svg, x_of(part, begin), last);
    for (size_t column = begin; column < end; column++) {
        double y = y_of(part, column, part->upper);
        if (y != last)
            sp_svg_step(svg, x_of(part, column), y);
        last = y;
    }
    sp_svg_step(svg, x_of(part, end), last);
    for (size_t column = end; column-- > begin;) {
        double y = y_of(part, column, part->lower);
        if (y != last)
            sp_svg_step(svg, x_of(part, column + 1), y);
        last = y;
    }
    sp_svg_step(svg, x_of(part, begin), last);
}

// Draws all columns in which something was seen, run after run.
static void draw_part(struct sp_svg *svg, const char *class, const struct part *part) {
    size_t begin = 0, columns = part->series->columns;
    while (begin < columns) {
        size_t end = begin;
        while (end < columns && part->bands[end].least <= part->bands[end].most)
            end++;
        if (end > begin) {
            sp_svg_begin_path(svg, class);
            draw_run(svg, part, begin, end);
            sp_svg_end_path(svg);
        }
        begin = end + 1;
    }
}

static void begin_figure(struct sp_svg *svg, const struct sp_series *series,
                         enum sp_figure figure) {
    static const char *const names[] = {
#define NAME(figure, text) text,
        SP_FIGURES(NAME)
#undef NAME
    };
    char peak[SP_QUANTITY_TEXT], text[SP_QUANTITY_TEXT];
    snprintf(peak, sizeof peak, "%" PRIu64, series->lines[figure].peak);
    sp_svg_begin_group(svg, "figure", "figure", names[figure], "peak-bytes", peak, NULL);
    sp_svg_title(svg, "%s: at most %s (%s bytes)", names[figure],
                 sp_bytes_text(series->lines[figure].peak, text), peak);
}

void sp_series_draw_area(struct sp_svg *svg, const struct sp_panel *panel,
                         const struct sp_series *series, enum sp_figure figure, const char *class) {
    char sometimes[2 * SP_CLASS_TEXT];
    struct part part = {panel, series, series->lines[figure].bands, EDGE_ZERO, EDGE_LEAST};
    struct part rest = {panel, series, part.bands, EDGE_LEAST, EDGE_MOST};
    snprintf(sometimes, sizeof sometimes, "%s sometimes", class);
    begin_figure(svg, series, figure);
    draw_part(svg, class, &part);
    draw_part(svg, sometimes, &rest);
    sp_svg_end_group(svg);
}

void sp_series_draw_line(struct sp_svg *svg, const struct sp_panel *panel,
                         const struct sp_series *series, enum sp_figure figure, const char *class) {
    struct part part = {panel, series, series->lines[figure].bands, EDGE_LEAST, EDGE_MOST};
    begin_figure(svg, series, figure);
    draw_part(svg, class, &part);
    sp_svg_end_group(svg);
}
