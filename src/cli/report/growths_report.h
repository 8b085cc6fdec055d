// Prints explained growths, and writes them as JSON.
#ifndef STREAMPOOL_CLI_GROWTHS_REPORT_H
#define STREAMPOOL_CLI_GROWTHS_REPORT_H

#include "cli/play/growths.h"
#include "cli/program/json.h"
#include "cli/report/summary.h"

#include <stdio.h>

// Prints a table with a row for each trace, allocator and pass: how much its growths mapped, and
// what was free at the last of them for a large block, in medians of the starts. Then a line for
// each growth. False without host memory.
bool sp_growths_report_print(FILE *out, const struct sp_growths *growths,
                             const struct sp_summaries *summaries);

// Adds the growths of a result as the list `growths`. docs/replay.md has the keys. False without
// host memory.
bool sp_growths_report_add(cJSON *object, const struct sp_result *result);

#endif
