// Results that a replay wrote as JSON earlier, here or on another machine, read again, printed
// beside those of this replay, and compared with them (beside.c).
#ifndef STREAMPOOL_CLI_RECORDED_H
#define STREAMPOOL_CLI_RECORDED_H

#include "cli/report/summary.h"

#include <cjson/cJSON.h>

struct sp_recorded {
    const char *path;
    cJSON *root; // the texts of the results are in it
    struct sp_result *results;
    size_t count;
    struct sp_origin origin; // of all results
};

// Reads the file that --json wrote. Statistics are left out. False when it can't be read or is not
// that, when its results have several starts, and when they are of more than one machine, driver or
// day; standard error says which. It is released in any case.
bool sp_recorded_read(struct sp_recorded *recorded, const char *path);
void sp_recorded_release(struct sp_recorded *recorded);

// Prints where and when the results were recorded, those of these allocators that are of the same
// traces and passes as the summaries, and what the two say of each other. Names what is not shown,
// and why. False without host memory.
bool sp_beside_print(const struct sp_page *page, const struct sp_recorded *recorded,
                     const struct sp_allocator_list *allocators, const struct sp_summaries *here);

// Returns whether a recorded result is of the same trace as one of this replay, played alike.
bool sp_beside_is_alike(const struct sp_result *recorded, const struct sp_result *here);

#endif
