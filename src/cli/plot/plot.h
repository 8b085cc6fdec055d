// A plot goes from top to bottom: headings, legends, and panels with two axes. What is drawn in the
// last panel is placed by sp_plot_x() and sp_plot_y().
#ifndef STREAMPOOL_CLI_PLOT_H
#define STREAMPOOL_CLI_PLOT_H

#include "cli/plot/svg.h"

// Times are in nanoseconds. A plain axis has ticks only when it goes up.
enum sp_axis_unit { SP_AXIS_PLAIN, SP_AXIS_COUNT, SP_AXIS_BYTES, SP_AXIS_TIME };

struct sp_axis {
    enum sp_axis_unit unit;
    double least, most; // at its ends; least is 0: it is linear
    double step;        // from tick to tick; is multiplied where it is logarithmic
    const char *title;  // null: it has none
};

// Returns an axis from 0 to a multiple of its step, with so many ticks at most. Steps are 1, 2 or 5
// with zeros, in the unit of the axis.
struct sp_axis sp_axis_linear(enum sp_axis_unit unit, double most, double ticks, const char *title);

// Returns one between these values, which are above 0, with a tick at each multiple; or one between
// the whole decades around them.
struct sp_axis sp_axis_logarithmic(enum sp_axis_unit unit, double least, double most,
                                   double multiple, const char *title);
struct sp_axis sp_axis_decades(enum sp_axis_unit unit, double least, double most,
                               const char *title);

struct sp_plot {
    struct sp_svg svg;
    const char *path;
    double width;      // of panels and legends
    double x, y;       // where the next item of a legend, and what comes below it, begins
    struct sp_box box; // of the panel
    struct sp_axis across, up;
};

// Begin and end a plot, as its picture. The second line of the head is small.
enum { SP_PLOT_LEFT = 84 };
bool sp_plot_begin(struct sp_plot *plot, const char *path, double width, const char *title,
                   const char *second);
bool sp_plot_end(struct sp_plot *plot);

// Write a line of text, and the items of a legend in as many lines as they need. In front of an
// item stands a piece of line ("line", "dashed"), an area ("area", "bar"), or a mark ("mark").
void sp_plot_text(struct sp_plot *plot, const char *class, const char *text);
void sp_plot_legend(struct sp_plot *plot, const char *what, size_t colour, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// Begins a panel below the legend, in a group that says where it lies, and draws its axes. The
// panel's end is sp_svg_end_group().
void sp_plot_panel(struct sp_plot *plot, double height, const struct sp_axis *across,
                   const struct sp_axis *up);
double sp_plot_x(const struct sp_plot *plot, double value);
double sp_plot_y(const struct sp_plot *plot, double value);

// So many ticks have room on an axis of this height.
static inline double sp_plot_ticks(double height) {
    return height / 28;
}

// Draws a small mark, whose shape goes with the colour.
void sp_plot_mark(struct sp_plot *plot, size_t colour, double x, double y);

#endif
