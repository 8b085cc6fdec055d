// The picture of `streampool policies`: for each trace a row for each combination, with the
// policies that are on, memory over the trace, and bars for what the combinations are compared by.
#include "cli/policies/policies.h"

#include "cli/program/quantity.h"

#include <inttypes.h>

enum {
    WIDTH = 1130,
    TRACE_HEAD = 66,
    ROW_HEIGHT = 62,
    LINES_HEIGHT = 44,
    AXIS_HEIGHT = 52,
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

// ----------------------------------------------------------------------------------------- one row

static double most_of(const struct bar *bar, const struct sp_policy_result *results) {
    double most = 0;
    for (unsigned i = 0; i < SP_POLICY_COMBINATIONS; i++)
        if (bar->value(&results[i].replay) > most)
            most = bar->value(&results[i].replay);
    return most;
}

// The longest bar of a trace has the full width.
static void draw_bars(struct sp_svg *svg, const struct sp_policy_result *results,
                      const struct sp_result *result, double y) {
    for (size_t i = 0; i < BAR_COUNT; i++) {
        char text[SP_QUANTITY_TEXT];
        double value = bars[i].value(result), most = most_of(&bars[i], results);
        double width = most > 0 ? BAR_WIDTH * (value / most) : 0;
        double left = BARS_LEFT + BAR_STEP * (double)i;
        sp_svg_box(svg, "bar c0", &(struct sp_box){left, y - 7, width, 14});
        sp_svg_text(svg, "legend", left + width + 6, y + 4, "%s", bars[i].text(value, text));
    }
    if (result->errors > 0)
        sp_svg_text(svg, "small", BARS_LEFT, y + 22, "calls that failed: %" PRIu64, result->errors);
}

// Returns the panel of what is live and reserved.
static struct sp_panel draw_row(struct sp_svg *svg, const struct sp_policy_result *results,
                                size_t row, const struct sp_series *series, uint64_t peak,
                                double top) {
    const struct sp_policy_result *result = &results[row];
    struct sp_box box = {LINES_LEFT, top, LINES_WIDTH, LINES_HEIGHT};
    char combination[SP_QUANTITY_TEXT];
    double y = top + LINES_HEIGHT / 2;
    snprintf(combination, sizeof combination, "%u", result->combination);
    sp_svg_begin_group(svg, "row", "combination", combination, NULL);
    for (unsigned i = 0; i < SP_POLICY_COUNT; i++)
        sp_svg_circle(svg, result->combination & 1u << i ? "on" : "off",
                      POLICY_LEFT + POLICY_WIDTH * i, y, 6);
    struct sp_panel panel = sp_series_begin_panel(svg, series, &box, peak);
    sp_series_draw_area(svg, &panel, series, SP_FIGURE_LIVE, "area live");
    sp_series_draw_line(svg, &panel, series, SP_FIGURE_RESERVED, "band c0");
    sp_svg_end_group(svg);
    draw_bars(svg, results, &result->replay, y);
    sp_svg_end_group(svg);
    return panel;
}

// --------------------------------------------------------------------------------------- one trace

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
static uint64_t peak_of(const struct sp_series *series) {
    uint64_t peak = 0;
    for (unsigned i = 0; i < SP_POLICY_COMBINATIONS; i++)
        for (enum sp_figure figure = SP_FIGURE_LIVE; figure <= SP_FIGURE_RESERVED; figure++)
            if (series[i].lines[figure].peak > peak)
                peak = series[i].lines[figure].peak;
    return peak;
}

// Returns where it ends.
static double draw_trace(struct sp_svg *svg, const struct sp_policy_result *results,
                         const struct sp_series *series, double y) {
    struct sp_panel panel;
    uint64_t peak = peak_of(series);
    sp_svg_begin_group(svg, "panel", "trace", results->replay.trace, NULL);
    draw_trace_head(svg, &results->replay, y);
    y += TRACE_HEAD;
    for (unsigned row = 0; row < SP_POLICY_COMBINATIONS; row++, y += ROW_HEIGHT)
        panel = draw_row(svg, results, row, &series[row], peak, y);
    sp_panel_draw_x(svg, &panel);
    sp_svg_end_group(svg);
    return y + AXIS_HEIGHT;
}

bool sp_policies_plot(const char *path, const struct sp_device *device,
                      const struct sp_policy_result *results, const struct sp_series *series,
                      size_t count) {
    char version[SP_VERSION_TEXT];
    struct sp_svg svg;
    double y = 60;
    if (!sp_svg_begin(&svg, path))
        return false;
    sp_svg_text(&svg, "title", 20, 30, "streampool policies");
    sp_svg_text(&svg, "small", 20, 48, "%s, CUDA %s", device->name,
                sp_version_text(device->driver->version, version));
    for (size_t i = 0; i < count; i += SP_POLICY_COMBINATIONS)
        y = draw_trace(&svg, &results[i], &series[i], y);
    struct sp_legend legend = sp_legend_at(LINES_LEFT, BARS_LEFT, y);
    sp_legend_area(&svg, "area live", sp_legend_add(&svg, &legend, "live"));
    sp_legend_line(&svg, "line c0", sp_legend_add(&svg, &legend, "reserved"));
    sp_svg_text(&svg, "small", BARS_LEFT, y,
                "Shorter bars are better: less memory, and less time.");
    return sp_svg_end(&svg, path, WIDTH, y + 20,
                      "Traces under every combination of the reuse policies");
}
