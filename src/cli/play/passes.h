// The passes of a replay: how often its traces are played with the same pool, what is done between
// two passes, and which of them are printed.
#ifndef STREAMPOOL_CLI_PASSES_H
#define STREAMPOOL_CLI_PASSES_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>

enum { SP_PASSES_MAX = 1000 };

struct sp_passes {
    unsigned count;
    bool one_pool; // all traces are played in turn on one pool (cli/turns.h)
    bool trims;    // between two passes
    uint64_t trim_to;
    bool chosen; // not all are printed, but those of the list
    bool list[SP_PASSES_MAX + 1];
};

#define SP_PASSES_DEFAULT                                                                          \
    { .count = 1 }

// This parser has the options that fill the passes in. It is a child of a command's own parser; its
// input is the passes.
extern const struct argp sp_passes_argp;

static inline bool sp_passes_is_printed(const struct sp_passes *passes, unsigned pass) {
    return !passes->chosen || passes->list[pass];
}

#endif
