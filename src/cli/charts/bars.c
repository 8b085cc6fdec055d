// What replays held for each byte in use: a group of bars for each trace, a bar for each allocator,
// of the last pass. With several starts a bar is the median, and the line on it reaches from the
// least to the most.
#include "cli/charts/charts.h"

#include "cli/play/allocator.h"
#include "cli/program/complain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 60, HEIGHT = 260, BAR = 14, GAP = 28, CHARACTER = 7 };

struct bars {
    const cJSON *results;
    const char **traces, **allocators;
    size_t trace_count, allocator_count;
};

static double ratio_of(const cJSON *result, const char *which) {
    const cJSON *spread = cJSON_GetObjectItemCaseSensitive(result, "ratio");
    double live = sp_charts_number(result, "live_peak_bytes");
    return spread ? sp_charts_number(spread, which)
                  : sp_charts_number(result, "reserved_peak_bytes") / live;
}

static const char *title_of(const char *allocator) {
    const struct sp_allocator *known = sp_allocator_find(allocator, strlen(allocator));
    return known ? known->title : allocator;
}

static bool has_bar(const struct sp_charts *charts, const cJSON *result) {
    const char *allocator = sp_charts_text(result, "allocator");
    for (size_t i = 0; allocator && i < charts->without_count; i++)
        if (strcmp(allocator, charts->without[i]) == 0)
            return false;
    return allocator && isfinite(ratio_of(result, "median"));
}

// The last pass counts, and of results that several files have the first one. Null: there is none.
static const cJSON *result_of(const struct bars *bars, const char *trace, const char *allocator) {
    const cJSON *result, *last = NULL;
    cJSON_ArrayForEach(result, bars->results) {
        const char *name = sp_charts_text(result, "allocator");
        if (name && strcmp(name, allocator) == 0 &&
            strcmp(sp_charts_text(result, "trace"), trace) == 0 &&
            (!last || sp_charts_number(result, "pass") > sp_charts_number(last, "pass")))
            last = result;
    }
    return last;
}

static double group_width(const struct bars *bars, size_t trace) {
    double name = CHARACTER * (double)strlen(bars->traces[trace]);
    return GAP + fmax(BAR * (double)bars->allocator_count, name);
}

static void draw_bar(struct sp_svg *svg, const struct sp_panel *panel, const cJSON *result,
                     size_t colour, double x) {
    char class[SP_CLASS_TEXT];
    double median = ratio_of(result, "median"), top = sp_panel_y(panel, median);
    double least = sp_panel_y(panel, ratio_of(result, "least"));
    double most = sp_panel_y(panel, ratio_of(result, "most"));
    sp_svg_begin_group(svg, "held", "trace", sp_charts_text(result, "trace"), "allocator",
                       sp_charts_text(result, "allocator"), NULL);
    sp_svg_title(svg, "%s, %s: %.3f", sp_charts_text(result, "trace"),
                 title_of(sp_charts_text(result, "allocator")), median);
    sp_svg_box(svg, sp_plot_class("bar", colour, class),
               &(struct sp_box){x, top, BAR - 1, sp_panel_y(panel, 0) - top});
    sp_svg_line(svg, "whisker", x + BAR / 2, least, x + BAR / 2, most);
    sp_svg_end_group(svg);
}

static void draw_groups(struct sp_svg *svg, const struct sp_panel *panel, const struct bars *bars) {
    double x = panel->box.left, bottom = sp_panel_y(panel, 0);
    for (size_t i = 0; i < bars->trace_count; i++) {
        double width = group_width(bars, i), middle = x + width / 2;
        double left = middle - BAR * (double)bars->allocator_count / 2;
        for (size_t j = 0; j < bars->allocator_count; j++) {
            const cJSON *result = result_of(bars, bars->traces[i], bars->allocators[j]);
            if (result)
                draw_bar(svg, panel, result, j, left + BAR * (double)j);
        }
        sp_svg_text(svg, "small middle", middle, bottom + 16, "%s", bars->traces[i]);
        x += width;
    }
}

static bool draw(struct sp_charts *charts, const struct bars *bars, double most) {
    static const char title[] = "Memory held for each byte in use";
    struct sp_svg svg;
    double width = 0;
    if (!sp_charts_begin(&svg, title, result_of(bars, bars->traces[0], bars->allocators[0])))
        return false;
    for (size_t i = 0; i < bars->trace_count; i++)
        width += group_width(bars, i);
    width = fmax(width, 560);
    struct sp_legend legend = sp_legend_at(LEFT, LEFT + width, 74);
    for (size_t i = 0; i < bars->allocator_count; i++) {
        char class[SP_CLASS_TEXT];
        struct sp_place place = sp_legend_add(&svg, &legend, "%s", title_of(bars->allocators[i]));
        sp_legend_area(&svg, sp_plot_class("bar", i, class), place);
    }
    struct sp_panel panel = {
        .box = {LEFT, legend.y + 36, width, HEIGHT},
        .y = sp_axis_linear(SP_AXIS_SHARE, most, sp_panel_ticks(HEIGHT),
                            "the most that was reserved / the most that was live")};
    sp_panel_draw_y(&svg, &panel);
    draw_groups(&svg, &panel, bars);
    double one = sp_panel_y(&panel, 1);
    sp_svg_line(&svg, "whisker", LEFT, one, LEFT + width, one);
    return sp_charts_end(charts, &svg, "memory", LEFT + width + 30, panel.box.top + HEIGHT + 34,
                         title);
}

bool sp_charts_draw_bars(struct sp_charts *charts) {
    size_t count = (size_t)cJSON_GetArraySize(charts->results);
    const char **names = calloc(2 * count + 1, sizeof *names);
    struct bars bars = {charts->results, names, names + count, 0, 0};
    double most = 1;
    const cJSON *result;
    if (!names)
        return sp_complain("out of host memory for the picture memory");
    cJSON_ArrayForEach(result, charts->results) {
        if (!has_bar(charts, result))
            continue;
        sp_charts_index(bars.traces, &bars.trace_count, sp_charts_text(result, "trace"));
        sp_charts_index(bars.allocators, &bars.allocator_count,
                        sp_charts_text(result, "allocator"));
        most = fmax(most, ratio_of(result, "most"));
    }
    bool good = bars.trace_count == 0 || draw(charts, &bars, most);
    free(names);
    return good;
}
