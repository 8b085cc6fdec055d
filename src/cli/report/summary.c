#include "cli/report/summary.h"

#include <math.h>
#include <stdlib.h>

// -------------------------------------------------------------------------------------- the starts

// The starts of a replay come in their order, with those of other allocators between them. Names
// are compared by their address: the same file may be there twice, as two traces.
static void gather(struct sp_summary *summary, const struct sp_result *first,
                   const struct sp_result *end) {
    summary->first_error = "";
    for (const struct sp_result *result = first; result < end; result++) {
        if (result->trace != first->trace || result->allocator != first->allocator ||
            result->variant != first->variant || result->pass != first->pass)
            continue;
        summary->starts[summary->start_count++] = result;
        if (summary->errors == 0 && result->errors > 0)
            summary->first_error = result->first_error;
        summary->errors += result->errors;
    }
}

static void sum_up(struct sp_summaries *summaries, const struct sp_result *results, size_t count,
                   const struct sp_passes *passes) {
    const struct sp_result **starts = summaries->starts;
    for (size_t i = 0; i < count; i++) {
        if (results[i].start != 1 || (passes && !sp_passes_is_printed(passes, results[i].pass)))
            continue;
        struct sp_summary *summary = &summaries->list[summaries->count++];
        summary->starts = starts;
        gather(summary, &results[i], results + count);
        starts += summary->start_count;
    }
}

struct sp_spread sp_summary_spread(const struct sp_summaries *summaries,
                                   const struct sp_summary *summary, const struct sp_row *row) {
    for (size_t i = 0; i < summary->start_count; i++)
        summaries->values[i] = sp_row_number(row, summary->starts[i]);
    return sp_spread_of(summaries->values, summary->start_count);
}

double sp_summaries_ratio(const struct sp_summaries *summaries, const struct sp_result *of,
                          size_t *traces) {
    double logarithms = 0;
    size_t positive = 0;
    *traces = 0;
    for (size_t i = 0; i < summaries->count; i++) {
        const struct sp_summary *summary = &summaries->list[i];
        if (!sp_summary_is_alike(summary, of))
            continue;
        double ratio = sp_summary_spread(summaries, summary, sp_row_of_spread("ratio")).median;
        logarithms += ratio > 0 ? log(ratio) : 0;
        positive += ratio > 0;
        ++*traces;
    }
    return positive > 0 ? exp(logarithms / (double)positive) : 0;
}

// -------------------------------------------------------------------------------- open and release

bool sp_summaries_open(struct sp_summaries *summaries, const struct sp_result *results,
                       size_t count, const struct sp_passes *passes) {
    *summaries = (struct sp_summaries){
        .list = calloc(count + 1, sizeof *summaries->list),
        .starts = calloc(count + 1, sizeof *summaries->starts),
        .values = calloc(count + 1, sizeof *summaries->values),
    };
    if (summaries->list && summaries->starts && summaries->values) {
        sum_up(summaries, results, count, passes);
        return true;
    }
    sp_summaries_release(summaries);
    return false;
}

void sp_summaries_release(struct sp_summaries *summaries) {
    free(summaries->list);
    free(summaries->starts);
    free(summaries->values);
}
