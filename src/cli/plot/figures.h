// The figures of an allocator that a plot draws over a trace, and how they stand at a moment.
// docs/replay.md says where each of them comes from.
#ifndef STREAMPOOL_CLI_FIGURES_H
#define STREAMPOOL_CLI_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

//   X(name, its name in a plot), in the order of the legend
#define SP_FIGURES(X)                                                                              \
    X(LIVE, "live")                                                                                \
    X(RESERVED, "reserved")                                                                        \
    X(PENDING, "pending")                                                                          \
    X(PINNED, "pinned")

#define SP_FIGURE_INDEX(name, text) SP_FIGURE_##name,
enum sp_figure { SP_FIGURES(SP_FIGURE_INDEX) SP_FIGURE_COUNT };
#undef SP_FIGURE_INDEX

struct sp_reading {
    bool known;
    uint64_t now;  // bytes
    uint64_t high; // the most since the pass began, or less where nobody knows
};

struct sp_figures {
    struct sp_reading of[SP_FIGURE_COUNT];
};

static inline void sp_figures_note(struct sp_figures *figures, enum sp_figure figure, uint64_t now,
                                   uint64_t high) {
    figures->of[figure] = (struct sp_reading){.known = true, .now = now, .high = high};
}

#endif
