#include "cli/plot/memory.h"

#include "cli/program/quantity.h"

#include <inttypes.h>

static bool is_whole(const struct sp_holder *holder) {
    return holder->series && holder->series->lines[SP_FIGURE_RESERVED].is_whole;
}

static uint64_t live_peak(const struct sp_series *series) {
    return series ? series->lines[SP_FIGURE_LIVE].peak : 0;
}

// Returns the one with the most alive: calls that fail leave less.
static const struct sp_series *fullest(const struct sp_holder holders[], size_t count) {
    const struct sp_series *fullest = holders[0].series;
    for (size_t i = 1; i < count; i++)
        if (!fullest || live_peak(holders[i].series) > live_peak(fullest))
            fullest = holders[i].series;
    return fullest;
}

void sp_memory_legend(struct sp_plot *plot, const struct sp_holder holders[], size_t count) {
    char text[SP_QUANTITY_TEXT];
    sp_plot_legend(plot, "area", SP_COLOUR_LIVE, "live: %s at most",
                   sp_bytes_text(live_peak(fullest(holders, count)), text));
    for (size_t i = 0; i < count; i++) {
        const struct sp_holder *holder = &holders[i];
        char errors[64] = "";
        if (holder->errors > 0)
            snprintf(errors, sizeof errors, ", calls that failed: %" PRIu64, holder->errors);
        sp_plot_legend(plot, is_whole(holder) ? "line" : "dashed", holder->colour,
                       "%s: %s reserved%s%s", holder->title, sp_bytes_text(holder->peak, text),
                       holder->note, errors);
    }
}

static void draw_holder(struct sp_plot *plot, const struct sp_holder *holder) {
    char peak[SP_QUANTITY_TEXT];
    double y = sp_plot_y(plot, (double)holder->peak);
    snprintf(peak, sizeof peak, "%" PRIu64, holder->peak);
    sp_svg_begin_group(&plot->svg, holder->title, "holder", holder->name, "peak-bytes", peak,
                       SP_SVG_END);
    if (is_whole(holder))
        sp_series_draw(plot, holder->series, SP_FIGURE_RESERVED, holder->colour);
    else
        sp_svg_line(&plot->svg, sp_class("dashed", holder->colour).text, plot->box.left, y,
                    plot->box.left + plot->box.width, y);
    sp_svg_end_group(&plot->svg);
}

// With very many passes there would be nothing but these lines.
static void draw_passes(struct sp_plot *plot, const struct sp_series *series) {
    enum { PASSES_SHOWN = 50 };
    const struct sp_box *box = &plot->box;
    char text[SP_QUANTITY_TEXT];
    for (unsigned pass = 2; pass <= series->passes && series->passes <= PASSES_SHOWN; pass++) {
        double x = sp_plot_x(plot, (double)(series->operations * (pass - 1)));
        sp_svg_line(&plot->svg, "pass", x, box->top, x, box->top + box->height);
        if (series->passes > PASSES_SHOWN / 5)
            continue;
        snprintf(text, sizeof text, "pass %u", pass);
        sp_svg_text(&plot->svg, "small", x + 4, box->top - 4, text);
    }
}

void sp_memory_panel(struct sp_plot *plot, const struct sp_holder holders[], size_t count) {
    enum { HEIGHT = 170 };
    const struct sp_series *series = fullest(holders, count);
    uint64_t peak = live_peak(series);
    for (size_t i = 0; i < count; i++)
        peak = holders[i].peak > peak ? holders[i].peak : peak;
    sp_series_panel(plot, series, HEIGHT, peak);
    sp_series_draw(plot, series, SP_FIGURE_LIVE, SP_COLOUR_LIVE);
    for (size_t i = 0; i < count; i++)
        draw_holder(plot, &holders[i]);
    draw_passes(plot, series);
}
