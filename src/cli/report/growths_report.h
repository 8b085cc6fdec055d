// Prints explained growths, and writes them as JSON.
#ifndef STREAMPOOL_CLI_GROWTHS_REPORT_H
#define STREAMPOOL_CLI_GROWTHS_REPORT_H

#include "cli/report/summary.h"

// Prints a table for each trace, allocator and pass that had growths: how many there were by each
// cause, and what they mapped, on average of the starts. Then a line for each growth. False without
// host memory.
bool sp_growths_report_print(const struct sp_page *page, const struct sp_growths *growths,
                             const struct sp_summaries *summaries);

// Adds the growths of a result as the list `growths`. docs/replay.md has the keys. False without
// host memory.
bool sp_growths_report_add(cJSON *object, const struct sp_result *result);

#endif
