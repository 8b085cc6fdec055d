// The picture of `streampool replay`: a panel for each trace, with what is live and what each
// allocator reserves, and below it one for each allocator that tells of its free memory.
//
// An allocator that is known by its peak alone is a dashed line, and so is a recorded result. Marks
// are at the growths of the pool, a shape and a colour for each cause.
#ifndef STREAMPOOL_CLI_REPLAY_PLOT_H
#define STREAMPOOL_CLI_REPLAY_PLOT_H

#include "cli/play/allocator.h"
#include "cli/play/player.h"
#include "cli/plot/series.h"
#include "cli/report/recorded.h"
#include "cli/trace/trace.h"

struct sp_drawn {
    struct sp_series series;
    const char *trace;
    const struct sp_allocator *allocator; // null: it could not be replayed
    const struct sp_result *result;       // of the last pass and start
    uint64_t errors;                      // calls that failed
    char title[32], note[96];             // in the legend; no title: the allocator's
};

struct sp_replay_plot {
    const char *title;
    bool compares_use; // what is live and reserved is drawn alone
    const struct sp_device *device;
    unsigned starts;
    unsigned passes;
    size_t allocator_count;
    const struct sp_growths *growths;   // of all traces and allocators
    const struct sp_recorded *recorded; // of which these allocators are drawn
    const struct sp_allocator_list *beside;
    struct sp_drawn *list; // for each trace the allocators; null: nothing is drawn
    size_t count;
};

// Makes a series for each trace and allocator; the fields before the list are the caller's. False
// without host memory, which it says on standard error; then there is nothing to release.
bool sp_replay_plot_open(struct sp_replay_plot *plot, const struct sp_traces *traces);
void sp_replay_plot_release(struct sp_replay_plot *plot);

// Returns what is drawn of a trace, by its name's address, with the allocator of this index; null
// where nothing is.
struct sp_drawn *sp_replay_plot_at(const struct sp_replay_plot *plot, const char *trace,
                                   size_t allocator);

// Writes the picture to a file as sp_output_write() does. False when that fails; standard error
// says why.
bool sp_replay_plot_write(const char *path, const struct sp_replay_plot *plot);

#endif
