// A report shows the results of replays: as one table for people, printed whole when all replays
// are done, and as a list for programs.
#ifndef STREAMPOOL_CLI_REPORT_H
#define STREAMPOOL_CLI_REPORT_H

#include "cli/report/summary.h"

// Prints a line about the device and the driver, and on the simulated one a line that says which
// clock the times are of.
void sp_report_device(const struct sp_page *page, const struct sp_device *device,
                      enum sp_time_base base);

// Prints the table of replays with one start: the columns of a table that the results have, and on
// a wide page all. The last rows have the geometric means of the ratios over the traces when there
// is more than one. False without host memory.
bool sp_report_print(const struct sp_page *page, const struct sp_rows *rows,
                     const struct sp_summaries *summaries);

// Prints the rows of replays with several starts likewise: the medians of their figures, and where
// some of these lie. False without host memory.
bool sp_report_print_starts(const struct sp_page *page, const struct sp_summaries *summaries);

// Prints a line for each summary that had errors.
void sp_report_print_errors(const struct sp_page *page, const struct sp_summaries *summaries);

// Prints a table for each summary whose allocator keeps statistics, one figure a line. False
// without host memory.
bool sp_report_print_statistics(const struct sp_page *page, const struct sp_summaries *summaries);

// Prints a table of the peaks at other places than the device, where there are any. False without
// host memory.
bool sp_report_print_places(const struct sp_page *page, const struct sp_summaries *summaries);

// Returns the words for a cause, which follow "what is free is"; null behind the last one.
const char *sp_growth_words(size_t cause);

// Prints a table for each trace, allocator and pass that had growths: how many there were by each
// cause, and what they mapped, on average of the starts. Then a line for each growth. False without
// host memory.
bool sp_growths_report_print(const struct sp_page *page, const struct sp_growths *growths,
                             const struct sp_summaries *summaries);

// Adds the growths of a result as the list `growths`. docs/replay.md has the keys. False without
// host memory.
bool sp_growths_report_add(cJSON *object, const struct sp_result *result);

// Writes the results of replays with one start, or the summaries of replays with several, which
// have the results in them, as sp_json_write() does. docs/replay.md has the keys.
bool sp_report_write(const char *path, const struct sp_summaries *summaries, bool several_starts);

#endif
