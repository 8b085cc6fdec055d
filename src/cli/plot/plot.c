#include "cli/plot/plot.h"

#include "cli/program/quantity.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { LINE = 18 };

// -------------------------------------------------------------------------------------------- axes

static const struct {
    double base; // from name to name
    const char *names[8];
} units[] = {
    [SP_AXIS_PLAIN] = {INFINITY, {""}},
    [SP_AXIS_COUNT] = {1000, {"", "k", "M", "G", "T", "P", "E", "Z"}},
    [SP_AXIS_BYTES] = {1024, {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB", " ZiB"}},
    [SP_AXIS_TIME] = {1000, {" ns", " µs", " ms", " s", " ks", " Ms", " Gs", " Ts"}},
};

// Returns what the largest name that the value has is worth, and its index.
static double unit_of(enum sp_axis_unit unit, double value, size_t *index) {
    double worth = 1;
    for (*index = 0; value >= worth * units[unit].base && *index < 7; ++*index)
        worth *= units[unit].base;
    return worth;
}

struct sp_axis sp_axis_linear(enum sp_axis_unit unit, double most, double ticks,
                              const char *title) {
    size_t index;
    double worth = unit_of(unit, most, &index), least = most / worth / fmax(1, floor(ticks));
    double power = least > 0 ? pow(10, floor(log10(least))) : 1;
    double factor = least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10;
    double step = factor * power * worth;
    if (step < 1 && unit != SP_AXIS_PLAIN)
        step = 1;
    double top = ceil(most / step * (1 - 1e-9)) * step;
    return (struct sp_axis){unit, 0, top > 0 ? top : step, step, title};
}

struct sp_axis sp_axis_logarithmic(enum sp_axis_unit unit, double least, double most,
                                   double multiple, const char *title) {
    return (struct sp_axis){unit, least, most > least ? most : least * multiple, multiple, title};
}

struct sp_axis sp_axis_decades(enum sp_axis_unit unit, double least, double most,
                               const char *title) {
    return sp_axis_logarithmic(unit, pow(10, floor(log10(least))), pow(10, ceil(log10(most))), 10,
                               title);
}

static double share_of(const struct sp_axis *axis, double value) {
    return axis->least > 0 ? log(value / axis->least) / log(axis->most / axis->least)
                           : value / axis->most;
}

// Returns the tick behind one; infinity where the axis has ended.
static double next_tick(const struct sp_axis *axis, double tick) {
    double next = axis->least > 0 ? tick * axis->step : tick + axis->step;
    return next <= axis->most * (1 + 1e-9) ? next : INFINITY;
}

// All ticks of a linear axis have one unit, so that they can be compared at a glance.
static void tick_text(const struct sp_axis *axis, double tick, char text[SP_QUANTITY_TEXT]) {
    size_t index;
    double worth = unit_of(axis->unit, axis->least > 0 ? tick : axis->most, &index);
    snprintf(text, SP_QUANTITY_TEXT, "%.6g%s", tick / worth,
             tick > 0 ? units[axis->unit].names[index] : "");
}

double sp_plot_x(const struct sp_plot *plot, double value) {
    return plot->box.left + plot->box.width * share_of(&plot->across, value);
}

double sp_plot_y(const struct sp_plot *plot, double value) {
    return plot->box.top + plot->box.height * (1 - share_of(&plot->up, value));
}

// A grid line and a text for each tick, and the title above them.
static void draw_up(struct sp_plot *plot) {
    const struct sp_axis *axis = &plot->up;
    double left = plot->box.left, right = left + plot->box.width;
    for (double tick = axis->least; isfinite(tick); tick = next_tick(axis, tick)) {
        char text[SP_QUANTITY_TEXT];
        double y = sp_plot_y(plot, tick);
        tick_text(axis, tick, text);
        sp_svg_line(&plot->svg, tick == axis->least ? "frame" : "grid", left, y, right, y);
        sp_svg_text(&plot->svg, "small right", left - 6, y + 4, text);
    }
    sp_svg_line(&plot->svg, "frame", left, plot->box.top, left, sp_plot_y(plot, axis->least));
    if (axis->title)
        sp_svg_text(&plot->svg, "small", left, plot->box.top - 10, axis->title);
}

// A dash and a text for each tick, and the title below them.
static void draw_across(struct sp_plot *plot) {
    const struct sp_axis *axis = &plot->across;
    double y = sp_plot_y(plot, plot->up.least);
    for (double tick = axis->unit == SP_AXIS_PLAIN ? INFINITY : axis->least; isfinite(tick);
         tick = next_tick(axis, tick)) {
        char text[SP_QUANTITY_TEXT];
        double x = sp_plot_x(plot, tick);
        tick_text(axis, tick, text);
        sp_svg_line(&plot->svg, "frame", x, y, x, y + 4);
        sp_svg_text(&plot->svg, "small middle", x, y + 16, text);
    }
    if (axis->title)
        sp_svg_text(&plot->svg, "small middle", plot->box.left + plot->box.width / 2, y + 32,
                    axis->title);
}

// ------------------------------------------------------------------------------ from top to bottom

bool sp_plot_begin(struct sp_plot *plot, const char *path, double width, const char *title,
                   const char *second) {
    *plot = (struct sp_plot){.path = path, .width = width, .x = SP_PLOT_LEFT, .y = 74};
    if (!sp_svg_begin(&plot->svg, path))
        return false;
    sp_svg_text(&plot->svg, "title", 20, 30, title);
    sp_svg_text(&plot->svg, "small", 20, 48, second);
    return true;
}

bool sp_plot_end(struct sp_plot *plot) {
    return sp_svg_end(&plot->svg, plot->path, SP_PLOT_LEFT + plot->width + 40, plot->y);
}

void sp_plot_text(struct sp_plot *plot, const char *class, const char *text) {
    sp_svg_text(&plot->svg, class, 20, plot->y, text);
    plot->y += LINE;
}

// The middle of the place in front of an item is here.
static void draw_piece(struct sp_plot *plot, const char *what, size_t colour, double x, double y) {
    if (strcmp(what, "mark") == 0)
        sp_plot_mark(plot, colour, x, y);
    else if (strcmp(what, "area") == 0 || strcmp(what, "bar") == 0)
        sp_svg_box(&plot->svg, sp_class(what, colour).text,
                   &(struct sp_box){x - 10, y - 5, 20, 10});
    else
        sp_svg_line(&plot->svg, sp_class(what, colour).text, x - 10, y, x + 10, y);
}

void sp_plot_legend(struct sp_plot *plot, const char *what, size_t colour, const char *format,
                    ...) {
    enum { PLACE = 26, CHARACTER = 7, GAP = 18 };
    char text[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    double width = PLACE + CHARACTER * (double)strlen(text);
    if (plot->x > SP_PLOT_LEFT && plot->x + width > SP_PLOT_LEFT + plot->width) {
        plot->x = SP_PLOT_LEFT;
        plot->y += LINE;
    }
    draw_piece(plot, what, colour, plot->x + 10, plot->y - 4);
    sp_svg_text(&plot->svg, "legend", plot->x + PLACE, plot->y, text);
    plot->x += width + GAP;
}

void sp_plot_panel(struct sp_plot *plot, double height, const struct sp_axis *across,
                   const struct sp_axis *up) {
    char top[SP_QUANTITY_TEXT], bottom[SP_QUANTITY_TEXT], pixels[SP_QUANTITY_TEXT];
    double begin = plot->y + (up->title ? 2 : 1) * LINE;
    plot->box = (struct sp_box){SP_PLOT_LEFT, begin, plot->width, height};
    plot->across = *across;
    plot->up = *up;
    snprintf(top, sizeof top, "%.0f", up->most);
    snprintf(bottom, sizeof bottom, "%.0f", begin + height);
    snprintf(pixels, sizeof pixels, "%.0f", height);
    sp_svg_begin_group(&plot->svg, NULL, "top", top, "bottom", bottom, "height", pixels,
                       SP_SVG_END);
    draw_up(plot);
    draw_across(plot);
    plot->x = SP_PLOT_LEFT;
    plot->y = begin + height + (across->title ? 4 : 3) * LINE;
}

// A triangle, a square, a diamond, and a triangle that stands on its tip.
void sp_plot_mark(struct sp_plot *plot, size_t colour, double x, double y) {
    static const double corners[][5][2] = {
        {{-4, 3}, {4, 3}, {0, -4}, {-4, 3}, {-4, 3}},
        {{-3, -3}, {3, -3}, {3, 3}, {-3, 3}, {-3, -3}},
        {{-4, 0}, {0, -4}, {4, 0}, {0, 4}, {-4, 0}},
        {{-4, -3}, {4, -3}, {0, 4}, {-4, -3}, {-4, -3}},
    };
    sp_svg_begin_path(&plot->svg, sp_class("mark", colour).text);
    for (size_t i = 0; i < 5; i++)
        sp_svg_go(&plot->svg, x + corners[colour % 4][i][0], y + corners[colour % 4][i][1]);
    sp_svg_end_path(&plot->svg);
}
