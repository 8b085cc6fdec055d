#include "cli/report/summary.h"

#include <stdlib.h>

// -------------------------------------------------------------------------------------- the starts

// Names are compared by their address: the same file may be there twice, as two traces.
static bool is_same_replay(const struct sp_result *a, const struct sp_result *b) {
    return a->trace == b->trace && a->allocator == b->allocator;
}

// The starts of a replay come in their order, with those of other allocators between them.
static void gather(struct sp_summary *summary, const struct sp_result *first,
                   const struct sp_result *end) {
    for (const struct sp_result *result = first; result < end; result++)
        if (is_same_replay(first, result) && result->pass == first->pass)
            summary->starts[summary->start_count++] = result;
}

static void count_errors(struct sp_summary *summary) {
    summary->first_error = "";
    for (size_t i = 0; i < summary->start_count; i++) {
        const struct sp_result *result = summary->starts[i];
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
        count_errors(summary);
        starts += summary->start_count;
    }
}

struct sp_spread sp_summary_spread(const struct sp_summaries *summaries,
                                   const struct sp_summary *summary, const struct sp_row *row) {
    for (size_t i = 0; i < summary->start_count; i++)
        summaries->values[i] = sp_row_number(row, summary->starts[i]);
    return sp_spread_of(summaries->values, summary->start_count);
}

// -------------------------------------------------------------------------------------- all traces

static bool is_of(const struct sp_summary *summary, const struct sp_overall *overall) {
    const struct sp_result *first = sp_summary_first(summary);
    return first->allocator == overall->allocator && first->pass == overall->pass;
}

static bool is_known(const struct sp_summaries *summaries, const struct sp_summary *summary) {
    size_t i = 0;
    while (i < summaries->overall_count && !is_of(summary, &summaries->overall[i]))
        i++;
    return i < summaries->overall_count;
}

// Returns how many traces there are, whose mean is then in the overall ratio.
static size_t average(const struct sp_summaries *summaries, struct sp_overall *overall,
                      double *ratios) {
    size_t traces = 0;
    for (size_t i = 0; i < summaries->count; i++)
        if (is_of(&summaries->list[i], overall))
            ratios[traces++] =
                sp_summary_spread(summaries, &summaries->list[i], sp_row_ratio).median;
    overall->ratio = sp_geometric_mean(ratios, traces);
    return traces;
}

static bool average_traces(struct sp_summaries *summaries) {
    double *ratios = calloc(summaries->count + 1, sizeof *ratios);
    for (size_t i = 0; ratios && i < summaries->count; i++) {
        const struct sp_result *first = sp_summary_first(&summaries->list[i]);
        struct sp_overall overall = {.allocator = first->allocator, .pass = first->pass};
        if (first->turn == 0 && !is_known(summaries, &summaries->list[i]) &&
            average(summaries, &overall, ratios) > 1)
            summaries->overall[summaries->overall_count++] = overall;
    }
    free(ratios);
    return ratios != NULL;
}

// -------------------------------------------------------------------------------- open and release

bool sp_summaries_open(struct sp_summaries *summaries, const struct sp_result *results,
                       size_t count, const struct sp_passes *passes) {
    *summaries = (struct sp_summaries){
        .list = calloc(count + 1, sizeof *summaries->list),
        .overall = calloc(count + 1, sizeof *summaries->overall),
        .starts = calloc(count + 1, sizeof *summaries->starts),
        .values = calloc(count + 1, sizeof *summaries->values),
    };
    bool good = summaries->list && summaries->overall && summaries->starts && summaries->values;
    if (good)
        sum_up(summaries, results, count, passes);
    if (good && average_traces(summaries))
        return true;
    sp_summaries_release(summaries);
    return false;
}

void sp_summaries_release(struct sp_summaries *summaries) {
    free(summaries->list);
    free(summaries->overall);
    free(summaries->starts);
    free(summaries->values);
}
