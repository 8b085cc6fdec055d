// The picture of `streampool policies`: for each trace a row for each combination, with the
// policies that are on, memory over the trace, and bars for what the combinations are compared by.
#include "cli/policies/policies.h"

#include "cli/plot/plot.h"
#include "cli/program/complain.h"
#include "cli/program/output.h"
#include "cli/program/quantity.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    WIDTH = 1130,
    HEAD_HEIGHT = 60,
    TRACE_HEAD = 66,
    ROW_HEIGHT = 62,
    LINES_HEIGHT = 44,
    AXIS_HEIGHT = 52,
    FOOT_HEIGHT = 50,
    POLICY_LEFT = 50,
    POLICY_WIDTH = 58,
    LINES_LEFT = 270,
    LINES_WIDTH = 400,
    BARS_LEFT = 700,
    BAR_WIDTH = 70,
    BAR_STEP = 144,
};

// A bar shows one figure of a result.
struct bar {
    const char *title;
    double (*value)(const struct sp_result *result);
    const char *(*text)(double value, char text[SP_QUANTITY_TEXT]);
};

static double ratio_of(const struct sp_result *result) {
    return result->live_peak_bytes > 0
               ? (double)result->reserved_peak_bytes / (double)result->live_peak_bytes
               : 0;
}

static double end_to_end_of(const struct sp_result *result) {
    return (double)result->end_to_end_ns;
}

static double host_time_of(const struct sp_result *result) {
    return (double)result->total_ns;
}

static const char *ratio_text(double ratio, char text[SP_QUANTITY_TEXT]) {
    snprintf(text, SP_QUANTITY_TEXT, "%.3f", ratio);
    return text;
}

static const struct bar bars[] = {
    {"reserved / live", ratio_of, ratio_text},
    {"host time", host_time_of, sp_time_text},
    {"end to end", end_to_end_of, sp_time_text},
};
enum { BAR_COUNT = sizeof bars / sizeof bars[0] };

// ------------------------------------------------------------------------------------------ one
// row

static void draw_policies(struct sp_svg *svg, unsigned combination, double y) {
    for (unsigned i = 0; i < SP_POLICY_COUNT; i++)
        sp_svg_circle(svg, combination & 1u << i ? "on" : "off", POLICY_LEFT + POLICY_WIDTH * i, y,
                      6);
}

static void draw_bar(struct sp_svg *svg, const struct bar *bar, const struct sp_result *result,
                     double most, double left, double y) {
    char text[SP_QUANTITY_TEXT];
    double value = bar->value(result);
    double width = most > 0 ? BAR_WIDTH * (value / most) : 0;
    sp_svg_box(svg, "bar", &(struct sp_box){left, y - 7, width, 14});
    sp_svg_text(svg, "legend", left + width + 6, y + 4, "%s", bar->text(value, text));
}

static double most_of(const struct bar *bar, const struct sp_policy_result *results) {
    double most = 0;
    for (unsigned i = 0; i < SP_POLICY_COMBINATIONS; i++)
        if (bar->value(&results[i].replay) > most)
            most = bar->value(&results[i].replay);
    return most;
}

static void draw_row(struct sp_svg *svg, const struct sp_policy_result *results, size_t row,
                     const struct sp_panel *panel) {
    const struct sp_policy_result *result = &results[row];
    char combination[32];
    double y = panel->box.top + panel->box.height / 2;
    snprintf(combination, sizeof combination, "%u", result->combination);
    sp_svg_begin_group(svg, "row",
                       (const char *const[][2]){{"combination", combination}, {NULL, NULL}});
    draw_policies(svg, result->combination, y);
    sp_plot_panel(svg, panel);
    for (size_t i = 0; i < BAR_COUNT; i++)
        draw_bar(svg, &bars[i], &result->replay, most_of(&bars[i], results),
                 BARS_LEFT + BAR_STEP * (double)i, y);
    if (result->replay.errors > 0)
        sp_svg_text(svg, "small", BARS_LEFT, y + 22, "calls that failed: %" PRIu64,
                    result->replay.errors);
    sp_svg_end_group(svg);
}

// ---------------------------------------------------------------------------------------- one
// trace

static void draw_trace_head(struct sp_svg *svg, const struct sp_result *first, double y) {
    static const char *const titles[][2] = {
#define TITLE(key, first_line, second_line, attribute) {first_line, second_line},
        SP_POLICIES(TITLE)
#undef TITLE
    };
    char name[SP_PLOT_NAME];
    sp_svg_text(svg, "heading", 20, y + 18, "%s", sp_plot_name(first->trace, name));
    for (unsigned i = 0; i < SP_POLICY_COUNT; i++)
        for (unsigned line = 0; line < 2; line++)
            sp_svg_text(svg, "small middle", POLICY_LEFT + POLICY_WIDTH * i, y + 40 + 13 * line,
                        "%s", titles[i][line]);
    for (size_t i = 0; i < BAR_COUNT; i++)
        sp_svg_text(svg, "small", BARS_LEFT + BAR_STEP * (double)i, y + 53, "%s", bars[i].title);
}

// The most of all combinations, which are to be compared.
static uint64_t peak_of(const struct sp_drawn *drawn) {
    uint64_t peak = 0;
    for (unsigned i = 0; i < SP_POLICY_COMBINATIONS; i++) {
        uint64_t own = sp_series_peak(&drawn[i].series, SP_FIGURE_LIVE, SP_FIGURE_RESERVED);
        peak = own > peak ? own : peak;
    }
    return peak;
}

static void draw_trace(struct sp_svg *svg, const struct sp_policy_result *results,
                       const struct sp_drawn *drawn, double y) {
    struct sp_panel panel = {
        .first = SP_FIGURE_LIVE,
        .last = SP_FIGURE_RESERVED,
        .box = {.left = LINES_LEFT, .width = LINES_WIDTH, .height = LINES_HEIGHT},
        .top = sp_plot_top(peak_of(drawn), LINES_HEIGHT),
    };
    sp_svg_begin_group(svg, "panel",
                       (const char *const[][2]){{"trace", results->replay.trace}, {NULL, NULL}});
    draw_trace_head(svg, &results->replay, y);
    for (unsigned row = 0; row < SP_POLICY_COMBINATIONS; row++) {
        panel.series = &drawn[row].series;
        panel.box.top = y + TRACE_HEAD + ROW_HEIGHT * row;
        draw_row(svg, results, row, &panel);
    }
    sp_plot_operations_axis(svg, &panel);
    sp_svg_end_group(svg);
}

// ------------------------------------------------------------------------------------- the picture

static void draw_head(struct sp_svg *svg, const struct sp_device *device) {
    char version[SP_VERSION_TEXT];
    sp_svg_text(svg, "title", 20, 30, "streampool policies");
    sp_svg_text(svg, "small", 20, 48, "%s, CUDA %s", device->name,
                sp_version_text(device->driver->version, version));
}

static void draw_foot(struct sp_svg *svg, double y) {
    sp_plot_swatch(svg, SP_FIGURE_LIVE, LINES_LEFT, y + 8);
    sp_svg_text(svg, "legend", LINES_LEFT + 26, y + 8, "live");
    sp_plot_swatch(svg, SP_FIGURE_RESERVED, LINES_LEFT + 80, y + 8);
    sp_svg_text(svg, "legend", LINES_LEFT + 106, y + 8, "reserved");
    sp_svg_text(svg, "small", BARS_LEFT, y + 8,
                "Shorter bars are better: less memory, and less time.");
}

bool sp_policies_plot(const char *path, const struct sp_device *device,
                      const struct sp_policy_result *results, const struct sp_drawn *drawn,
                      size_t count) {
    enum { TRACE_HEIGHT = TRACE_HEAD + ROW_HEIGHT * SP_POLICY_COMBINATIONS + AXIS_HEIGHT };
    size_t traces = count / SP_POLICY_COMBINATIONS;
    struct sp_svg svg;
    if (!sp_svg_begin(&svg, WIDTH, HEAD_HEIGHT + TRACE_HEIGHT * (double)traces + FOOT_HEIGHT,
                      "Traces under every combination of the reuse policies"))
        return sp_complain("out of host memory for %s", path);
    draw_head(&svg, device);
    for (size_t i = 0; i < traces; i++)
        draw_trace(&svg, &results[i * SP_POLICY_COMBINATIONS], &drawn[i * SP_POLICY_COMBINATIONS],
                   HEAD_HEIGHT + TRACE_HEIGHT * (double)i);
    draw_foot(&svg, HEAD_HEIGHT + TRACE_HEIGHT * (double)traces);
    return sp_svg_write(&svg, path);
}
