// Results that a replay wrote as JSON earlier, here or on another machine, read again.
#ifndef STREAMPOOL_CLI_RECORDED_H
#define STREAMPOOL_CLI_RECORDED_H

#include "cli/play/player.h"

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

#endif
