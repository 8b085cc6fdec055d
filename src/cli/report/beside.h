// Recorded results are printed beside those of a replay, and compared with them.
#ifndef STREAMPOOL_CLI_BESIDE_H
#define STREAMPOOL_CLI_BESIDE_H

#include "cli/report/recorded.h"
#include "cli/report/summary.h"

// Prints where and when the results were recorded, those of these allocators that are of the same
// traces and passes as the summaries, and what the two say of each other. Names what is not shown,
// and why. False without host memory.
bool sp_beside_print(const struct sp_page *page, const struct sp_recorded *recorded,
                     const struct sp_allocator_list *allocators, const struct sp_summaries *here);

// Returns whether a recorded result is of the same trace as one of this replay, played alike.
bool sp_beside_is_alike(const struct sp_result *recorded, const struct sp_result *here);

#endif
