#include "cli/plot/plot.h"

#include "cli/program/quantity.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
#define NAME(figure, text) text,
    SP_FIGURES(NAME)
#undef NAME
};

// ------------------------------------------------------------------------------------------- ticks

enum { OPERATIONS_TICKS_MAX = 8, PIXELS_OF_TICK = 28 };

// A power of two, or one and a half of it. What is beyond 2^60 bytes is no memory of a device.
static uint64_t bytes_step(uint64_t peak, double height) {
    uint64_t ticks = (uint64_t)(height / PIXELS_OF_TICK), step = 256;
    while (step * ticks < peak && step * 3 / 2 * ticks < peak && step < (uint64_t)1 << 60)
        step *= 2;
    return step * ticks < peak ? step * 3 / 2 : step;
}

uint64_t sp_plot_top(uint64_t peak, double height) {
    uint64_t step = bytes_step(peak, height);
    uint64_t ticks = peak / step + (peak % step != 0);
    return step * (ticks > 0 ? ticks : 1);
}

// In the unit of the whole axis, so that ticks can be compared at a glance.
static void tick_text(uint64_t bytes, uint64_t top, char text[SP_QUANTITY_TEXT]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)bytes;
    for (uint64_t rest = top; rest >= 1024; rest /= 1024) {
        value /= 1024;
        unit++;
    }
    if (bytes == 0)
        snprintf(text, SP_QUANTITY_TEXT, "0");
    else
        snprintf(text, SP_QUANTITY_TEXT, "%g %s", value, units[unit]);
}

// 1, 2 or 5, with zeros behind it.
static size_t operations_step(size_t all) {
    static const unsigned factors[] = {1, 2, 5};
    for (size_t power = 1;; power *= 10)
        for (size_t i = 0; i < sizeof factors / sizeof factors[0]; i++)
            if (all / (power * factors[i]) < OPERATIONS_TICKS_MAX)
                return power * factors[i];
}

// "1,234,567"
static void count_text(size_t count, char text[SP_QUANTITY_TEXT]) {
    char digits[SP_QUANTITY_TEXT];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%zu", count), at = 0;
    for (size_t i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
}

// ----------------------------------------------------------------------------------------- the
// axes

static double bottom_of(const struct sp_box *box) {
    return box->top + box->height;
}

static double right_of(const struct sp_box *box) {
    return box->left + box->width;
}

static void draw_bytes_axis(struct sp_svg *svg, const struct sp_panel *panel) {
    const struct sp_box *box = &panel->box;
    uint64_t step = bytes_step(panel->top, box->height), bytes = 0;
    for (uint64_t tick = 0; tick <= panel->top / step; tick++, bytes += step) {
        char text[SP_QUANTITY_TEXT];
        double y = bottom_of(box) - box->height * ((double)bytes / (double)panel->top);
        sp_svg_line(svg, tick == 0 ? "frame" : "grid", box->left, y, right_of(box), y);
        tick_text(bytes, panel->top, text);
        sp_svg_text(svg, "small right", box->left - 6, y + 4, "%s", text);
    }
    sp_svg_line(svg, "frame", box->left, box->top, box->left, bottom_of(box));
}

static size_t operations_of(const struct sp_series *series) {
    return series->operations * series->passes;
}

static double x_of(const struct sp_panel *panel, size_t operation) {
    size_t all = operations_of(panel->series);
    double share = all > 0 ? (double)operation / (double)all : 0;
    return panel->box.left + panel->box.width * share;
}

void sp_plot_operations_axis(struct sp_svg *svg, const struct sp_panel *panel) {
    double y = bottom_of(&panel->box);
    size_t all = operations_of(panel->series), step = operations_step(all);
    for (size_t operation = 0; operation <= all; operation += step) {
        char text[SP_QUANTITY_TEXT];
        double x = x_of(panel, operation);
        count_text(operation, text);
        sp_svg_line(svg, "frame", x, y, x, y + 4);
        sp_svg_text(svg, "small middle", x, y + 16, "%s", text);
    }
    sp_svg_text(svg, "small middle", panel->box.left + panel->box.width / 2, y + 31,
                panel->series->passes > 1 ? "operation, pass after pass" : "operation");
}

// With very many there would be nothing but these lines.
void sp_plot_passes(struct sp_svg *svg, const struct sp_panel *panel) {
    enum { PASSES_SHOWN = 50 };
    const struct sp_series *series = panel->series;
    for (unsigned pass = 2; pass <= series->passes && series->passes <= PASSES_SHOWN; pass++) {
        double x = x_of(panel, series->operations * (pass - 1));
        sp_svg_line(svg, "pass", x, panel->box.top, x, bottom_of(&panel->box));
        if (series->passes <= PASSES_SHOWN / 5)
            sp_svg_text(svg, "small", x + 4, panel->box.top + 11, "pass %u", pass);
    }
}

// ---------------------------------------------------------------------------------------- the
// lines

enum edge { EDGE_ZERO, EDGE_LEAST, EDGE_MOST };

static long tenths_of_x(const struct sp_panel *panel, size_t column) {
    double share = (double)column / (double)panel->series->columns;
    return lround(10 * (panel->box.left + panel->box.width * share));
}

static long tenths_of_y(const struct sp_panel *panel, const struct sp_band *band, enum edge edge) {
    uint64_t bytes = edge == EDGE_ZERO ? 0 : edge == EDGE_LEAST ? band->least : band->most;
    double share = (double)bytes / (double)panel->top;
    return lround(10 * (bottom_of(&panel->box) - panel->box.height * share));
}

// Goes along the upper edge of columns and back along the lower one.
static void draw_run(struct sp_svg *svg, const struct sp_panel *panel, const struct sp_line *line,
                     const char *class, enum edge lower, enum edge upper, size_t begin,
                     size_t end) {
    struct sp_svg_path path;
    sp_svg_begin_path(svg, class, &path, tenths_of_x(panel, begin),
                      tenths_of_y(panel, &line->bands[begin], upper));
    for (size_t column = begin; column < end; column++) {
        long y = tenths_of_y(panel, &line->bands[column], upper);
        if (y != path.y)
            sp_svg_step(svg, &path, tenths_of_x(panel, column), y);
    }
    sp_svg_step(svg, &path, tenths_of_x(panel, end), path.y);
    for (size_t column = end; column-- > begin;) {
        long y = tenths_of_y(panel, &line->bands[column], lower);
        if (y != path.y)
            sp_svg_step(svg, &path, tenths_of_x(panel, column + 1), y);
    }
    sp_svg_step(svg, &path, tenths_of_x(panel, begin), path.y);
    sp_svg_end_path(svg);
}

static void draw_band(struct sp_svg *svg, const struct sp_panel *panel, const struct sp_line *line,
                      const char *class, enum edge lower, enum edge upper) {
    size_t columns = panel->series->columns, begin = 0;
    while (begin < columns) {
        size_t end = begin;
        while (end < columns && !sp_series_is_empty(&line->bands[end]))
            end++;
        if (end > begin)
            draw_run(svg, panel, line, class, lower, upper, begin, end);
        begin = end + 1;
    }
}

static void draw_points(struct sp_svg *svg, const struct sp_panel *panel,
                        const struct sp_line *line, const char *class) {
    for (size_t column = 0; column < panel->series->columns; column++) {
        const struct sp_band *band = &line->bands[column];
        double x = (double)tenths_of_x(panel, column) / 10;
        if (sp_series_is_empty(band))
            continue;
        sp_svg_circle(svg, class, x, (double)tenths_of_y(panel, band, EDGE_MOST) / 10, 3.5);
        if (band->least < band->most)
            sp_svg_circle(svg, class, x, (double)tenths_of_y(panel, band, EDGE_LEAST) / 10, 3.5);
    }
}

static bool is_area(enum sp_figure figure) {
    return figure == SP_FIGURE_LIVE || figure == SP_FIGURE_PENDING;
}

// An area is full up to the least of a column, and lighter from there to the most.
static void draw_line(struct sp_svg *svg, const struct sp_panel *panel, enum sp_figure figure) {
    const struct sp_line *line = &panel->series->lines[figure];
    char class[32];
    if (line->kind == SP_LINE_POINTS) {
        draw_points(svg, panel, line, names[figure]);
    } else if (is_area(figure)) {
        snprintf(class, sizeof class, "%s sometimes", names[figure]);
        draw_band(svg, panel, line, names[figure], EDGE_ZERO, EDGE_LEAST);
        draw_band(svg, panel, line, class, EDGE_LEAST, EDGE_MOST);
    } else {
        snprintf(class, sizeof class, "%s band", names[figure]);
        draw_band(svg, panel, line, class, EDGE_LEAST, EDGE_MOST);
    }
}

static void draw_lines(struct sp_svg *svg, const struct sp_panel *panel) {
    for (enum sp_figure figure = panel->first; figure <= panel->last; figure++) {
        const struct sp_line *line = &panel->series->lines[figure];
        char peak[SP_QUANTITY_TEXT], text[SP_QUANTITY_TEXT];
        if (line->kind == SP_LINE_UNKNOWN)
            continue;
        snprintf(peak, sizeof peak, "%" PRIu64, line->peak);
        sp_svg_begin_group(svg, "line",
                           (const char *const[][2]){
                               {"figure", names[figure]}, {"peak-bytes", peak}, {NULL, NULL}});
        sp_svg_title(svg, "%s: at most %s (%s bytes)", names[figure],
                     sp_bytes_text(line->peak, text), peak);
        draw_line(svg, panel, figure);
        sp_svg_end_group(svg);
    }
}

// ---------------------------------------------------------------------------------------- the
// legend

void sp_plot_panel(struct sp_svg *svg, const struct sp_panel *panel) {
    char top[32], bottom[32], height[32];
    snprintf(top, sizeof top, "%" PRIu64, panel->top);
    snprintf(bottom, sizeof bottom, "%.0f", bottom_of(&panel->box));
    snprintf(height, sizeof height, "%.0f", panel->box.height);
    sp_svg_begin_group(
        svg, "lines",
        (const char *const[][2]){
            {"top-bytes", top}, {"bottom", bottom}, {"height", height}, {NULL, NULL}});
    draw_bytes_axis(svg, panel);
    draw_lines(svg, panel);
    sp_svg_end_group(svg);
}

void sp_plot_swatch(struct sp_svg *svg, enum sp_figure figure, double x, double y) {
    char class[32];
    snprintf(class, sizeof class, "%s band", names[figure]);
    if (is_area(figure))
        sp_svg_box(svg, names[figure], &(struct sp_box){x, y - 9, 20, 10});
    else
        sp_svg_line(svg, class, x, y - 4, x + 20, y - 4);
}

static void write_known(struct sp_svg *svg, const struct sp_line *line, enum sp_figure figure,
                        double x, double y) {
    char text[SP_QUANTITY_TEXT];
    bool points = line->kind == SP_LINE_POINTS;
    if (points)
        sp_svg_circle(svg, names[figure], x + 10, y - 4, 3.5);
    else
        sp_plot_swatch(svg, figure, x, y);
    sp_svg_text(svg, "legend", x + 26, y, "%s %s%s", names[figure], sp_bytes_text(line->peak, text),
                points ? " when most was live" : "");
}

void sp_plot_legend(struct sp_svg *svg, const struct sp_series *series, double x, double y) {
    enum { ITEM_WIDTH = 158, POINTS_WIDTH = 280 };
    for (enum sp_figure figure = 0; figure < SP_FIGURE_COUNT; figure++) {
        const struct sp_line *line = &series->lines[figure];
        if (line->kind == SP_LINE_UNKNOWN)
            sp_svg_text(svg, "small", x, y, "%s: not known", names[figure]);
        else
            write_known(svg, line, figure, x, y);
        x += line->kind == SP_LINE_POINTS ? POINTS_WIDTH : ITEM_WIDTH;
    }
}

// Cuts between characters of UTF-8: a byte 10xxxxxx continues one.
const char *sp_plot_name(const char *name, char text[SP_PLOT_NAME]) {
    static const char dots[] = "…";
    size_t length = strlen(name);
    bool whole = length < SP_PLOT_NAME;
    if (!whole)
        length = SP_PLOT_NAME - sizeof dots;
    while (!whole && length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
        length--;
    snprintf(text, SP_PLOT_NAME, "%.*s%s", (int)length, name, whole ? "" : dots);
    return text;
}
