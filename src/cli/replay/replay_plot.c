#include "cli/replay/replay_plot.h"

#include "cli/plot/plot.h"
#include "cli/program/complain.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    WIDTH = 840,
    LEFT = 84,
    HEAD_HEIGHT = 60,
    PANEL_HEAD = 54,
    USE_HEIGHT = 170, // of what is live and reserved
    FREE_HEIGHT = 84, // of what is pending and pinned
    FREE_GAP = 16,
    AXIS_HEIGHT = 56,
    FOOT_HEIGHT = 66,
};

// ---------------------------------------------------------------------------------- what is drawn

bool sp_replay_plot_open(struct sp_replay_plot *plot, const struct sp_traces *traces) {
    plot->count = traces->count * plot->allocator_count;
    plot->list = calloc(plot->count, sizeof *plot->list);
    if (!plot->list)
        return sp_complain("out of host memory");
    for (size_t i = 0; i < plot->count; i++) {
        const struct sp_trace *trace = &traces->list[i / plot->allocator_count];
        plot->list[i].trace = trace->name;
        sp_series_open(&plot->list[i].series, trace->operation_count, plot->passes,
                       SP_SERIES_COLUMNS);
    }
    return true;
}

void sp_replay_plot_release(struct sp_replay_plot *plot) {
    for (size_t i = 0; plot->list && i < plot->count; i++)
        sp_series_close(&plot->list[i].series);
    free(plot->list);
}

struct sp_drawn *sp_replay_plot_at(const struct sp_replay_plot *plot, const char *trace,
                                   size_t allocator) {
    for (size_t i = allocator; plot->list && i < plot->count; i += plot->allocator_count)
        if (plot->list[i].trace == trace)
            return &plot->list[i];
    return NULL;
}

// -------------------------------------------------------------------------------------- the panels

static bool is_drawn(const struct sp_drawn *drawn) {
    return drawn->allocator != NULL;
}

// Nothing is known of it, or there never was any.
static bool has_free_panel(const struct sp_drawn *drawn) {
    return sp_series_peak(&drawn->series, SP_FIGURE_PENDING, SP_FIGURE_PINNED) > 0;
}

static double height_of(const struct sp_drawn *drawn) {
    if (!is_drawn(drawn))
        return 0;
    return PANEL_HEAD + USE_HEIGHT + (has_free_panel(drawn) ? FREE_GAP + FREE_HEIGHT : 0) +
           AXIS_HEIGHT;
}

// The most of all panels of the trace. Names are compared by their address: the same file may be
// there twice, as two traces.
static uint64_t peak_of_trace(const struct sp_replay_plot *plot, const char *trace,
                              enum sp_figure first, enum sp_figure last) {
    uint64_t peak = 0;
    for (size_t i = 0; i < plot->count; i++) {
        const struct sp_drawn *drawn = &plot->list[i];
        if (!is_drawn(drawn) || drawn->trace != trace)
            continue;
        uint64_t own = sp_series_peak(&drawn->series, first, last);
        peak = own > peak ? own : peak;
    }
    return peak;
}

static void draw_head(struct sp_svg *svg, const struct sp_replay_plot *plot) {
    char version[SP_VERSION_TEXT];
    const struct sp_driver *driver = plot->device->driver;
    sp_svg_text(svg, "title", 20, 30, "streampool replay");
    sp_svg_text(svg, "small", 20, 48, "%s, CUDA %s%s", plot->device->name,
                sp_version_text(driver->version, version),
                plot->starts > 1 ? "; all starts lie over each other" : "");
}

// Draws two of the figures, in a box of this height.
static struct sp_panel draw_figures(struct sp_svg *svg, const struct sp_replay_plot *plot,
                                    const struct sp_drawn *drawn, enum sp_figure first, double y,
                                    double height) {
    enum sp_figure last = first + 1;
    uint64_t peak = peak_of_trace(plot, drawn->trace, first, last);
    struct sp_panel panel = {
        .series = &drawn->series,
        .first = first,
        .last = last,
        .box = {LEFT, y, SP_SERIES_COLUMNS, height},
        .top = sp_plot_top(peak, height),
    };
    sp_plot_panel(svg, &panel);
    return panel;
}

static void draw_panel(struct sp_svg *svg, const struct sp_replay_plot *plot,
                       const struct sp_drawn *drawn, double y) {
    char name[SP_PLOT_NAME];
    sp_svg_begin_group(svg, "panel",
                       (const char *const[][2]){
                           {"trace", drawn->trace}, {"allocator", drawn->allocator}, {NULL, NULL}});
    sp_svg_text(svg, "heading", 20, y + 18, "%s, %s", sp_plot_name(drawn->trace, name),
                drawn->allocator);
    if (drawn->errors > 0)
        sp_svg_text(svg, "small right", LEFT + SP_SERIES_COLUMNS, y + 18,
                    "calls that failed: %" PRIu64, drawn->errors);
    sp_plot_legend(svg, &drawn->series, LEFT, y + 40);
    struct sp_panel panel =
        draw_figures(svg, plot, drawn, SP_FIGURE_LIVE, y + PANEL_HEAD, USE_HEIGHT);
    sp_plot_passes(svg, &panel);
    if (has_free_panel(drawn))
        panel = draw_figures(svg, plot, drawn, SP_FIGURE_PENDING,
                             y + PANEL_HEAD + USE_HEIGHT + FREE_GAP, FREE_HEIGHT);
    sp_plot_operations_axis(svg, &panel);
    sp_svg_end_group(svg);
}

static void draw_foot(struct sp_svg *svg, double y) {
    static const char *const notes[] = {
        "live: allocated and not freed. reserved: physical memory that the allocator holds.",
        "pending: freed, but work may still use it, as far as the pool knows. "
        "pinned: free, in extents that also hold blocks in use.",
        "A number is the peak. Where a figure varies within a column, its line is thick, and the "
        "top of its area is light.",
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        sp_svg_text(svg, "small", 20, y + 14 + 16 * (double)i, "%s", notes[i]);
}

bool sp_replay_plot_write(const char *path, const struct sp_replay_plot *plot) {
    struct sp_svg svg;
    double y = HEAD_HEIGHT;
    double height = HEAD_HEIGHT + FOOT_HEIGHT;
    for (size_t i = 0; i < plot->count; i++)
        height += height_of(&plot->list[i]);
    if (!sp_svg_begin(&svg, WIDTH, height, "Memory over replayed traces"))
        return sp_complain("out of host memory for %s", path);
    draw_head(&svg, plot);
    for (size_t i = 0; i < plot->count; i++) {
        if (!is_drawn(&plot->list[i]))
            continue;
        draw_panel(&svg, plot, &plot->list[i], y);
        y += height_of(&plot->list[i]);
    }
    draw_foot(&svg, y);
    return sp_svg_write(&svg, path);
}
