// Why nothing of a program was served.
#ifndef STREAMPOOL_CLI_RUN_REASON_H
#define STREAMPOOL_CLI_RUN_REASON_H

#include "cli/run/run.h"
#include "cli/run/run_reports.h"

enum { SP_RUN_REASON_TEXT = 512 };

// Says why, as well as that can be known, into the text: a sentence.
void sp_run_reason(const struct sp_run_request *request, const struct sp_run_reports *reports,
                   char text[SP_RUN_REASON_TEXT]);

#endif
