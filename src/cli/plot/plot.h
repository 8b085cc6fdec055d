// All plots are made of panels: one shows a series as lines over the operations of its trace.
#ifndef STREAMPOOL_CLI_PLOT_H
#define STREAMPOOL_CLI_PLOT_H

#include "cli/plot/series.h"
#include "cli/plot/svg.h"

struct sp_panel {
    const struct sp_series *series;
    enum sp_figure first, last; // that are drawn, and those between them
    struct sp_box box;          // of the lines
    uint64_t top;               // bytes, at the upper edge of the box; 0 is at the lower one
};

// Returns the top for a panel of this height of which so many bytes are the most: a multiple of the
// step of its ticks. Panels that are to be compared get the same one.
uint64_t sp_plot_top(uint64_t peak, double height);

// Draws the frame, the grid with the units of its ticks, and what is known of the panel's figures:
// a band from the least to the most of each column, an area with that band at its top, or points.
void sp_plot_panel(struct sp_svg *svg, const struct sp_panel *panel);

// Draws the ticks of operations under a panel.
void sp_plot_operations_axis(struct sp_svg *svg, const struct sp_panel *panel);

// Draws a dashed line where each pass but the first begins, with its number.
void sp_plot_passes(struct sp_svg *svg, const struct sp_panel *panel);

// Writes a legend from here to the right: each figure with its peak, and what isn't known.
void sp_plot_legend(struct sp_svg *svg, const struct sp_series *series, double x, double y);

// Draws what stands for a figure in a legend, 20 pixels wide, on the line of a text.
void sp_plot_swatch(struct sp_svg *svg, enum sp_figure figure, double x, double y);

// Makes a name short enough for a heading, in a buffer of SP_PLOT_NAME bytes.
enum { SP_PLOT_NAME = 80 };
const char *sp_plot_name(const char *name, char text[SP_PLOT_NAME]);

#endif
