// A summary is about the starts of a trace with one allocator, in one pass. A replay with one start
// is summed up too; then all values of a spread are the same.
#ifndef STREAMPOOL_CLI_SUMMARY_H
#define STREAMPOOL_CLI_SUMMARY_H

#include "cli/play/passes.h"
#include "cli/program/spread.h"
#include "cli/report/rows.h"

struct sp_summary {
    const struct sp_result **starts; // the same pass of each
    size_t start_count;
    uint64_t errors;         // of all starts
    const char *first_error; // of the first start that has one; "" without errors
};

// This is the mean ratio of an allocator in a pass, over all traces. Traces that take turns on one
// pool have none, for each ratio is that of the whole pool.
struct sp_overall {
    const char *allocator;
    unsigned pass;
    double ratio; // the geometric mean of the medians of the ratios
};

struct sp_summaries {
    struct sp_summary *list; // in the order of the first starts
    size_t count;
    struct sp_overall *overall; // for each allocator and pass that has more than one trace
    size_t overall_count;
    const struct sp_result **starts; // of all summaries, one after the other
    double *values;                  // room for a value of each result
};

// Sums up results in the order in which they were played, or, with passes, those that are printed.
// The results outlive the summaries. False without host memory; then there is nothing to release.
bool sp_summaries_open(struct sp_summaries *summaries, const struct sp_result *results,
                       size_t count, const struct sp_passes *passes);
void sp_summaries_release(struct sp_summaries *summaries);

// Returns where the figures of the starts lie.
struct sp_spread sp_summary_spread(const struct sp_summaries *summaries,
                                   const struct sp_summary *summary, const struct sp_row *row);

// Returns the first start, which stands for what is the same in all of them.
static inline const struct sp_result *sp_summary_first(const struct sp_summary *summary) {
    return summary->starts[0];
}

#endif
