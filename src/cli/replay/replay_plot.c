#include "cli/replay/replay_plot.h"

#include "cli/program/complain.h"
#include "cli/program/quantity.h"
#include "cli/report/beside.h"

#include <inttypes.h>
#include <stdlib.h>
#include <streampool/lists.h>
#include <string.h>

enum {
    WIDTH = 840,
    LEFT = 84,
    RIGHT = LEFT + SP_SERIES_COLUMNS,
    USE_HEIGHT = 170, // of what is live and reserved
    FREE_HEIGHT = 84, // of what is pending and pinned
    AXIS_HEIGHT = 44, // of the operations below a panel
    LEGEND_ROW = 18,
};

static const char *const causes[] = {
#define CAUSE(name, text) [name] = text,
    STREAMPOOL_GROWTH_CAUSES(CAUSE)
#undef CAUSE
};
enum { CAUSE_COUNT = sizeof causes / sizeof causes[0] };

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

// ----------------------------------------------------------------------------- what is held, by
// whom

// A line of the upper panel: what an allocator reserved, here or in the recording.
struct holder {
    const char *title, *note;
    const struct sp_drawn *drawn; // null: it was recorded
    uint64_t peak;
    size_t colour;
};

struct holders {
    struct holder list[2 * SP_ALLOCATORS_MAX];
    size_t count;
};

static bool is_whole(const struct holder *holder) {
    return holder->drawn && holder->drawn->series.lines[SP_FIGURE_RESERVED].is_whole;
}

// Returns the most that a recorded allocator reserved of the trace in the passes that are drawn; 0
// where that isn't known.
static uint64_t recorded_peak(const struct sp_replay_plot *plot, const struct sp_drawn *drawn,
                              const struct sp_allocator *allocator) {
    uint64_t peak = 0;
    for (size_t i = 0; i < plot->recorded->count; i++) {
        const struct sp_result *result = &plot->recorded->results[i];
        if (strcmp(result->allocator, allocator->name) == 0 && result->pass <= plot->passes &&
            result->reserved_peak_bytes > peak && sp_beside_is_alike(result, drawn->result))
            peak = result->reserved_peak_bytes;
    }
    return peak;
}

// An allocator has one colour in all panels, and CUDA's pool is always the second one.
static size_t colour_of(const struct sp_allocator *allocator, size_t peer) {
    static const struct sp_allocator *const known[] = {
        &sp_allocator_pool, &sp_allocator_driver, &sp_allocator_direct, &sp_allocator_promised};
    size_t colour = 0;
    while (colour < SP_ALLOCATOR_COUNT && known[colour] != allocator)
        colour++;
    return colour < SP_ALLOCATOR_COUNT ? colour : colour + peer;
}

static struct holders holders_of(const struct sp_replay_plot *plot, const struct sp_drawn *first) {
    struct holders holders = {.count = 0};
    const struct sp_drawn *any = NULL;
    for (const struct sp_drawn *drawn = first; drawn < first + plot->allocator_count; drawn++) {
        if (!drawn->allocator)
            continue;
        uint64_t peak = drawn->series.lines[SP_FIGURE_RESERVED].peak;
        size_t colour = colour_of(drawn->allocator, holders.count);
        holders.list[holders.count++] =
            (struct holder){drawn->allocator->title, "", drawn, peak, colour};
        any = drawn;
    }
    for (size_t i = 0; any && i < plot->beside->count; i++) {
        const struct sp_allocator *allocator = plot->beside->items[i];
        uint64_t peak = recorded_peak(plot, any, allocator);
        if (peak > 0)
            holders.list[holders.count++] = (struct holder){allocator->title, ", recorded", NULL,
                                                            peak, colour_of(allocator, 0)};
    }
    return holders;
}

static double write_holders(struct sp_svg *svg, const struct holders *holders, uint64_t live,
                            double y) {
    struct sp_legend legend = sp_legend_at(LEFT, RIGHT, y);
    char class[SP_CLASS_TEXT], text[SP_QUANTITY_TEXT];
    sp_legend_area(svg, "area live",
                   sp_legend_add(svg, &legend, "live: %s at most", sp_bytes_text(live, text)));
    for (size_t i = 0; i < holders->count; i++) {
        const struct holder *holder = &holders->list[i];
        struct sp_place place = sp_legend_add(svg, &legend, "%s reserved: %s%s", holder->title,
                                              sp_bytes_text(holder->peak, text), holder->note);
        sp_legend_line(
            svg, sp_plot_class(is_whole(holder) ? "line" : "dashed", holder->colour, class), place);
    }
    return legend.y;
}

static void draw_holder(struct sp_svg *svg, const struct sp_panel *panel,
                        const struct holder *holder) {
    char class[SP_CLASS_TEXT], peak[SP_QUANTITY_TEXT];
    double y = sp_panel_y(panel, (double)holder->peak);
    snprintf(peak, sizeof peak, "%" PRIu64, holder->peak);
    sp_svg_begin_group(svg, "holder", "allocator",
                       holder->drawn ? holder->drawn->allocator->name : "recorded", NULL);
    if (is_whole(holder)) {
        sp_series_draw_line(svg, panel, &holder->drawn->series, SP_FIGURE_RESERVED,
                            sp_plot_class("band", holder->colour, class));
    } else {
        sp_svg_begin_group(svg, "peak", "peak-bytes", peak, NULL);
        sp_svg_line(svg, sp_plot_class("dashed", holder->colour, class), LEFT, y, RIGHT, y);
        sp_svg_end_group(svg);
    }
    sp_svg_end_group(svg);
}

// ----------------------------------------------------------------------------------------- growths

// How often and by how much the pools grew, by cause.
struct growth_sums {
    uint64_t count[CAUSE_COUNT], bytes[CAUSE_COUNT];
};

static struct growth_sums sums_of(const struct sp_replay_plot *plot, const char *trace) {
    struct growth_sums sums = {{0}, {0}};
    for (size_t i = 0; i < plot->growths->count; i++) {
        const struct sp_growth *growth = &plot->growths->list[i];
        if (growth->trace != trace)
            continue;
        sums.count[growth->told.cause]++;
        sums.bytes[growth->told.cause] += growth->told.mapped;
    }
    return sums;
}

static double write_causes(struct sp_svg *svg, const struct growth_sums *sums, double y) {
    struct sp_legend legend = sp_legend_at(LEFT, RIGHT, y + LEGEND_ROW);
    char text[SP_QUANTITY_TEXT];
    for (size_t cause = 0; cause < CAUSE_COUNT; cause++) {
        if (sums->count[cause] == 0)
            continue;
        struct sp_place place =
            sp_legend_add(svg, &legend, "grew %" PRIu64 " times by %s: %s%s", sums->count[cause],
                          sp_bytes_text(sums->bytes[cause], text),
                          cause == poolGrowthCauseNeed ? "" : "what is free is ", causes[cause]);
        sp_plot_mark(svg, cause, place.x, place.y);
        y = legend.y;
    }
    return y;
}

static void draw_growth(struct sp_svg *svg, const struct sp_growth *growth, size_t operation,
                        double x, double y) {
    char mapped[SP_QUANTITY_TEXT];
    sp_svg_begin_group(svg, "growth", "cause", causes[growth->told.cause], NULL);
    sp_svg_title(svg, "operation %zu, %s: %s", operation + 1,
                 sp_bytes_text(growth->told.mapped, mapped), causes[growth->told.cause]);
    sp_plot_mark(svg, growth->told.cause, x, y);
    sp_svg_end_group(svg);
}

// Of those of a cause that fall into the same column only the first is drawn.
static void draw_growths(struct sp_svg *svg, const struct sp_replay_plot *plot,
                         const struct sp_panel *panel, const struct sp_drawn *drawn) {
    bool is_taken[CAUSE_COUNT][SP_SERIES_COLUMNS + 1] = {{false}};
    for (size_t i = 0; i < plot->growths->count; i++) {
        const struct sp_growth *growth = &plot->growths->list[i];
        if (growth->trace != drawn->trace)
            continue;
        enum poolGrowthCause cause = growth->told.cause;
        size_t operation = drawn->series.operations * (growth->pass - 1) + growth->operation;
        uint64_t bytes = growth->told.reservedBefore + growth->told.mapped;
        double x = sp_panel_x(panel, (double)operation);
        size_t column = (size_t)(x - LEFT);
        if (is_taken[cause][column])
            continue;
        is_taken[cause][column] = true;
        draw_growth(svg, growth, operation, x, sp_panel_y(panel, (double)bytes));
    }
}

// --------------------------------------------------------------------------------------- the
// panels

// With very many there would be nothing but these lines.
static void draw_passes(struct sp_svg *svg, const struct sp_panel *panel,
                        const struct sp_series *series) {
    enum { PASSES_SHOWN = 50 };
    for (unsigned pass = 2; pass <= series->passes && series->passes <= PASSES_SHOWN; pass++) {
        double x = sp_panel_x(panel, (double)(series->operations * (pass - 1)));
        sp_svg_line(svg, "pass", x, panel->box.top, x, panel->box.top + panel->box.height);
        if (series->passes <= PASSES_SHOWN / 5)
            sp_svg_text(svg, "small", x + 4, panel->box.top - 4, "pass %u", pass);
    }
}

// Returns where it ends.
static double draw_use(struct sp_svg *svg, const struct sp_replay_plot *plot,
                       const struct sp_drawn *drawn, const struct holders *holders, double y) {
    uint64_t peak = drawn->series.lines[SP_FIGURE_LIVE].peak;
    for (size_t i = 0; i < holders->count; i++)
        peak = holders->list[i].peak > peak ? holders->list[i].peak : peak;
    struct sp_box box = {LEFT, y, SP_SERIES_COLUMNS, USE_HEIGHT};
    struct sp_panel panel = sp_series_begin_panel(svg, &drawn->series, &box, peak);
    sp_series_draw_area(svg, &panel, &drawn->series, SP_FIGURE_LIVE, "area live");
    for (size_t i = 0; i < holders->count; i++)
        draw_holder(svg, &panel, &holders->list[i]);
    draw_growths(svg, plot, &panel, drawn);
    draw_passes(svg, &panel, &drawn->series);
    sp_panel_draw_x(svg, &panel);
    sp_svg_end_group(svg);
    return y + USE_HEIGHT + AXIS_HEIGHT;
}

// Draws what is pending and pinned, where there ever was any. Returns where it ends.
static double draw_free(struct sp_svg *svg, const struct sp_drawn *drawn, double y) {
    const struct sp_line *pending = &drawn->series.lines[SP_FIGURE_PENDING];
    const struct sp_line *pinned = &drawn->series.lines[SP_FIGURE_PINNED];
    char text[SP_QUANTITY_TEXT];
    uint64_t peak = pending->peak > pinned->peak ? pending->peak : pinned->peak;
    if (peak == 0)
        return y;
    struct sp_legend legend = sp_legend_at(LEFT, RIGHT, y + LEGEND_ROW);
    sp_svg_begin_group(svg, "free", "allocator", drawn->allocator->name, NULL);
    sp_legend_area(svg, "area pending",
                   sp_legend_add(svg, &legend, "pending in %s: %s at most", drawn->allocator->title,
                                 sp_bytes_text(pending->peak, text)));
    sp_legend_line(
        svg, "line pinned",
        sp_legend_add(svg, &legend, "pinned: %s at most", sp_bytes_text(pinned->peak, text)));
    struct sp_box box = {LEFT, legend.y + 14, SP_SERIES_COLUMNS, FREE_HEIGHT};
    struct sp_panel panel = sp_series_begin_panel(svg, &drawn->series, &box, peak);
    sp_series_draw_area(svg, &panel, &drawn->series, SP_FIGURE_PENDING, "area pending");
    sp_series_draw_line(svg, &panel, &drawn->series, SP_FIGURE_PINNED, "band pinned");
    sp_panel_draw_x(svg, &panel);
    sp_svg_end_group(svg);
    sp_svg_end_group(svg);
    return box.top + FREE_HEIGHT + AXIS_HEIGHT;
}

// ------------------------------------------------------------------------------------- the picture

// Calls that fail leave less alive.
static const struct sp_drawn *fullest(const struct holders *holders) {
    const struct sp_drawn *fullest = holders->list[0].drawn;
    for (size_t i = 1; i < holders->count && holders->list[i].drawn; i++)
        if (holders->list[i].drawn->series.lines[SP_FIGURE_LIVE].peak >
            fullest->series.lines[SP_FIGURE_LIVE].peak)
            fullest = holders->list[i].drawn;
    return fullest;
}

static double write_errors(struct sp_svg *svg, const struct holders *holders, double y) {
    for (size_t i = 0; i < holders->count; i++)
        if (holders->list[i].drawn && holders->list[i].drawn->errors > 0)
            sp_svg_text(svg, "small", LEFT, y += LEGEND_ROW, "%s, calls that failed: %" PRIu64,
                        holders->list[i].title, holders->list[i].drawn->errors);
    return y;
}

// Returns where it ends.
static double draw_trace(struct sp_svg *svg, const struct sp_replay_plot *plot,
                         const struct sp_drawn *first, double y) {
    char name[SP_PLOT_NAME];
    const struct holders holders = holders_of(plot, first);
    if (holders.count == 0)
        return y;
    const struct sp_drawn *drawn = fullest(&holders);
    const struct growth_sums sums = sums_of(plot, first->trace);
    sp_svg_begin_group(svg, "panel", "trace", first->trace, NULL);
    sp_svg_text(svg, "heading", 20, y + 18, "%s", sp_plot_name(first->trace, name));
    y = write_holders(svg, &holders, drawn->series.lines[SP_FIGURE_LIVE].peak, y + 40);
    y = write_errors(svg, &holders, write_causes(svg, &sums, y));
    y = draw_use(svg, plot, drawn, &holders, y + LEGEND_ROW);
    for (size_t i = 0; i < holders.count && holders.list[i].drawn; i++)
        y = draw_free(svg, holders.list[i].drawn, y);
    sp_svg_end_group(svg);
    return y + LEGEND_ROW;
}

static void draw_head(struct sp_svg *svg, const struct sp_replay_plot *plot) {
    char version[SP_VERSION_TEXT];
    const struct sp_driver *driver = plot->device->driver;
    sp_svg_text(svg, "title", 20, 30, "streampool replay");
    sp_svg_text(svg, "small", 20, 48, "%s, CUDA %s%s", plot->device->name,
                sp_version_text(driver->version, version),
                plot->starts > 1 ? "; all starts lie over each other" : "");
}

static double draw_foot(struct sp_svg *svg, const struct sp_replay_plot *plot, double y) {
    static const char *const notes[] = {
        "live: allocated and not freed. reserved: physical memory that the allocator holds.",
        "pending: freed, but work may still use it, as far as the pool knows. "
        "pinned: free, in extents that also hold blocks in use.",
        "Where a figure varies within a column, its line is thick, and the top of its area is "
        "light.",
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++)
        sp_svg_text(svg, "small", 20, y += 16, "%s", notes[i]);
    if (plot->recorded->count > 0)
        sp_svg_text(svg, "small", 20, y += 16, "recorded: on %s, driver %s, CUDA %s, %s.",
                    plot->recorded->results[0].device, plot->recorded->origin.driver_version,
                    plot->recorded->origin.cuda_version, plot->recorded->origin.date);
    return y + 14;
}

bool sp_replay_plot_write(const char *path, const struct sp_replay_plot *plot) {
    struct sp_svg svg;
    double y = 60;
    if (!sp_svg_begin(&svg, path))
        return false;
    draw_head(&svg, plot);
    for (size_t i = 0; i < plot->count; i += plot->allocator_count)
        y = draw_trace(&svg, plot, &plot->list[i], y);
    y = draw_foot(&svg, plot, y);
    return sp_svg_end(&svg, path, WIDTH, y, "Memory over replayed traces");
}
