#include "cli/replay/replay_plot.h"

#include "cli/program/complain.h"
#include "cli/program/quantity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <streampool/lists.h>
#include <string.h>

// ---------------------------------------------------------------------------------- what is drawn

bool sp_replay_plot_open(struct sp_replay_plot *plot, const struct sp_traces *traces) {
    plot->count = traces->count * plot->allocator_count;
    plot->list = calloc(plot->count, sizeof *plot->list);
    if (!plot->list)
        return sp_complain("out of host memory");
    for (size_t i = 0; i < plot->count; i++) {
        const struct sp_trace *trace = &traces->list[i / plot->allocator_count];
        plot->list[i].trace = trace->name;
        sp_series_open(&plot->list[i].series, trace->operation_count, plot->passes);
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

// ------------------------------------------------------------------------------------ the holders

// A line of the panel of a trace. A holder of which only the peak is known is a dashed line.
struct holder {
    const char *title;
    const char *note;               // behind its peak
    const struct sp_series *series; // null: it was recorded
    uint64_t peak;
    uint64_t errors; // calls that failed
};

enum { HOLDERS_MAX = 2 * SP_ALLOCATORS_MAX };

// Returns the most that a recorded allocator reserved of the trace in the passes that are drawn; 0
// where that isn't known.
static uint64_t recorded_peak(const struct sp_replay_plot *plot, const struct sp_result *here,
                              const struct sp_allocator *allocator) {
    uint64_t peak = 0;
    for (size_t i = 0; i < plot->recorded->count; i++) {
        const struct sp_result *result = &plot->recorded->results[i];
        if (strcmp(result->allocator, allocator->name) == 0 && result->pass <= plot->passes &&
            result->reserved_peak_bytes > peak && sp_beside_is_alike(result, here))
            peak = result->reserved_peak_bytes;
    }
    return peak;
}

// Fills in what is drawn of a trace, and then what was recorded of it; returns how many they are.
static size_t find_holders(const struct sp_replay_plot *plot, const struct sp_drawn *first,
                           struct holder holders[]) {
    size_t count = 0;
    const struct sp_result *here = NULL;
    for (const struct sp_drawn *drawn = first; drawn < first + plot->allocator_count; drawn++) {
        const struct sp_allocator *allocator = drawn->allocator;
        if (!allocator)
            continue;
        uint64_t peak = drawn->series.lines[SP_FIGURE_RESERVED].peak;
        struct holder holder = {*drawn->title ? drawn->title : allocator->title, drawn->note,
                                &drawn->series, peak, drawn->errors};
        holders[count++] = holder;
        here = drawn->result;
    }
    for (size_t i = 0; here && i < plot->beside->count; i++) {
        const struct sp_allocator *allocator = plot->beside->items[i];
        uint64_t peak = recorded_peak(plot, here, allocator);
        struct holder holder = {allocator->title, ", recorded", NULL, peak, 0};
        if (peak > 0)
            holders[count++] = holder;
    }
    return count;
}

static bool is_whole(const struct holder *holder) {
    return holder->series && holder->series->lines[SP_FIGURE_RESERVED].is_whole;
}

static uint64_t live_peak(const struct sp_series *series) {
    return series ? series->lines[SP_FIGURE_LIVE].peak : 0;
}

// Returns the one with the most alive: calls that fail leave less.
static const struct sp_series *fullest(const struct holder holders[], size_t count) {
    const struct sp_series *fullest = holders[0].series;
    for (size_t i = 1; i < count; i++)
        if (!fullest || live_peak(holders[i].series) > live_peak(fullest))
            fullest = holders[i].series;
    return fullest;
}

static void write_holders(struct sp_plot *picture, const struct holder holders[], size_t count) {
    char text[SP_QUANTITY_TEXT];
    sp_plot_legend(picture, "area", SP_COLOUR_LIVE, "live: %s at most",
                   sp_bytes_text(live_peak(fullest(holders, count)), text));
    for (size_t i = 0; i < count; i++) {
        const struct holder *holder = &holders[i];
        char errors[64] = "";
        if (holder->errors > 0)
            snprintf(errors, sizeof errors, ", calls that failed: %" PRIu64, holder->errors);
        sp_plot_legend(picture, is_whole(holder) ? "line" : "dashed", i, "%s: %s reserved%s%s",
                       holder->title, sp_bytes_text(holder->peak, text), holder->note, errors);
    }
}

static void draw_holder(struct sp_plot *picture, const struct holder *holder, size_t colour) {
    char peak[SP_QUANTITY_TEXT];
    double y = sp_plot_y(picture, (double)holder->peak);
    snprintf(peak, sizeof peak, "%" PRIu64, holder->peak);
    sp_svg_begin_group(&picture->svg, NULL, "holder", holder->title, "peak-bytes", peak,
                       SP_SVG_END);
    if (is_whole(holder))
        sp_series_draw(picture, holder->series, SP_FIGURE_RESERVED, colour);
    else
        sp_svg_line(&picture->svg, sp_class("dashed", colour).text, picture->box.left, y,
                    picture->box.left + picture->box.width, y);
    sp_svg_end_group(&picture->svg);
}

// With very many passes there would be nothing but these lines.
static void draw_passes(struct sp_plot *picture, const struct sp_series *series) {
    enum { PASSES_SHOWN = 50 };
    const struct sp_box *box = &picture->box;
    char text[SP_QUANTITY_TEXT];
    for (unsigned pass = 2; pass <= series->passes && series->passes <= PASSES_SHOWN; pass++) {
        double x = sp_plot_x(picture, (double)(series->operations * (pass - 1)));
        sp_svg_line(&picture->svg, "pass", x, box->top, x, box->top + box->height);
        if (series->passes > PASSES_SHOWN / 5)
            continue;
        snprintf(text, sizeof text, "pass %u", pass);
        sp_svg_text(&picture->svg, "small", x + 4, box->top - 4, text);
    }
}

static void draw_panel(struct sp_plot *picture, const struct holder holders[], size_t count) {
    enum { HEIGHT = 170 };
    const struct sp_series *series = fullest(holders, count);
    uint64_t peak = live_peak(series);
    for (size_t i = 0; i < count; i++)
        peak = holders[i].peak > peak ? holders[i].peak : peak;
    sp_series_panel(picture, series, HEIGHT, peak);
    sp_series_draw(picture, series, SP_FIGURE_LIVE, SP_COLOUR_LIVE);
    for (size_t i = 0; i < count; i++)
        draw_holder(picture, &holders[i], i);
    draw_passes(picture, series);
}

// ---------------------------------------------------------------------------------------- growths

static const char *const causes[] = {
#define CAUSE(name, text) [name] = text,
    STREAMPOOL_GROWTH_CAUSES(CAUSE)
#undef CAUSE
};

// Writes how often and by how much the pools grew, for each cause.
static void write_causes(struct sp_plot *picture, const struct sp_growths *growths,
                         const char *trace) {
    char text[SP_QUANTITY_TEXT];
    for (size_t cause = 0; cause < sizeof causes / sizeof causes[0]; cause++) {
        size_t count = 0;
        uint64_t bytes = 0;
        for (size_t i = 0; i < growths->count; i++) {
            const struct sp_growth *growth = &growths->list[i];
            bool counts = growth->trace == trace && growth->told.cause == cause;
            count += counts;
            bytes += counts ? growth->told.mapped : 0;
        }
        if (count > 0)
            sp_plot_legend(picture, "mark", cause, "%zu growth%s, %s: %s%s", count,
                           count == 1 ? "" : "s", sp_bytes_text(bytes, text),
                           cause == poolGrowthCauseNeed ? "" : "what is free is ", causes[cause]);
    }
}

static void draw_growths(struct sp_plot *picture, const struct sp_growths *growths,
                         const struct sp_drawn *drawn) {
    for (size_t i = 0; i < growths->count; i++) {
        const struct sp_growth *growth = &growths->list[i];
        const struct poolMemPoolGrowth *told = &growth->told;
        char title[160], text[SP_QUANTITY_TEXT];
        if (growth->trace != drawn->trace)
            continue;
        double x = (double)(drawn->series.operations * (growth->pass - 1) + growth->operation);
        snprintf(title, sizeof title, "operation %zu, %s: %s", growth->operation + 1,
                 sp_bytes_text(told->mapped, text), causes[told->cause]);
        sp_svg_begin_group(&picture->svg, title, "cause", causes[told->cause], SP_SVG_END);
        sp_plot_mark(picture, told->cause, sp_plot_x(picture, x),
                     sp_plot_y(picture, (double)(told->reservedBefore + told->mapped)));
        sp_svg_end_group(&picture->svg);
    }
}

// ------------------------------------------------------------------------------------- the picture

// Draws what is pending and pinned, where there ever was any.
static void draw_free(struct sp_plot *picture, const struct holder *holder) {
    enum { HEIGHT = 84 };
    uint64_t pending = holder->series ? holder->series->lines[SP_FIGURE_PENDING].peak : 0;
    uint64_t pinned = holder->series ? holder->series->lines[SP_FIGURE_PINNED].peak : 0;
    char text[SP_QUANTITY_TEXT];
    if (pending == 0 && pinned == 0)
        return;
    sp_plot_legend(picture, "area", SP_COLOUR_PENDING, "pending in %s: %s at most", holder->title,
                   sp_bytes_text(pending, text));
    sp_plot_legend(picture, "line", SP_COLOUR_PINNED, "pinned: %s at most",
                   sp_bytes_text(pinned, text));
    sp_series_panel(picture, holder->series, HEIGHT, pending > pinned ? pending : pinned);
    sp_series_draw(picture, holder->series, SP_FIGURE_PENDING, SP_COLOUR_PENDING);
    sp_series_draw(picture, holder->series, SP_FIGURE_PINNED, SP_COLOUR_PINNED);
    sp_svg_end_group(&picture->svg);
}

static void draw_trace(struct sp_plot *picture, const struct sp_replay_plot *plot,
                       const struct sp_drawn *first) {
    struct holder holders[HOLDERS_MAX];
    size_t count = find_holders(plot, first, holders);
    if (count == 0)
        return;
    sp_svg_begin_group(&picture->svg, NULL, "trace", first->trace, SP_SVG_END);
    sp_plot_text(picture, "heading", first->trace);
    write_holders(picture, holders, count);
    write_causes(picture, plot->growths, first->trace);
    draw_panel(picture, holders, count);
    draw_growths(picture, plot->growths, first);
    sp_svg_end_group(&picture->svg);
    for (size_t i = 0; i < count && !plot->compares_use; i++)
        draw_free(picture, &holders[i]);
    sp_svg_end_group(&picture->svg);
}

static void write_foot(struct sp_plot *picture, const struct sp_replay_plot *plot) {
    const struct sp_recorded *recorded = plot->recorded;
    char text[512];
    sp_plot_text(picture, "small",
                 "live: allocated and not freed. reserved: physical memory that is held.");
    if (!plot->compares_use)
        sp_plot_text(picture, "small",
                     "pending: freed, but work may still use it, as far as the pool knows. pinned: "
                     "free, in extents with blocks in use.");
    sp_plot_text(picture, "small",
                 "Where a figure varies within a column, its line is thick, and the top of its "
                 "area is light.");
    if (recorded->count == 0)
        return;
    snprintf(text, sizeof text, "recorded: on %s, driver %s, CUDA %s, %s.",
             recorded->results[0].device, recorded->origin.driver_version,
             recorded->origin.cuda_version, recorded->origin.date);
    sp_plot_text(picture, "small", text);
}

bool sp_replay_plot_write(const char *path, const struct sp_replay_plot *plot) {
    struct sp_plot picture;
    char version[SP_VERSION_TEXT], second[512];
    snprintf(second, sizeof second, "%s, CUDA %s%s", plot->device->name,
             sp_version_text(plot->device->driver->version, version),
             plot->starts > 1 ? "; all starts lie over each other" : "");
    if (!sp_plot_begin(&picture, path, SP_SERIES_COLUMNS, plot->title, second))
        return false;
    for (size_t i = 0; i < plot->count; i += plot->allocator_count)
        draw_trace(&picture, plot, &plot->list[i]);
    write_foot(&picture, plot);
    return sp_plot_end(&picture);
}
