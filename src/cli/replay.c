// streampool replay: reads all traces, plays each through each allocator, then prints.
#include "cli/command.h"
#include "cli/complain.h"
#include "cli/output.h"
#include "cli/perturb.h"
#include "cli/replay_plot.h"
#include "cli/report.h"
#include "cli/settings.h"
#include "cli/traces.h"

#include "base/options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { PASSES_MAX = 1000, REASON_MAX = 256, OPTION_THREADS = 256, OPTION_STATISTICS, OPTION_PLOT };

struct request {
    enum sp_device_choice choice;
    const struct sp_allocator *allocators[SP_ALLOCATOR_COUNT];
    size_t allocator_count;
    uint64_t threshold;
    unsigned passes;
    enum sp_parts parts;
    struct sp_settings settings;
    struct sp_plan plan;
    struct sp_perturbation perturbation;
    bool statistics; // are printed below the table
    const char *json;
    const char *plot;
    char **paths;
    size_t path_count;
};

struct replay {
    const struct request *request;
    struct sp_traces traces;
    struct sp_device device;
    struct sp_origin origin;
    struct sp_work *work; // null: none is asked for
    struct sp_progress progress;
    struct sp_result *results;
    size_t result_count;
    struct sp_replay_plot plot;                // empty: none is asked for
    char unavailable[SP_ALLOCATOR_COUNT][512]; // why an allocator can't be used; "" when it can
};

// ----------------------------------------------------------------------------------- the arguments

static void add_allocator(struct request *request, const char *name, size_t length,
                          struct argp_state *state) {
    const struct sp_allocator *allocator = sp_allocator_find(name, length);
    if (!allocator)
        argp_error(state, "unknown allocator '%.*s'", (int)length, name);
    for (size_t i = 0; i < request->allocator_count; i++)
        if (request->allocators[i] == allocator)
            argp_error(state, "the allocator '%s' is named twice", allocator->name);
    request->allocators[request->allocator_count++] = allocator;
}

static void parse_allocators(struct request *request, const char *names, struct argp_state *state) {
    request->allocator_count = 0;
    for (;;) {
        size_t length = strcspn(names, ",");
        add_allocator(request, names, length, state);
        if (names[length] == '\0')
            return;
        names += length + 1;
    }
}

static uint64_t parse_threshold(const char *text, struct argp_state *state) {
    uint64_t bytes = UINT64_MAX;
    if (strcmp(text, "max") != 0 && !sp_options_parse_size(text, &bytes))
        argp_error(
            state,
            "--threshold is a number of bytes, with K, M, G or T behind it, or max, not '%s'",
            text);
    return bytes;
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct request *request = state->input;
    switch (key) {
    case 'd':
        request->choice = sp_device_choice_of(argument, state);
        return 0;
    case 'a':
        parse_allocators(request, argument, state);
        return 0;
    case 't':
        request->threshold = parse_threshold(argument, state);
        return 0;
    case 'n':
        request->passes = (unsigned)sp_number_of("--passes", argument, 1, PASSES_MAX, state);
        return 0;
    case OPTION_THREADS:
        request->parts = SP_PART_FOR_EACH_THREAD;
        return 0;
    case OPTION_STATISTICS:
        request->statistics = true;
        return 0;
    case 'j':
        request->json = argument;
        return 0;
    case OPTION_PLOT:
        request->plot = argument;
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->settings;
        state->child_inputs[1] = &request->plan;
        state->child_inputs[2] = &request->perturbation;
        return 0;
    case ARGP_KEY_ARGS:
        request->paths = state->argv + state->next;
        request->path_count = (size_t)(state->argc - state->next);
        return 0;
    case ARGP_KEY_NO_ARGS:
        argp_error(state, "no trace is named");
        return 0;
    case ARGP_KEY_END:
        sp_check_outputs(request->json, request->plot, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    SP_DEVICE_OPTION,
    {"allocator", 'a', "LIST", 0,
     "Allocators to replay through, with commas between them (default: pool)", 0},
    {"threshold", 't', "BYTES|max", 0,
     "Release threshold: what pools keep at a synchronise (default: max)", 0},
    {"passes", 'n', "N", 0, "Replay each trace so often with the same pool (default: 1)", 0},
    {"threads", OPTION_THREADS, NULL, 0, "Play each thread of a trace in a thread of its own", 0},
    {"statistics", OPTION_STATISTICS, NULL, 0, "Print all that the pool counts below the table", 0},
    {"json", 'j', "FILE", 0,
     "Write the results as JSON too; with '-', to standard output and no table", 0},
    {"plot", OPTION_PLOT, "FILE", 0,
     "Draw memory over the trace, as SVG; with '-', to standard output and no table", 0},
    {.doc = "Allocators:"},
#define ALLOCATOR_HELP(allocator, summary) {#allocator, 0, NULL, OPTION_DOC, summary, 0},
    SP_ALLOCATORS(ALLOCATOR_HELP)
#undef ALLOCATOR_HELP
        {0},
};

static const struct argp_child children[] = {
    {&sp_settings_argp, 0, "The pool, with the allocators pool and promised:", 1},
    {&sp_plan_argp, 0, "Work and order beside the trace:", 2},
    {&sp_perturbation_argp, 0, "Several starts:", 3},
    SP_HELP_CHILD,
    {0},
};

static const struct argp argp = {
    .options = options,
    .children = children,
    .parser = parse,
    .args_doc = "TRACE...",
    .doc =
        "Replays traces of allocations (RMM's log format, plain or gzipped) as fast as it can and "
        "prints "
        "what "
        "each call cost and how much memory was reserved. docs/replay.md explains the figures.\v"
        "An allocator that the device lacks is named below the table, and the others run. A trace "
        "that can't be read ends the program before anything is replayed. The exit status is 3 "
        "when no GPU can be used, though no simulation was asked for.",
};

// ------------------------------------------------------------------------------------- the replays

static bool play_passes(struct replay *replay, struct sp_player *player, struct sp_drawn *drawn) {
    for (unsigned pass = 1; pass <= replay->request->passes; pass++) {
        struct sp_result *result = &replay->results[replay->result_count++];
        if (!sp_player_run(player, pass, result))
            return false;
        result->origin = &replay->origin;
        if (drawn)
            drawn->errors += result->errors;
    }
    return true;
}

static bool play_trace(struct replay *replay, const struct sp_trace *trace, struct sp_stage *stage,
                       const struct sp_allocator *allocator, unsigned start,
                       struct sp_drawn *drawn) {
    const struct request *request = replay->request;
    struct sp_play play = {
        .trace = trace,
        .allocator = allocator,
        .stage = stage,
        .plan = &request->plan,
        .work = replay->work,
        .parts = request->parts,
        .start = start,
        .held_bytes = sp_perturbation_bytes(&request->perturbation, trace, start),
        .progress = &replay->progress,
        .series = drawn ? &drawn->series : NULL,
    };
    struct sp_player player;
    if (!sp_player_open(&player, &play))
        return false;
    bool good = play_passes(replay, &player, drawn);
    sp_player_close(&player);
    return good;
}

// False only when nothing more can be replayed; an allocator that can't be opened is noted.
static bool play_start(struct replay *replay, const struct sp_trace *trace, size_t index,
                       unsigned start) {
    const struct sp_allocator *allocator = replay->request->allocators[index];
    struct sp_drawn *drawn = sp_replay_plot_at(&replay->plot, trace->name, index);
    struct sp_stage stage = {.device = &replay->device,
                             .threshold = replay->request->threshold,
                             .limit = replay->request->settings.limit};
    sp_progress_label(&replay->progress, trace->name);
    if (!allocator->open(&stage)) {
        memcpy(replay->unavailable[index], stage.reason, sizeof stage.reason);
        sp_progress_add(&replay->progress, trace->operation_count * replay->request->passes);
        return true;
    }
    bool good = sp_settings_apply(&replay->request->settings, &stage) &&
                play_trace(replay, trace, &stage, allocator, start, drawn);
    if (drawn)
        drawn->allocator = allocator->name;
    allocator->close(&stage);
    if (good)
        return true;
    sp_progress_end(&replay->progress);
    return sp_complain("%s, %s: %s", trace->name, allocator->name, stage.reason);
}

static bool suits(const struct sp_allocator *allocator, const struct sp_trace *trace,
                  char reason[REASON_MAX]) {
    return !allocator->suits || allocator->suits(trace, reason, REASON_MAX);
}

static bool play_allocator(struct replay *replay, const struct sp_trace *trace, size_t index) {
    const struct request *request = replay->request;
    unsigned starts = sp_perturbation_starts(&request->perturbation);
    char reason[REASON_MAX];
    if (!suits(request->allocators[index], trace, reason)) {
        sp_progress_add(&replay->progress, trace->operation_count * request->passes * starts);
        return true;
    }
    for (unsigned start = 1; start <= starts; start++)
        if (!play_start(replay, trace, index, start))
            return false;
    return true;
}

// For each trace.
static size_t runs_of(const struct request *request) {
    return request->allocator_count * sp_perturbation_starts(&request->perturbation) *
           request->passes;
}

static bool play_all(struct replay *replay) {
    const struct request *request = replay->request;
    replay->progress = sp_progress_begin(sp_traces_operations(&replay->traces) * runs_of(request));
    for (size_t trace = 0; trace < replay->traces.count; trace++)
        for (size_t index = 0; index < request->allocator_count; index++)
            if (!play_allocator(replay, &replay->traces.list[trace], index))
                return false;
    sp_progress_end(&replay->progress);
    return true;
}

// ------------------------------------------------------------------------------------- the results

static bool is_perturbed(const struct request *request) {
    return request->perturbation.starts > 0;
}

static void print_unsuited(const struct replay *replay, const struct sp_allocator *allocator,
                           FILE *out) {
    char reason[REASON_MAX];
    for (size_t i = 0; i < replay->traces.count; i++)
        if (!suits(allocator, &replay->traces.list[i], reason))
            fprintf(out, "%s: %s not replayed: %s\n", allocator->name, replay->traces.list[i].name,
                    reason);
}

static void print_unavailable(const struct replay *replay, FILE *out) {
    for (size_t i = 0; i < replay->request->allocator_count; i++) {
        const struct sp_allocator *allocator = replay->request->allocators[i];
        if (replay->unavailable[i][0])
            fprintf(out, "%s: not replayed: %s\n", allocator->name, replay->unavailable[i]);
        print_unsuited(replay, allocator, out);
    }
}

static void print_perturbation(const struct sp_perturbation *perturbation) {
    printf(
        "medians of starts, each with a block of up to %d %% of the trace's peak held (%u starts, "
        "seed "
        "%" PRIu64 ")\n\n",
        100 / SP_PERTURBATION_PEAK_SHARE, perturbation->starts, perturbation->seed);
}

static bool print_summaries(const struct request *request, const struct sp_summaries *summaries) {
    if (is_perturbed(request))
        print_perturbation(&request->perturbation);
    bool good = is_perturbed(request) ? sp_report_print_starts(stdout, summaries)
                                      : sp_report_print(stdout, summaries);
    if (!good)
        return sp_complain("out of host memory");
    sp_report_print_errors(stdout, summaries);
    if (request->statistics && !sp_report_print_statistics(stdout, summaries))
        return sp_complain("out of host memory");
    return true;
}

static bool print_table(const struct replay *replay, const struct sp_summaries *summaries) {
    sp_report_device(stdout, &replay->device, sp_meter_base(replay->device.driver, replay->work));
    if (!print_summaries(replay->request, summaries))
        return false;
    print_unavailable(replay, stdout);
    return fflush(stdout) == 0 || sp_complain("standard output: %s", strerror(errno));
}

static bool write_json(const struct replay *replay, const struct sp_summaries *summaries) {
    struct sp_json_list list = is_perturbed(replay->request)
                                   ? sp_report_list_of_starts(summaries)
                                   : sp_report_list(replay->results, replay->result_count);
    return sp_json_write(replay->request->json, &list);
}

// A picture or JSON on standard output takes the place of the table.
static bool print_all(const struct replay *replay, const struct sp_summaries *summaries) {
    const struct request *request = replay->request;
    if (sp_output_is_standard(request->json) || sp_output_is_standard(request->plot))
        print_unavailable(replay, stderr);
    else if (!print_table(replay, summaries))
        return false;
    if (request->json && !write_json(replay, summaries))
        return false;
    return !request->plot || sp_replay_plot_write(request->plot, &replay->plot);
}

static bool print_results(const struct replay *replay) {
    if (replay->result_count == 0) {
        print_unavailable(replay, stderr);
        return sp_complain("nothing was replayed");
    }
    struct sp_summaries summaries;
    if (!sp_summaries_open(&summaries, replay->results, replay->result_count))
        return sp_complain("out of host memory");
    bool good = print_all(replay, &summaries);
    sp_summaries_release(&summaries);
    return good;
}

static bool play_with_work(struct replay *replay) {
    struct sp_work work;
    if (!sp_work_open(&work, &replay->device))
        return false;
    replay->work = &work;
    bool good = play_all(replay) && print_results(replay);
    const char *problem = sp_work_problem(&work);
    replay->work = NULL;
    sp_work_close(&work);
    return problem ? sp_complain("simulated driver: %s", problem) : good;
}

static bool open_plot(struct replay *replay) {
    const struct request *request = replay->request;
    replay->plot = (struct sp_replay_plot){
        .device = &replay->device,
        .starts = sp_perturbation_starts(&request->perturbation),
        .passes = request->passes,
        .allocator_count = request->allocator_count,
    };
    return !request->plot || sp_replay_plot_open(&replay->plot, &replay->traces);
}

static int replay_on_device(struct replay *replay) {
    const struct request *request = replay->request;
    int status = sp_device_take(&replay->device, request->choice);
    if (status != EXIT_SUCCESS)
        return status;
    replay->origin = sp_origin_of(&replay->device);
    replay->results = calloc(replay->traces.count * runs_of(request), sizeof *replay->results);
    bool good = replay->results || sp_complain("out of host memory");
    good = good && open_plot(replay);
    if (good && sp_plan_has_work(&request->plan))
        good = play_with_work(replay);
    else
        good = good && play_all(replay) && print_results(replay);
    sp_replay_plot_release(&replay->plot);
    free(replay->results);
    sp_device_close(&replay->device);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

int sp_command_replay(int argc, char **argv) {
    struct request request = {
        .choice = SP_DEVICE_AUTO,
        .allocators = {&sp_allocator_pool},
        .allocator_count = 1,
        .threshold = UINT64_MAX,
        .passes = 1,
        .plan = SP_PLAN_DEFAULT,
        .perturbation = SP_PERTURBATION_DEFAULT,
    };
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_FAILURE;
    struct replay replay = {.request = &request};
    int status = EXIT_FAILURE;
    if (sp_traces_read(&replay.traces, request.paths, request.path_count))
        status = replay_on_device(&replay);
    sp_traces_release(&replay.traces);
    return status;
}
