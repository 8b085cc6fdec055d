#include "cli/plot/plot.h"

#include "cli/program/quantity.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// -------------------------------------------------------------------------------------------- axes

static const struct {
    double base; // from name to name
    const char *names[8];
} units[] = {
    [SP_AXIS_COUNT] = {INFINITY, {""}},
    [SP_AXIS_SHARE] = {INFINITY, {""}},
    [SP_AXIS_BYTES] = {1024, {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB", " ZiB"}},
    [SP_AXIS_TIME] = {1000, {" ns", " µs", " ms", " s", "", "", "", ""}},
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
    double worth = unit_of(unit, most, &index), least = most / worth / ticks;
    double power = least > 0 ? pow(10, floor(log10(least))) : 1;
    double factor = least <= power ? 1 : least <= 2 * power ? 2 : least <= 5 * power ? 5 : 10;
    double step = factor * power * worth;
    if (step < 1 && unit != SP_AXIS_SHARE)
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

static double next_tick(const struct sp_axis *axis, double tick) {
    return axis->least > 0 ? tick * axis->step : tick + axis->step;
}

static bool is_beyond(const struct sp_axis *axis, double tick) {
    return tick > axis->most * (1 + 1e-9);
}

// "1,234,567"
static void count_text(double count, char text[SP_QUANTITY_TEXT]) {
    char digits[SP_QUANTITY_TEXT];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%.0f", count), at = 0;
    for (size_t i = 0; i < length && at + 2 < SP_QUANTITY_TEXT; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
}

// All ticks of a linear axis have one unit, so that they can be compared at a glance.
static void tick_text(const struct sp_axis *axis, double tick, char text[SP_QUANTITY_TEXT]) {
    size_t index;
    double worth = unit_of(axis->unit, axis->least > 0 ? tick : axis->most, &index);
    if (axis->unit == SP_AXIS_COUNT || tick == 0)
        count_text(tick, text);
    else
        snprintf(text, SP_QUANTITY_TEXT, "%.6g%s", tick / worth, units[axis->unit].names[index]);
}

// ------------------------------------------------------------------------------------------ panels

double sp_panel_x(const struct sp_panel *panel, double value) {
    return panel->box.left + panel->box.width * share_of(&panel->x, value);
}

double sp_panel_y(const struct sp_panel *panel, double value) {
    return panel->box.top + panel->box.height * (1 - share_of(&panel->y, value));
}

double sp_panel_ticks(double height) {
    enum { PIXELS_OF_TICK = 28 };
    return fmax(1, floor(height / PIXELS_OF_TICK));
}

void sp_panel_draw_y(struct sp_svg *svg, const struct sp_panel *panel) {
    const struct sp_box *box = &panel->box;
    const struct sp_axis *axis = &panel->y;
    double right = box->left + box->width, bottom = box->top + box->height;
    for (double tick = axis->least; !is_beyond(axis, tick); tick = next_tick(axis, tick)) {
        char text[SP_QUANTITY_TEXT];
        double y = sp_panel_y(panel, tick);
        sp_svg_line(svg, tick == axis->least ? "frame" : "grid", box->left, y, right, y);
        tick_text(axis, tick, text);
        sp_svg_text(svg, "small right", box->left - 6, y + 4, "%s", text);
    }
    sp_svg_line(svg, "frame", box->left, box->top, box->left, bottom);
    if (axis->title)
        sp_svg_text(svg, "small", box->left, box->top - 10, "%s", axis->title);
}

void sp_panel_draw_x(struct sp_svg *svg, const struct sp_panel *panel) {
    const struct sp_axis *axis = &panel->x;
    double bottom = panel->box.top + panel->box.height;
    for (double tick = axis->least; !is_beyond(axis, tick); tick = next_tick(axis, tick)) {
        char text[SP_QUANTITY_TEXT];
        double x = sp_panel_x(panel, tick);
        tick_text(axis, tick, text);
        sp_svg_line(svg, "frame", x, bottom, x, bottom + 4);
        sp_svg_text(svg, "small middle", x, bottom + 16, "%s", text);
    }
    if (axis->title)
        sp_svg_text(svg, "small middle", panel->box.left + panel->box.width / 2, bottom + 32, "%s",
                    axis->title);
}

// ------------------------------------------------------------------------------ colours and shapes

const char *sp_plot_class(const char *sort, size_t index, char text[SP_CLASS_TEXT]) {
    snprintf(text, SP_CLASS_TEXT, "%s c%zu", sort, index % SP_COLOURS);
    return text;
}

// A triangle, a square, a diamond, and a triangle that stands on its tip.
void sp_plot_mark(struct sp_svg *svg, size_t index, double x, double y) {
    static const struct sp_place corners[][5] = {
        {{-4, 3}, {4, 3}, {0, -4}, {-4, 3}, {-4, 3}},
        {{-3, -3}, {3, -3}, {3, 3}, {-3, 3}, {-3, -3}},
        {{-4, 0}, {0, -4}, {4, 0}, {0, 4}, {-4, 0}},
        {{-4, -3}, {4, -3}, {0, 4}, {-4, -3}, {-4, -3}},
    };
    char class[SP_CLASS_TEXT];
    const struct sp_place *shape = corners[index % (sizeof corners / sizeof corners[0])];
    sp_svg_begin_path(svg, sp_plot_class("mark", index, class));
    for (size_t i = 0; i < 5; i++)
        sp_svg_go(svg, x + shape[i].x, y + shape[i].y);
    sp_svg_end_path(svg);
}

// ---------------------------------------------------------------------------------------- the text

static size_t characters_of(const char *text) {
    size_t count = 0;
    for (; *text; text++)
        count +=
            ((unsigned char)*text & 0xc0) != 0x80; // such a byte continues a character of UTF-8
    return count;
}

struct sp_place sp_legend_add(struct sp_svg *svg, struct sp_legend *legend, const char *format,
                              ...) {
    enum { ROW = 18, PLACE = 26, CHARACTER = 7, GAP = 18 };
    char text[2 * SP_PLOT_NAME];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    double width = PLACE + CHARACTER * (double)characters_of(text);
    if (legend->x > legend->left && legend->x + width > legend->right) {
        legend->x = legend->left;
        legend->y += ROW;
    }
    struct sp_place place = {legend->x + 10, legend->y - 4};
    sp_svg_text(svg, "legend", legend->x + PLACE, legend->y, "%s", text);
    legend->x += width + GAP;
    return place;
}

void sp_legend_line(struct sp_svg *svg, const char *class, struct sp_place place) {
    sp_svg_line(svg, class, place.x - 10, place.y, place.x + 10, place.y);
}

void sp_legend_area(struct sp_svg *svg, const char *class, struct sp_place place) {
    sp_svg_box(svg, class, &(struct sp_box){place.x - 10, place.y - 5, 20, 10});
}

const char *sp_plot_name(const char *name, char text[SP_PLOT_NAME]) {
    static const char dots[] = "…";
    size_t length = strlen(name);
    bool whole = length < SP_PLOT_NAME;
    if (!whole)
        length = SP_PLOT_NAME - sizeof dots;
    while (!whole && length > 0 && ((unsigned char)name[length] & 0xc0) == 0x80)
        length--;
    snprintf(text, SP_PLOT_NAME, "%.*s%s", (int)length, name, whole ? "" : dots);
    return text;
}
