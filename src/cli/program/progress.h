// A line on standard error that says how far long work is, and how long the rest takes: drawn only
// where that is a terminal, and wiped before anything else is printed.
#ifndef STREAMPOOL_CLI_PROGRESS_H
#define STREAMPOOL_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Work has tasks, of which one is done at a time, each of some amount.
struct sp_progress {
    bool visible;
    size_t tasks, task; // how many, and which is being done, from 1
    const char *label;  // its name
    size_t total, done; // amounts
    unsigned percent;   // that is drawn
    uint64_t begin;     // by the clock
};

struct sp_progress sp_progress_begin(size_t tasks, size_t total);

// Begins the next task.
void sp_progress_next(struct sp_progress *progress, const char *label);

// Says that so many tasks, of this amount together, are not to be done after all.
void sp_progress_skip(struct sp_progress *progress, size_t tasks, size_t amount);

// Adds to what is done. Draws only when the whole percentage has changed.
void sp_progress_add(struct sp_progress *progress, size_t amount);
void sp_progress_end(struct sp_progress *progress);

#endif
