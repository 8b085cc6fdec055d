// The recorded results that are shown get the names of this replay's traces and of the program's
// allocators, so that names are compared by their address from there on, as in summary.h.
#include "cli/report/recorded.h"

#include "cli/program/utf8.h"
#include "cli/report/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------- what is shown

static const struct sp_allocator *allocator_of(const struct sp_allocator_list *allocators,
                                               const char *name) {
    for (size_t i = 0; i < allocators->count; i++)
        if (strcmp(allocators->items[i]->name, name) == 0)
            return allocators->items[i];
    return NULL;
}

// The file has the name as UTF-8.
static bool is_name_of(const char *recorded, const char *trace) {
    char *valid = sp_utf8_of(trace);
    bool same = valid && strcmp(valid, recorded) == 0;
    free(valid);
    return same;
}

// Returns a result of this replay, of the same trace and pass; null when there is none.
static const struct sp_result *counterpart(const struct sp_summaries *here,
                                           const struct sp_result *recorded) {
    for (size_t i = 0; i < here->count; i++) {
        const struct sp_result *result = sp_summary_first(&here->list[i]);
        if (result->pass == recorded->pass && is_name_of(recorded->trace, result->trace))
            return result;
    }
    return NULL;
}

// Returns why a recorded result can't be compared with one of the same name; null when it can.
static const char *why_not(const struct sp_result *recorded, const struct sp_result *here) {
    if (recorded->operations != here->operations || recorded->streams != here->streams)
        return "it was recorded from another trace of that name";
    if ((recorded->work_ns > 0) != (here->work_ns > 0))
        return recorded->work_ns > 0 ? "it was recorded with work on the streams"
                                     : "it was recorded without work on the streams";
    return NULL;
}

bool sp_beside_is_alike(const struct sp_result *recorded, const struct sp_result *here) {
    return is_name_of(recorded->trace, here->trace) && !why_not(recorded, here);
}

static bool is_among(const struct sp_result *results, size_t count,
                     const struct sp_result *wanted) {
    for (size_t i = 0; i < count; i++)
        if (results[i].trace == wanted->trace && results[i].allocator == wanted->allocator &&
            results[i].pass == wanted->pass)
            return true;
    return false;
}

// Puts the results that are shown into `chosen`, each once, and returns how many there are. Prints
// which of these allocators and traces are left out, and why.
static size_t choose(const struct sp_page *page, const struct sp_recorded *recorded,
                     const struct sp_allocator_list *allocators, const struct sp_summaries *here,
                     struct sp_result *chosen) {
    size_t count = 0;
    for (size_t i = 0; i < recorded->count; i++) {
        struct sp_result result = recorded->results[i];
        const struct sp_allocator *allocator = allocator_of(allocators, result.allocator);
        const struct sp_result *other = allocator ? counterpart(here, &result) : NULL;
        if (!other)
            continue;
        const char *reason = why_not(&result, other);
        result.trace = other->trace;
        result.allocator = allocator->name;
        if (reason)
            sp_page_say(page, "%s, %s, pass %u: not shown: %s\n", result.trace, allocator->title,
                        result.pass, reason);
        else if (!is_among(chosen, count, &result))
            chosen[count++] = result;
    }
    return count;
}

// ------------------------------------------------------------------------------------- conclusions

// Sums over the traces that both sides replayed without errors.
struct comparison {
    const struct sp_summaries *here, *there;
    const struct sp_result *first; // any result of the side here
    size_t traces;
    double ratio_here, ratio_there, time; // logarithms
    double ns_here, ns_there;
    bool same_clock;
};

// The time of a result that has nothing to do with the machine that runs the simulated driver.
static const char *time_of(const struct sp_result *result) {
    return result->base == SP_TIME_OF_MODEL_AND_HOST ? "driver_calls_modelled_ns" : "total_ns";
}

static double median(const struct sp_summaries *summaries, const struct sp_summary *summary,
                     const char *spread_key) {
    return sp_summary_spread(summaries, summary, sp_row_of_spread(spread_key)).median;
}

static void add(struct comparison *comparison, const struct sp_summary *here,
                const struct sp_summary *there) {
    const struct sp_result *a = sp_summary_first(here), *b = sp_summary_first(there);
    double ratio_here = median(comparison->here, here, "ratio");
    double ratio_there = median(comparison->there, there, "ratio");
    double ns_here = median(comparison->here, here, time_of(a));
    double ns_there = median(comparison->there, there, time_of(b));
    if (a->trace != b->trace || here->errors > 0 || there->errors > 0 || ratio_here <= 0 ||
        ratio_there <= 0)
        return;
    comparison->traces++;
    comparison->ratio_here += log(ratio_here);
    comparison->ratio_there += log(ratio_there);
    comparison->time += log(ns_here / ns_there);
    comparison->ns_here += ns_here;
    comparison->ns_there += ns_there;
    comparison->same_clock =
        strcmp(a->device, b->device) == 0 && strcmp(time_of(a), time_of(b)) == 0;
}

// Times of two devices are not compared, nor those of this machine with a GPU's.
static void conclude_times(const struct sp_page *page, const struct comparison *comparison,
                           const char *other) {
    char here[SP_QUANTITY_TEXT], there[SP_QUANTITY_TEXT];
    const char *title = sp_allocator_title(comparison->first->allocator);
    bool modelled = comparison->first->base == SP_TIME_OF_MODEL_AND_HOST;
    if (comparison->same_clock && isfinite(comparison->time)) // some take no time
        sp_page_say(page,
                    "%s of %s take %.3g times as long as those of %s took in the recording.\n",
                    modelled ? "The driver calls, modelled," : "The calls", title,
                    exp(comparison->time / (double)comparison->traces), other);
    else if (modelled && !comparison->same_clock)
        sp_page_say(page,
                    "On an H200 the driver calls of %s take %s together, by the model, and its own "
                    "instructions come to that; all calls of %s took %s in the recording.\n",
                    title, sp_time_text(comparison->ns_here, here), other,
                    sp_time_text(comparison->ns_there, there));
}

static void conclude(const struct sp_page *page, const struct comparison *comparison,
                     const struct sp_allocator *recorded) {
    double traces = (double)comparison->traces;
    char means[64] = "one trace";
    if (comparison->traces == 0)
        return;
    if (comparison->traces > 1)
        snprintf(means, sizeof means, "geometric means of %zu traces", comparison->traces);
    sp_page_say(page,
                "Pass %u, %s: %s holds %.3f times what is live; in the recording, %s held %.3f "
                "times.\n",
                comparison->first->pass, means, sp_allocator_title(comparison->first->allocator),
                exp(comparison->ratio_here / traces), recorded->title,
                exp(comparison->ratio_there / traces));
    conclude_times(page, comparison, recorded->title);
}

// Compares what is alike to one result with what is alike to another.
static struct comparison compare(const struct sp_summaries *here, const struct sp_result *first,
                                 const struct sp_summaries *there, const struct sp_result *second) {
    struct comparison comparison = {.here = here, .there = there, .first = first};
    for (size_t a = 0; a < here->count; a++)
        for (size_t b = 0; b < there->count; b++)
            if (sp_summary_is_alike(&here->list[a], first) &&
                sp_summary_is_alike(&there->list[b], second))
                add(&comparison, &here->list[a], &there->list[b]);
    return comparison;
}

// cuMemAlloc holds no more than is live, so what is worth telling is what that costs beside another
// allocator of the pass. False: the result is of another one, or there is none beside it.
static bool conclude_cost(const struct sp_page *page, const struct sp_summaries *here,
                          const struct sp_result *direct) {
    const struct sp_result *other = direct;
    char cost[SP_QUANTITY_TEXT], beside[SP_QUANTITY_TEXT];
    for (size_t i = 0; i < here->count && other->allocator == direct->allocator; i++)
        if (sp_summary_first(&here->list[i])->pass == direct->pass)
            other = sp_summary_first(&here->list[i]);
    if (direct->allocator != sp_allocator_direct.name || other->allocator == direct->allocator)
        return false;
    struct comparison comparison = compare(here, direct, here, other);
    if (comparison.traces > 0)
        sp_page_say(page,
                    "Pass %u: cuMemAlloc costs %s of %s, where those of %s take %s; it holds %.3f "
                    "times what is live.\n",
                    direct->pass, sp_time_text(comparison.ns_here, cost),
                    direct->base == SP_TIME_OF_MODEL_AND_HOST ? "driver calls, by the model"
                                                              : "calls",
                    sp_allocator_title(other->allocator), sp_time_text(comparison.ns_there, beside),
                    exp(comparison.ratio_here / (double)comparison.traces));
    return true;
}

// Compares each allocator and pass of this replay with each recorded allocator in the same pass.
static void conclude_all(const struct sp_page *page, const struct sp_allocator_list *allocators,
                         const struct sp_summaries *here, const struct sp_summaries *there) {
    for (size_t i = 0; i < here->count; i++) {
        const struct sp_result *first = sp_summary_first(&here->list[i]);
        if (!sp_summary_is_first(here, i) || conclude_cost(page, here, first))
            continue;
        for (size_t j = 0; j < allocators->count; j++) {
            const struct sp_allocator *other = allocators->items[j];
            const struct sp_result recorded = {.allocator = other->name, .pass = first->pass};
            struct comparison comparison = compare(here, first, there, &recorded);
            conclude(page, &comparison, other);
        }
    }
}

// ---------------------------------------------------------------------------------------- printing

bool sp_beside_print(const struct sp_page *page, const struct sp_recorded *recorded,
                     const struct sp_allocator_list *allocators, const struct sp_summaries *here) {
    const struct sp_origin *origin = &recorded->origin;
    struct sp_result *chosen = calloc(recorded->count + 1, sizeof *chosen);
    struct sp_summaries there;
    bool good = true;
    if (!chosen)
        return false;
    if (recorded->count > 0)
        sp_page_say(page, "\nrecorded on %s, driver %s, CUDA %s, %s:\n", recorded->results->device,
                    origin->driver_version, origin->cuda_version, origin->date);
    size_t count = choose(page, recorded, allocators, here, chosen);
    if (count == 0) {
        sp_page_say(page, "%s has no result to show of these traces, passes and allocators\n",
                    recorded->path);
    } else if ((good = sp_summaries_open(&there, chosen, count, NULL))) {
        fputc('\n', page->out);
        good = sp_report_print(page, &sp_rows_of_replay, &there);
        fputc('\n', page->out);
        conclude_all(page, allocators, here, &there);
        sp_summaries_release(&there);
    }
    free(chosen);
    return good;
}
