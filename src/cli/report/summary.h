// A summary is about the starts of a trace with one allocator, in one pass. A replay with one start
// is summed up too; then all values of a spread are the same.
#ifndef STREAMPOOL_CLI_SUMMARY_H
#define STREAMPOOL_CLI_SUMMARY_H

#include "cli/play/plan.h"
#include "cli/program/times.h"
#include "cli/report/rows.h"

struct sp_summary {
    const struct sp_result **starts; // the same pass of each
    size_t start_count;
    uint64_t errors;         // of all starts
    const char *first_error; // of the first start that has one; "" without errors
};

struct sp_summaries {
    struct sp_summary *list; // in the order of the first starts
    size_t count;
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

// Returns the geometric mean of the ratios of an allocator in a pass, those of this result, over
// the traces that have one; and how many traces there are.
double sp_summaries_ratio(const struct sp_summaries *summaries, const struct sp_result *of,
                          size_t *traces);

// Returns the first start, which stands for what is the same in all of them.
static inline const struct sp_result *sp_summary_first(const struct sp_summary *summary) {
    return summary->starts[0];
}

// True when both are of the same allocator, variant and pass. Names are compared by their address.
static inline bool sp_summary_is_alike(const struct sp_summary *summary,
                                       const struct sp_result *result) {
    const struct sp_result *first = sp_summary_first(summary);
    return first->allocator == result->allocator && first->variant == result->variant &&
           first->pass == result->pass;
}

// True when none before it is of the same allocator and pass.
static inline bool sp_summary_is_first(const struct sp_summaries *summaries, size_t index) {
    size_t i = 0;
    while (!sp_summary_is_alike(&summaries->list[i], sp_summary_first(&summaries->list[index])))
        i++;
    return i == index;
}

#endif
