// The parts of `streampool plot`, which draws results that were written as JSON, on this or another
// machine: those of streampool-bench as lines, and those of `streampool replay` as bars.
#ifndef STREAMPOOL_CLI_CHARTS_H
#define STREAMPOOL_CLI_CHARTS_H

#include "cli/plot/plot.h"
#include "cli/program/json.h"

// The results of all files, in their order. The list is checked: each has the keys that its picture
// needs.
enum { SP_CHARTS_WITHOUT_MAX = 16 };
struct sp_charts {
    cJSON *results;
    const char *folder;                         // for the pictures
    const char *without[SP_CHARTS_WITHOUT_MAX]; // allocators that have no bars
    size_t without_count;
    size_t drawn; // pictures so far
};

// Draw all pictures that there are results for. False when one can't be written; standard error
// says why.
bool sp_charts_draw_lines(struct sp_charts *charts);
bool sp_charts_draw_bars(struct sp_charts *charts);

// Begin a picture with its title and the device of a result; end it, write it into the folder, and
// print its path.
bool sp_charts_begin(struct sp_svg *svg, const char *title, const cJSON *result);
bool sp_charts_end(struct sp_charts *charts, struct sp_svg *svg, const char *name, double width,
                   double height, const char *title);

// Return what a result has under a key: null where it has no text, and NAN where it has no number.
const char *sp_charts_text(const cJSON *result, const char *key);
double sp_charts_number(const cJSON *result, const char *key);

// Returns the index of a name in a list, at whose end it is put when it isn't there.
size_t sp_charts_index(const char *names[], size_t *count, const char *name);

#endif
