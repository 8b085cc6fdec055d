// A progress bar on standard error: drawn only where that is a terminal, and wiped before anything
// else is printed.
#ifndef STREAMPOOL_CLI_PROGRESS_H
#define STREAMPOOL_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

struct sp_progress {
    bool visible;
    size_t total;
    size_t done;
    unsigned percent;  // that is drawn
    const char *label; // what is being done
};

struct sp_progress sp_progress_begin(size_t total);
void sp_progress_label(struct sp_progress *progress, const char *label);

// Draws only when the whole percentage has changed.
void sp_progress_add(struct sp_progress *progress, size_t amount);
void sp_progress_end(struct sp_progress *progress);

#endif
