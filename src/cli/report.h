// The results of replays for people: one table, printed whole when all replays are done.
#ifndef STREAMPOOL_CLI_REPORT_H
#define STREAMPOOL_CLI_REPORT_H

#include "cli/player.h"

#include <stdio.h>

// One line about the device and the driver, the table, and a line for each pass that had errors. The column
// `pass` is there when there is more than one pass. False without host memory.
bool sp_report_print(FILE *out, const struct sp_device *device, const struct sp_result *results,
                     size_t count);

#endif
