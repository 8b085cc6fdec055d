// Points are medians, and bars reach from the lower to the upper quartile.
#include "chart.h"

#include "bench.h"

#include "cli/plot/svg.h"
#include "cli/program/complain.h"
#include "cli/program/quantity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    WIDTH = 1080,
    HEIGHT = 470,
    PANEL_TOP = 84,
    PANEL_WIDTH = 440,
    PANEL_HEIGHT = 300,
    PANEL_LEFT = 80,
    PANEL_STEP = 520,
    LEGEND_TOP = 446,
    LEGEND_STEP = 210,
    SERIES_MAX = 6, // beyond that, classes begin again
};

static const char case_name[] = "mam";

struct range {
    double least, most;
};

// One of the two panels.
struct panel {
    const char *title;
    bool is_live; // of the rows whose labels tell a number of live blocks
    const char *axis;
    double tick; // each is so many times the one before
    const char *(*text)(double value, char text[SP_QUANTITY_TEXT]);
    struct sp_box box;
    struct range x, y;
};

static const char *size_text(double bytes, char text[SP_QUANTITY_TEXT]) {
    return bench_size_text((size_t)bytes, text);
}

static const char *count_text(double count, char text[SP_QUANTITY_TEXT]) {
    snprintf(text, SP_QUANTITY_TEXT, "%.0f", count);
    return text;
}

// ------------------------------------------------------------------------------------ what is
// drawn

static bool belongs(const struct panel *panel, const struct result *result) {
    const char *live = strstr(result->label, " live");
    return strcmp(result->case_name, case_name) == 0 && (live != NULL) == panel->is_live;
}

static void widen(struct range *range, double value) {
    if (range->most <= 0 || value < range->least)
        range->least = value;
    if (range->most <= 0 || value > range->most)
        range->most = value;
}

// Of all points of a panel, the times of both in whole decades.
static void measure(struct panel *panel, const struct results *results, struct range *times) {
    for (size_t i = 0; i < results->count; i++) {
        const struct result *result = &results->list[i];
        if (!belongs(panel, result))
            continue;
        widen(&panel->x, result->at);
        widen(times, result->quartiles[1]);
        widen(times, result->quartiles[3]);
    }
}

static void round_to_decades(struct range *times) {
    times->least = pow(10, floor(log10(times->least)));
    times->most = pow(10, ceil(log10(times->most)));
    if (times->most <= times->least)
        times->most = 10 * times->least;
}

// The subjects in the order of the results.
static size_t name_subjects(const struct results *results, const char *names[SERIES_MAX]) {
    size_t count = 0;
    for (size_t i = 0; i < results->count; i++) {
        const struct result *result = &results->list[i];
        bool known = strcmp(result->case_name, case_name) != 0;
        for (size_t j = 0; j < count; j++)
            known = known || strcmp(names[j], result->subject) == 0;
        if (!known && count < SERIES_MAX)
            names[count++] = result->subject;
    }
    return count;
}

// -------------------------------------------------------------------------------------------- axes

// Where a value stands between the ends of a range, from 0 to 1.
static double share(const struct range *range, double value) {
    double whole = log(range->most / range->least);
    return whole > 0 ? log(value / range->least) / whole : 0.5;
}

static double x_of(const struct panel *panel, double value) {
    return panel->box.left + panel->box.width * share(&panel->x, value);
}

static double y_of(const struct panel *panel, double value) {
    return panel->box.top + panel->box.height * (1 - share(&panel->y, value));
}

static void draw_axes(struct sp_svg *svg, const struct panel *panel) {
    const struct sp_box *box = &panel->box;
    double right = box->left + box->width, bottom = box->top + box->height;
    char text[SP_QUANTITY_TEXT];
    for (double time = panel->y.least; time < 1.5 * panel->y.most; time *= 10) {
        sp_svg_line(svg, "grid", box->left, y_of(panel, time), right, y_of(panel, time));
        sp_svg_text(svg, "small right", box->left - 6, y_of(panel, time) + 4, "%s",
                    sp_time_text(time, text));
    }
    for (double at = panel->x.least; at < 1.5 * panel->x.most; at *= panel->tick) {
        sp_svg_line(svg, "grid", x_of(panel, at), box->top, x_of(panel, at), bottom);
        sp_svg_text(svg, "small middle", x_of(panel, at), bottom + 16, "%s", panel->text(at, text));
    }
    sp_svg_line(svg, "frame", box->left, box->top, box->left, bottom);
    sp_svg_line(svg, "frame", box->left, bottom, right, bottom);
    sp_svg_text(svg, "heading", box->left, box->top - 12, "%s", panel->title);
    sp_svg_text(svg, "small middle", box->left + box->width / 2, bottom + 34, "%s", panel->axis);
}

// ------------------------------------------------------------------------------------------ points

static const char *class_of(size_t series) {
    static const char *const classes[SERIES_MAX] = {"series first", "series second",
                                                    "series third", "series fourth",
                                                    "series fifth", "series sixth"};
    return classes[series % SERIES_MAX];
}

static void draw_point(struct sp_svg *svg, const struct panel *panel, const struct result *result,
                       const char *class) {
    char time[SP_QUANTITY_TEXT];
    double x = x_of(panel, result->at);
    sp_svg_begin_group(svg, "point",
                       (const char *const[][2]){
                           {"subject", result->subject}, {"setting", result->label}, {NULL, NULL}});
    sp_svg_title(svg, "%s, %s: %s", result->subject, result->label,
                 sp_time_text(result->quartiles[2], time));
    sp_svg_line(svg, class, x, y_of(panel, result->quartiles[1]), x,
                y_of(panel, result->quartiles[3]));
    sp_svg_circle(svg, class, x, y_of(panel, result->quartiles[2]), 2.5);
    sp_svg_end_group(svg);
}

static void draw_series(struct sp_svg *svg, const struct panel *panel,
                        const struct results *results, const char *subject, const char *class) {
    const struct result *before = NULL;
    for (size_t i = 0; i < results->count; i++) {
        const struct result *result = &results->list[i];
        if (!belongs(panel, result) || strcmp(result->subject, subject) != 0)
            continue;
        if (before)
            sp_svg_line(svg, class, x_of(panel, before->at), y_of(panel, before->quartiles[2]),
                        x_of(panel, result->at), y_of(panel, result->quartiles[2]));
        draw_point(svg, panel, result, class);
        before = result;
    }
}

static void draw_panel(struct sp_svg *svg, const struct panel *panel, const struct results *results,
                       const char *const names[], size_t count) {
    sp_svg_begin_group(svg, "panel", (const char *const[][2]){{"axis", panel->axis}, {NULL, NULL}});
    draw_axes(svg, panel);
    for (size_t i = 0; i < count; i++)
        draw_series(svg, panel, results, names[i], class_of(i));
    sp_svg_end_group(svg);
}

// ------------------------------------------------------------------------------------- the picture

static void draw_frame(struct sp_svg *svg, const struct results *results, const char *const names[],
                       size_t count) {
    sp_svg_text(svg, "title", 20, 30, "A malloc and a free without streams");
    sp_svg_text(svg, "small", 20, 48, "%s%s", results->device,
                results->simulated ? ", simulated driver: times of the host" : "");
    for (size_t i = 0; i < count; i++) {
        double x = PANEL_LEFT + LEGEND_STEP * (double)i;
        sp_svg_line(svg, class_of(i), x, LEGEND_TOP - 4, x + 20, LEGEND_TOP - 4);
        sp_svg_text(svg, "legend", x + 26, LEGEND_TOP, "%s", names[i]);
    }
}

// A panel without a point, as where a device has no room for any, is left out.
static void draw(struct sp_svg *svg, const struct results *results, struct panel panels[2]) {
    const char *names[SERIES_MAX];
    size_t count = name_subjects(results, names);
    struct range times = {0, 0};
    for (int i = 0; i < 2; i++)
        measure(&panels[i], results, &times);
    draw_frame(svg, results, names, count);
    round_to_decades(&times);
    for (int i = 0; i < 2; i++) {
        panels[i].y = times;
        if (panels[i].x.most > 0)
            draw_panel(svg, &panels[i], results, names, count);
    }
}

static bool is_there(const struct results *results) {
    const char *names[SERIES_MAX];
    return name_subjects(results, names) > 0;
}

bool chart_write(const struct results *results, const char *path) {
    struct panel panels[] = {
        {.title = "by size",
         .axis = "bytes",
         .tick = 16,
         .text = size_text,
         .box = {PANEL_LEFT, PANEL_TOP, PANEL_WIDTH, PANEL_HEIGHT}},
        {.title = "of 512 B, by number of live blocks",
         .is_live = true,
         .axis = "live blocks",
         .tick = 10,
         .text = count_text,
         .box = {PANEL_LEFT + PANEL_STEP, PANEL_TOP, PANEL_WIDTH, PANEL_HEIGHT}},
    };
    struct sp_svg svg;
    if (!is_there(results))
        return sp_complain("no plot %s: the case %s is not among the results", path, case_name);
    if (!sp_svg_begin(&svg, WIDTH, HEIGHT, "The time of a malloc and a free without streams"))
        return sp_complain("out of host memory for %s", path);
    draw(&svg, results, panels);
    return sp_svg_write(&svg, path);
}
