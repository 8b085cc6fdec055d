// The results of `streampool replay`: the table or JSON, and the picture.
#include "cli/program/complain.h"
#include "cli/program/output.h"
#include "cli/replay/replay.h"
#include "cli/report/recorded.h"
#include "cli/report/report.h"

#include <inttypes.h>

// On one pool a trace that can't be replayed keeps the others from it, too.
static void print_unavailable(const struct sp_replay *replay, const struct sp_page *page) {
    const char *format = replay->request->passes.one_pool ? "%s: not replayed: %s: %s\n"
                                                          : "%s: %s not replayed: %s\n";
    char reason[SP_UNSUITED_TEXT];
    for (size_t i = 0; i < replay->request->allocators.count; i++) {
        const struct sp_allocator *allocator = replay->request->allocators.items[i];
        if (replay->unavailable[i][0])
            sp_page_say(page, "%s: not replayed: %s\n", allocator->title, replay->unavailable[i]);
        for (size_t j = 0; j < replay->traces.count; j++)
            if (!sp_allocator_suits(allocator, &replay->traces.list[j], reason))
                sp_page_say(page, format, allocator->title, replay->traces.list[j].name, reason);
    }
}

// Errors are printed of all passes. False without host memory.
static bool print_summaries(const struct sp_page *page, const struct sp_replay *replay,
                            const struct sp_summaries *summaries,
                            const struct sp_summaries *chosen) {
    const struct sp_replay_request *request = replay->request;
    bool is_perturbed = sp_perturbation_is_asked(&request->perturbation);
    sp_report_device(page, &replay->device, sp_meter_base(replay->device.driver, replay->work));
    if (request->passes.one_pool)
        sp_page_say(page,
                    "all traces in turn on one pool: the peaks are those of a round, which "
                    "has one turn of each trace and ends with the row's\n\n");
    if (is_perturbed)
        sp_page_say(page,
                    "medians of starts, each with a block of up to %d %% of %s peak held (%u "
                    "starts, seed %" PRIu64 ")\n\n",
                    100 / SP_PERTURBATION_PEAK_SHARE,
                    request->passes.one_pool ? "the largest trace's" : "the trace's",
                    request->perturbation.starts, request->perturbation.seed);
    if (!(is_perturbed ? sp_report_print_starts(page, chosen)
                       : sp_report_print(page, &sp_rows_of_replay, chosen)))
        return false;
    if (!sp_report_print_places(page, chosen))
        return false;
    sp_report_print_errors(page, summaries);
    if (request->statistics && !sp_report_print_statistics(page, chosen))
        return false;
    print_unavailable(replay, page);
    if (request->explain_growth && !sp_growths_report_print(page, &replay->growths, chosen))
        return false;
    return !request->beside ||
           sp_beside_print(page, &replay->recorded, &request->beside_allocators, chosen);
}

static bool print_table(const struct sp_replay *replay, const struct sp_summaries *summaries) {
    struct sp_page page = {.out = stdout, .wide = replay->request->wide};
    struct sp_summaries chosen;
    if (!sp_summaries_open(&chosen, replay->results, replay->result_count,
                           &replay->request->passes))
        return sp_complain("out of host memory");
    bool good = print_summaries(&page, replay, summaries, &chosen);
    sp_summaries_release(&chosen);
    return good ? sp_output_flush() : sp_complain("out of host memory");
}

// The files come first, for whoever reads the table may close it early. A picture or JSON on
// standard output takes its place.
static bool print_all(const struct sp_replay *replay, const struct sp_summaries *summaries) {
    const struct sp_replay_request *request = replay->request;
    bool several_starts = sp_perturbation_is_asked(&request->perturbation);
    bool good = !request->json || sp_report_write(request->json, summaries, several_starts);
    good = (!request->plot || sp_replay_plot_write(request->plot, &replay->plot)) && good;
    if (!sp_output_is_standard(request->json) && !sp_output_is_standard(request->plot))
        return print_table(replay, summaries) && good;
    print_unavailable(replay, &(struct sp_page){stderr, .wide = true});
    return good;
}

bool sp_replay_results_print(const struct sp_replay *replay) {
    if (replay->result_count == 0) {
        print_unavailable(replay, &(struct sp_page){stderr, .wide = true});
        return sp_complain("nothing was replayed");
    }
    struct sp_summaries summaries;
    if (replay->growths.failed ||
        !sp_summaries_open(&summaries, replay->results, replay->result_count, NULL))
        return sp_complain("out of host memory");
    bool good = print_all(replay, &summaries);
    sp_summaries_release(&summaries);
    return good;
}
