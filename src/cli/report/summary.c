#include "cli/report/summary.h"

#include <stdlib.h>

// ----------------------------------------------------------------------------------------- figures

// A function of this type returns a figure of a result as a number; the index is that of a
// statistic.
typedef double figure(const struct sp_result *result, size_t index);

static double ratio_of(const struct sp_result *result, size_t index) {
    (void)index;
    if (result->live_peak_bytes == 0)
        return 0;
    return (double)result->reserved_peak_bytes / (double)result->live_peak_bytes;
}

static double total_of(const struct sp_result *result, size_t index) {
    (void)index;
    return (double)result->total_ns;
}

static double modelled_of(const struct sp_result *result, size_t index) {
    (void)index;
    return (double)result->modelled_ns;
}

static double measured_of(const struct sp_result *result, size_t index) {
    (void)index;
    return (double)sp_result_measured_ns(result);
}

static double malloc_max_of(const struct sp_result *result, size_t index) {
    (void)index;
    return (double)result->malloc_ns.max;
}

static double end_to_end_of(const struct sp_result *result, size_t index) {
    (void)index;
    return (double)result->end_to_end_ns;
}

static double statistic_of(const struct sp_result *result, size_t index) {
    return (double)result->statistics.values[index];
}

static struct sp_spread spread_of(const struct sp_summary *summary, double *values,
                                  figure *figure_of, size_t index) {
    for (size_t i = 0; i < summary->start_count; i++)
        values[i] = figure_of(summary->starts[i], index);
    return sp_spread_of(values, summary->start_count);
}

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

static void sum_up(struct sp_summary *summary, double *values) {
    count_errors(summary);
    summary->ratio = spread_of(summary, values, ratio_of, 0);
    summary->total_ns = spread_of(summary, values, total_of, 0);
    summary->modelled_ns = spread_of(summary, values, modelled_of, 0);
    summary->measured_ns = spread_of(summary, values, measured_of, 0);
    summary->malloc_max_ns = spread_of(summary, values, malloc_max_of, 0);
    summary->end_to_end_ns = spread_of(summary, values, end_to_end_of, 0);
    for (size_t i = 0; i < SP_STATISTIC_COUNT; i++)
        summary->statistics[i] = spread_of(summary, values, statistic_of, i);
}

static void sum_up_all(struct sp_summaries *summaries, const struct sp_result *results,
                       size_t count) {
    const struct sp_result **starts = summaries->starts;
    for (size_t i = 0; i < count; i++) {
        if (results[i].start != 1)
            continue;
        struct sp_summary *summary = &summaries->list[summaries->count++];
        summary->starts = starts;
        gather(summary, &results[i], results + count);
        starts += summary->start_count;
        sum_up(summary, summaries->values);
    }
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

static size_t gather_ratios(const struct sp_summaries *summaries,
                            const struct sp_overall *overall) {
    size_t traces = 0;
    for (size_t i = 0; i < summaries->count; i++)
        if (is_of(&summaries->list[i], overall))
            summaries->values[traces++] = summaries->list[i].ratio.median;
    return traces;
}

static void average_traces(struct sp_summaries *summaries) {
    for (size_t i = 0; i < summaries->count; i++) {
        const struct sp_result *first = sp_summary_first(&summaries->list[i]);
        struct sp_overall overall = {.allocator = first->allocator, .pass = first->pass};
        if (first->turn > 0 || is_known(summaries, &summaries->list[i]))
            continue;
        size_t traces = gather_ratios(summaries, &overall);
        if (traces < 2)
            continue;
        overall.ratio = sp_geometric_mean(summaries->values, traces);
        summaries->overall[summaries->overall_count++] = overall;
    }
}

// -------------------------------------------------------------------------------- open and release

bool sp_summaries_open(struct sp_summaries *summaries, const struct sp_result *results,
                       size_t count) {
    *summaries = (struct sp_summaries){
        .list = calloc(count, sizeof *summaries->list),
        .overall = calloc(count, sizeof *summaries->overall),
        .starts = calloc(count, sizeof *summaries->starts),
        .values = calloc(count, sizeof *summaries->values),
    };
    if (!summaries->list || !summaries->overall || !summaries->starts || !summaries->values) {
        sp_summaries_release(summaries);
        return false;
    }
    sum_up_all(summaries, results, count);
    average_traces(summaries);
    return true;
}

void sp_summaries_release(struct sp_summaries *summaries) {
    free(summaries->list);
    free(summaries->overall);
    free(summaries->starts);
    free(summaries->values);
}

// ------------------------------------------------------------------------------- what is printed

bool sp_summaries_choose(struct sp_summaries *chosen, const struct sp_summaries *summaries,
                         const struct sp_passes *passes) {
    *chosen = (struct sp_summaries){
        .list = calloc(summaries->count + 1, sizeof *chosen->list),
        .overall = calloc(summaries->overall_count + 1, sizeof *chosen->overall),
        .starts = summaries->starts,
        .values = summaries->values,
    };
    if (!chosen->list || !chosen->overall) {
        sp_summaries_forget(chosen);
        return false;
    }
    for (size_t i = 0; i < summaries->count; i++)
        if (sp_passes_is_printed(passes, sp_summary_first(&summaries->list[i])->pass))
            chosen->list[chosen->count++] = summaries->list[i];
    for (size_t i = 0; i < summaries->overall_count; i++)
        if (sp_passes_is_printed(passes, summaries->overall[i].pass))
            chosen->overall[chosen->overall_count++] = summaries->overall[i];
    return true;
}

void sp_summaries_forget(struct sp_summaries *chosen) {
    free(chosen->list);
    free(chosen->overall);
}
