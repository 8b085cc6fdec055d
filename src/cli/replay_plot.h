// The picture of `streampool replay`: a panel for each trace and allocator, one below the other.
// Panels of one trace have the same scale.
#ifndef STREAMPOOL_CLI_REPLAY_PLOT_H
#define STREAMPOOL_CLI_REPLAY_PLOT_H

#include "cli/device.h"
#include "cli/series.h"

struct sp_drawn {
    struct sp_series series;
    const char *trace;
    const char *allocator; // null: it could not be replayed
    uint64_t errors;       // calls that failed
};

struct sp_replay_plot {
    const struct sp_device *device;
    unsigned starts;
    struct sp_drawn *list; // those of a trace stand side by side
    size_t count;
};

// Writes the picture to a file as sp_output_write() does. False when that fails; standard error
// says why.
bool sp_replay_plot_write(const char *path, const struct sp_replay_plot *plot);

#endif
