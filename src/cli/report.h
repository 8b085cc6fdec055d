// The results of replays: one table for people, printed whole when all replays are done, and a list for
// programs.
#ifndef STREAMPOOL_CLI_REPORT_H
#define STREAMPOOL_CLI_REPORT_H

#include "cli/json.h"
#include "cli/player.h"

#include <stdio.h>

// One line about the device and the driver, and on a simulated one a line that says what its times are.
void sp_report_device(FILE *out, const struct sp_device *device, enum sp_time_base base);

// The table, and a line for each pass that had errors. The column `pass` is there when there is more than one
// pass, and `busy` and `end to end` when there was work. False without host memory.
bool sp_report_print(FILE *out, const struct sp_result *results, size_t count);

// The same as a list of objects; those of passes with work have two keys more. docs/replay.md has the keys.
struct sp_json_list sp_report_list(const struct sp_result *results, size_t count);

#endif
