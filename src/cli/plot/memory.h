// A panel of a trace: what is live, and what each holder has reserved meanwhile. A holder of which
// only the peak is known is a dashed line.
#ifndef STREAMPOOL_CLI_MEMORY_H
#define STREAMPOOL_CLI_MEMORY_H

#include "cli/plot/series.h"

struct sp_holder {
    const char *name; // for scripts
    const char *title;
    const char *note;               // behind its peak
    const struct sp_series *series; // null: it has no part in what is live, and a peak alone
    uint64_t peak;
    uint64_t errors; // calls that failed
    size_t colour;
};

// Write the legend, and draw the panel, which sp_svg_end_group() ends. There is a holder with a
// series.
void sp_memory_legend(struct sp_plot *plot, const struct sp_holder holders[], size_t count);
void sp_memory_panel(struct sp_plot *plot, const struct sp_holder holders[], size_t count);

#endif
