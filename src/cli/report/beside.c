// The recorded results that are shown get the names of this replay's traces and of the program's
// allocators, so that names are compared by their address from there on, as in summary.h.
#include "cli/report/beside.h"

#include "cli/program/utf8.h"
#include "cli/report/report.h"

#include <inttypes.h>
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
static size_t choose(FILE *out, const struct sp_recorded *recorded,
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
            fprintf(out, "%s, %s, pass %u: not shown: %s\n", result.trace, result.allocator,
                    result.pass, reason);
        else if (!is_among(chosen, count, &result))
            chosen[count++] = result;
    }
    return count;
}

// ------------------------------------------------------------------------------------- conclusions

// The sums of logarithms over the traces that both sides replayed without errors.
struct comparison {
    const struct sp_result *here; // any of them
    const struct sp_allocator *there;
    size_t traces;
    double ratio_here, ratio_there, time;
};

static bool is_comparable(const struct sp_summary *here, const struct sp_summary *there) {
    const struct sp_result *a = sp_summary_first(here), *b = sp_summary_first(there);
    return a->trace == b->trace && a->pass == b->pass && here->errors == 0 && there->errors == 0 &&
           here->ratio.median > 0 && there->ratio.median > 0 && here->total_ns.median > 0 &&
           there->total_ns.median > 0;
}

static void add(struct comparison *comparison, const struct sp_summary *here,
                const struct sp_summary *there) {
    comparison->traces++;
    comparison->ratio_here += log(here->ratio.median);
    comparison->ratio_there += log(there->ratio.median);
    comparison->time += log(here->total_ns.median / there->total_ns.median);
}

static void compare(struct comparison *comparison, const struct sp_summaries *here,
                    const struct sp_summaries *there) {
    for (size_t i = 0; i < here->count; i++) {
        const struct sp_result *result = sp_summary_first(&here->list[i]);
        if (result->allocator != comparison->here->allocator ||
            result->pass != comparison->here->pass)
            continue;
        for (size_t j = 0; j < there->count; j++)
            if (sp_summary_first(&there->list[j])->allocator == comparison->there->name &&
                is_comparable(&here->list[i], &there->list[j]))
                add(comparison, &here->list[i], &there->list[j]);
    }
}

static void conclude(FILE *out, const struct comparison *comparison) {
    const char *name = comparison->here->allocator;
    const struct sp_allocator *known = sp_allocator_find(name, strlen(name));
    const char *title = known ? known->title : name; // a peer has its name alone
    double traces = (double)comparison->traces;
    if (comparison->traces == 0)
        return;
    fprintf(out, "Pass %u, ", comparison->here->pass);
    if (comparison->traces == 1)
        fputs("one trace: ", out);
    else
        fprintf(out, "geometric means of %zu traces: ", comparison->traces);
    fprintf(out,
            "%s holds %.3f times what is live; in the recording, %s held %.3f times. "
            "The calls of %s take %.3g times as long as those of %s took in the recording.\n",
            title, exp(comparison->ratio_here / traces), comparison->there->title,
            exp(comparison->ratio_there / traces), title, exp(comparison->time / traces),
            comparison->there->title);
}

static bool is_first_of_its_kind(const struct sp_summaries *here, size_t index) {
    const struct sp_result *result = sp_summary_first(&here->list[index]);
    size_t i = 0;
    while (sp_summary_first(&here->list[i])->allocator != result->allocator ||
           sp_summary_first(&here->list[i])->pass != result->pass)
        i++;
    return i == index;
}

static void conclude_all(FILE *out, const struct sp_allocator_list *allocators,
                         const struct sp_summaries *here, const struct sp_summaries *there) {
    for (size_t i = 0; i < here->count; i++) {
        for (size_t j = 0; j < allocators->count && is_first_of_its_kind(here, i); j++) {
            struct comparison comparison = {.here = sp_summary_first(&here->list[i]),
                                            .there = allocators->items[j]};
            compare(&comparison, here, there);
            conclude(out, &comparison);
        }
    }
}

// ---------------------------------------------------------------------------------------- printing

static void print_origin(FILE *out, const struct sp_recorded *recorded) {
    const struct sp_origin *origin = &recorded->origin;
    if (recorded->count > 0)
        fprintf(out, "\nrecorded on %s, driver %s, CUDA %s, %s:\n", recorded->results[0].device,
                origin->driver_version, origin->cuda_version, origin->date);
}

static bool print_chosen(FILE *out, const struct sp_allocator_list *allocators,
                         const struct sp_summaries *here, const struct sp_result *chosen,
                         size_t count) {
    struct sp_summaries there;
    if (!sp_summaries_open(&there, chosen, count))
        return false;
    fputc('\n', out);
    bool good = sp_report_print(out, &there);
    fputc('\n', out);
    conclude_all(out, allocators, here, &there);
    sp_summaries_release(&there);
    return good;
}

bool sp_beside_print(FILE *out, const struct sp_recorded *recorded,
                     const struct sp_allocator_list *allocators, const struct sp_summaries *here) {
    struct sp_result *chosen = calloc(recorded->count + 1, sizeof *chosen);
    if (!chosen)
        return false;
    print_origin(out, recorded);
    size_t count = choose(out, recorded, allocators, here, chosen);
    bool good = true;
    if (count > 0)
        good = print_chosen(out, allocators, here, chosen, count);
    else
        fprintf(out, "%s has no result to show of these traces, passes and allocators\n",
                recorded->path);
    free(chosen);
    return good;
}
