// What all plots are made of: panels with two axes, a legend, and marks. An axis is linear from 0,
// or logarithmic.
#ifndef STREAMPOOL_CLI_PLOT_H
#define STREAMPOOL_CLI_PLOT_H

#include "cli/plot/svg.h"

#include <stddef.h>

// Bytes have ticks in powers of 1024, nanoseconds in s, ms and so on.
enum sp_axis_unit { SP_AXIS_COUNT, SP_AXIS_SHARE, SP_AXIS_BYTES, SP_AXIS_TIME };

struct sp_axis {
    enum sp_axis_unit unit;
    double least, most; // at its ends; least is 0: it is linear
    double step;        // from tick to tick: is added, or multiplied where it is logarithmic
    const char *title;  // null: it has none
};

// Returns an axis from 0 to a multiple of its step. So many ticks are the most that it has room
// for. Steps are 1, 2 or 5 with zeros, in the unit of the axis.
struct sp_axis sp_axis_linear(enum sp_axis_unit unit, double most, double ticks, const char *title);

// Returns one between these values, which are above 0, with a tick at each multiple; or one between
// whole decades around them.
struct sp_axis sp_axis_logarithmic(enum sp_axis_unit unit, double least, double most,
                                   double multiple, const char *title);
struct sp_axis sp_axis_decades(enum sp_axis_unit unit, double least, double most,
                               const char *title);

struct sp_panel {
    struct sp_box box; // of what is drawn; ticks and titles stand around it
    struct sp_axis x, y;
};

double sp_panel_x(const struct sp_panel *panel, double value);
double sp_panel_y(const struct sp_panel *panel, double value);

// How many ticks an upright axis of this height has room for.
double sp_panel_ticks(double height);

// Draw an axis: a grid line and a text for each tick of y, with the title above them; a dash and a
// text for each of x, with the title below.
void sp_panel_draw_y(struct sp_svg *svg, const struct sp_panel *panel);
void sp_panel_draw_x(struct sp_svg *svg, const struct sp_panel *panel);

// Returns the class of what is the index-th of its sort: "bar c2" for the third "bar". There are
// eight colours.
enum { SP_COLOURS = 8, SP_CLASS_TEXT = 32 };
const char *sp_plot_class(const char *sort, size_t index, char text[SP_CLASS_TEXT]);

// Draws a small mark of the index-th colour and shape; no two of the first eight are alike.
void sp_plot_mark(struct sp_svg *svg, size_t index, double x, double y);

// A legend's items follow each other, in as many rows as they need. What comes below it can begin
// at y + 10.
struct sp_legend {
    double left, right;
    double x, y; // where the next item begins
};

static inline struct sp_legend sp_legend_at(double left, double right, double y) {
    return (struct sp_legend){left, right, left, y};
}

// Writes an item's text, and returns the middle of the place in front of it, 20 pixels wide and 10
// high, for a piece of what it names.
struct sp_place {
    double x, y;
};
struct sp_place sp_legend_add(struct sp_svg *svg, struct sp_legend *legend, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Draw such a piece.
void sp_legend_line(struct sp_svg *svg, const char *class, struct sp_place place);
void sp_legend_area(struct sp_svg *svg, const char *class, struct sp_place place);

// Makes a name short enough for a heading, in a buffer of SP_PLOT_NAME bytes.
enum { SP_PLOT_NAME = 80 };
const char *sp_plot_name(const char *name, char text[SP_PLOT_NAME]);

#endif
