// What streampool-bench measured, over a number that its settings have. Points are medians, bars
// reach from the lower to the upper quartile, and both axes are logarithmic.
#include "cli/charts/charts.h"

#include "cli/plot/plot.h"
#include "cli/program/complain.h"
#include "cli/program/quantity.h"

#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct chart {
    const char *name, *title;
    const char *case_name, *settings; // of its results, the settings as a regular expression
    enum sp_axis_unit unit;
    double multiple; // from tick to tick
    const char *x, *y;
};

static const struct chart list[] = {
    {"pair", "A malloc and a free on one stream", "pair", "", SP_AXIS_BYTES, 16, "bytes",
     "a malloc and a free"},
    {"live", "A malloc and a free beside live blocks", "live", ", pair$", SP_AXIS_COUNT, 10,
     "live blocks", "a free and a malloc of 512 B"},
    {"threads", "Threads that malloc and free", "threads", "^4 KiB, [0-9]+ threads?$",
     SP_AXIS_COUNT, 2, "threads", "1,000 pairs of 4 KiB per second, of all threads together"},
    {"threads-written", "Threads that malloc, write and free", "threads", "^4 KiB, .*, written$",
     SP_AXIS_COUNT, 2, "threads", "1,000 pairs of 4 KiB per second, of all threads together"},
    {"growth", "Growth of a new pool", "growth", ", grow$", SP_AXIS_BYTES, 4, "bytes",
     "the first allocation"},
    {"trim", "Trim of a pool", "growth", ", trim$", SP_AXIS_BYTES, 4, "bytes",
     "the synchronise that trims"},
    {"mam", "A malloc and a free without streams", "mam", "B$", SP_AXIS_BYTES, 16, "bytes",
     "a malloc and a free"},
    {"mam-live", "A malloc and a free without streams, beside live blocks", "mam", " live$",
     SP_AXIS_COUNT, 10, "live blocks", "a free and a malloc of 512 B"},
};
enum { SUBJECTS_MAX = 64, LEFT = 84, WIDTH = 660, HEIGHT = 320, FOOT = 48 };

// ------------------------------------------------------------------------------------------ points

struct point {
    const cJSON *result;
    double at, low, median, high; // times in nanoseconds
};

struct points {
    struct point *list;
    size_t count;
    bool are_times;
};

static const char *subject_of(const struct point *point) {
    return sp_charts_text(point->result, "subject");
}

static bool is_setting_of(const struct point *point, const cJSON *result) {
    return strcmp(subject_of(point), sp_charts_text(result, "subject")) == 0 &&
           strcmp(sp_charts_text(point->result, "setting"), sp_charts_text(result, "setting")) == 0;
}

// Of a subject and setting that several files have the first one is taken, and a logarithmic axis
// has no place for 0.
static void add_point(struct points *points, const cJSON *result) {
    const char *unit = sp_charts_text(result, "unit");
    double worth = strcmp(unit, "us") == 0 ? 1e3 : 1;
    struct point point = {result, sp_charts_number(result, "at"),
                          worth * sp_charts_number(result, "first_quartile"),
                          worth * sp_charts_number(result, "median"),
                          worth * sp_charts_number(result, "third_quartile")};
    for (size_t i = 0; i < points->count; i++)
        if (is_setting_of(&points->list[i], result))
            return;
    points->are_times = worth > 1 || strcmp(unit, "ns") == 0;
    if (point.at > 0 && point.low > 0)
        points->list[points->count++] = point;
}

// False without host memory. The caller frees the list.
static bool find_points(const cJSON *results, const struct chart *chart, struct points *points) {
    const cJSON *result;
    regex_t settings;
    *points = (struct points){calloc((size_t)cJSON_GetArraySize(results) + 1, sizeof *points->list),
                              0, false};
    if (!points->list || regcomp(&settings, chart->settings, REG_EXTENDED | REG_NOSUB) != 0)
        return false;
    cJSON_ArrayForEach(result, results) {
        const char *name = sp_charts_text(result, "case");
        if (name && strcmp(name, chart->case_name) == 0 &&
            regexec(&settings, sp_charts_text(result, "setting"), 0, NULL, 0) == 0)
            add_point(points, result);
    }
    regfree(&settings);
    return true;
}

// -------------------------------------------------------------------------------------- the panels

struct range {
    double least, most;
};

static void widen(struct range *range, double value) {
    range->least = fmin(range->least, value);
    range->most = fmax(range->most, value);
}

static struct sp_panel panel_of(const struct chart *chart, const struct points *points,
                                const struct sp_box *box) {
    struct range x = {INFINITY, 0}, y = {INFINITY, 0};
    for (size_t i = 0; i < points->count; i++) {
        widen(&x, points->list[i].at);
        widen(&y, points->list[i].low);
        widen(&y, points->list[i].high);
    }
    enum sp_axis_unit unit = points->are_times ? SP_AXIS_TIME : SP_AXIS_COUNT;
    return (struct sp_panel){
        *box, sp_axis_logarithmic(chart->unit, x.least, x.most, chart->multiple, chart->x),
        sp_axis_decades(unit, y.least, y.most, chart->y)};
}

static void draw_point(struct sp_svg *svg, const struct sp_panel *panel, const struct point *point,
                       size_t colour) {
    char class[SP_CLASS_TEXT];
    double x = sp_panel_x(panel, point->at);
    sp_svg_begin_group(svg, "measured", "subject", subject_of(point), "setting",
                       sp_charts_text(point->result, "setting"), NULL);
    sp_svg_title(svg, "%s, %s: %.4g %s", subject_of(point),
                 sp_charts_text(point->result, "setting"),
                 sp_charts_number(point->result, "median"), sp_charts_text(point->result, "unit"));
    sp_svg_line(svg, sp_plot_class("line", colour, class), x, sp_panel_y(panel, point->low), x,
                sp_panel_y(panel, point->high));
    sp_svg_circle(svg, sp_plot_class("point", colour, class), x, sp_panel_y(panel, point->median),
                  2.5);
    sp_svg_end_group(svg);
}

// The second eight subjects have the colours of the first, and dashes.
static const char *line_class(size_t subject, char class[SP_CLASS_TEXT]) {
    return sp_plot_class(subject < SP_COLOURS ? "line" : "dashed", subject, class);
}

static void draw_subject(struct sp_svg *svg, const struct sp_panel *panel,
                         const struct points *points, const char *name, size_t subject) {
    char class[SP_CLASS_TEXT];
    sp_svg_begin_path(svg, line_class(subject, class));
    for (size_t i = 0; i < points->count; i++)
        if (strcmp(subject_of(&points->list[i]), name) == 0)
            sp_svg_go(svg, sp_panel_x(panel, points->list[i].at),
                      sp_panel_y(panel, points->list[i].median));
    sp_svg_end_path(svg);
    for (size_t i = 0; i < points->count; i++)
        if (strcmp(subject_of(&points->list[i]), name) == 0)
            draw_point(svg, panel, &points->list[i], subject);
}

// ------------------------------------------------------------------------------------- the picture

static bool draw(struct sp_charts *charts, const struct chart *chart, const struct points *points) {
    struct sp_svg svg;
    struct sp_legend legend = sp_legend_at(LEFT, LEFT + WIDTH, 74);
    const char *subjects[SUBJECTS_MAX];
    size_t count = 0;
    if (!sp_charts_begin(&svg, chart->title, points->list->result))
        return false;
    for (size_t i = 0; i < points->count && count < SUBJECTS_MAX; i++)
        sp_charts_index(subjects, &count, subject_of(&points->list[i]));
    for (size_t i = 0; i < count; i++) {
        char class[SP_CLASS_TEXT];
        struct sp_place place = sp_legend_add(&svg, &legend, "%s", subjects[i]);
        sp_legend_line(&svg, line_class(i, class), place);
    }
    struct sp_box box = {LEFT, legend.y + 36, WIDTH, HEIGHT};
    struct sp_panel panel = panel_of(chart, points, &box);
    sp_panel_draw_y(&svg, &panel);
    sp_panel_draw_x(&svg, &panel);
    for (size_t i = 0; i < count; i++)
        draw_subject(&svg, &panel, points, subjects[i], i);
    return sp_charts_end(charts, &svg, chart->name, LEFT + WIDTH + 40, box.top + HEIGHT + FOOT,
                         chart->title);
}

bool sp_charts_draw_lines(struct sp_charts *charts) {
    bool good = true;
    for (size_t i = 0; i < sizeof list / sizeof list[0] && good; i++) {
        struct points points;
        good = find_points(charts->results, &list[i], &points) ||
               sp_complain("out of host memory for the picture %s", list[i].name);
        if (good && points.count > 0)
            good = draw(charts, &list[i], &points);
        free(points.list);
    }
    return good;
}
