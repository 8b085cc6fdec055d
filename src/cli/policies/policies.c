// The command `policies` replays each trace under every combination of the reuse policies, then
// prints the results.
#include "cli/policies/policies.h"

#include "cli/play/settings.h"
#include "cli/program/command.h"
#include "cli/program/complain.h"
#include "cli/program/output.h"
#include "cli/report/report.h"
#include "cli/trace/traces.h"

#include <stdlib.h>

struct request {
    enum sp_device_choice choice;
    struct sp_settings settings;
    struct sp_plan plan;
    const char *json;
    const char *plot;
    char **paths;
    size_t path_count;
};

struct comparison {
    const struct request *request;
    struct sp_traces traces;
    struct sp_device device;
    struct sp_work work;
    struct sp_progress progress;
    struct sp_policy_result *results;
    size_t result_count;
    struct sp_series *series; // for each result; null: no plot is asked for
};

// ----------------------------------------------------------------------------------- the arguments

enum { OPTION_PLOT = 256 };

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct request *request = state->input;
    switch (key) {
    case 'd':
        request->choice = sp_device_choice_of(argument, state);
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
    {"device", 'd', "sim|gpu|auto", 0,
     "The simulated driver (the default), the real one, or (auto) the real one if it can be used, "
     "else the simulated one",
     0},
    {"json", 'j', "FILE", 0,
     "Write the results as JSON too; with '-', to standard output and no table", 0},
    {"plot", OPTION_PLOT, "FILE", 0,
     "Draw the results of all combinations, as SVG; with '-', to standard output and no table", 0},
    {0},
};

static const struct argp_child children[] = {
    {&sp_settings_argp, 0, "The pool:", 1},
    {&sp_plan_argp, 0, "Work and order in addition to the trace (default: --work 0.9):", 2},
    SP_HELP_CHILD,
    {0},
};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .args_doc = "TRACE...",
    .doc =
        "Replays traces of allocations under all eight combinations of the three reuse policies, "
        "with work after each allocation, and prints the memory and time that each combination "
        "took. docs/stream-order.md explains the figures.\v"
        "On the simulated driver times are virtual: the same trace, options and seed give the same "
        "figures. " SP_REPLAY_STATUSES,
    .children = children,
};

// ------------------------------------------------------------------------------------- the replays

static bool set_policies(struct sp_stage *stage, unsigned combination) {
    static const enum poolMemPoolAttr attributes[] = {
#define ATTRIBUTE(key, first, second, attribute) attribute,
        SP_POLICIES(ATTRIBUTE)
#undef ATTRIBUTE
    };
    for (unsigned i = 0; i < SP_POLICY_COUNT; i++) {
        int on = combination & 1u << i ? 1 : 0;
        poolError_t error = poolMemPoolSetAttribute(stage->pool, attributes[i], &on);
        if (error != poolSuccess)
            return sp_stage_fail(stage, "a policy can't be set: %s", poolGetErrorName(error));
    }
    return true;
}

static bool read_statistics(struct sp_stage *stage,
                            uint64_t statistics[SP_POLICY_STATISTIC_COUNT]) {
    static const enum poolMemPoolAttr attributes[] = {
#define ATTRIBUTE(key, first, second, attribute, need) attribute,
        SP_POLICY_STATISTICS(ATTRIBUTE)
#undef ATTRIBUTE
    };
    for (size_t i = 0; i < SP_POLICY_STATISTIC_COUNT; i++) {
        poolError_t error = poolMemPoolGetAttribute(stage->pool, attributes[i], &statistics[i]);
        if (error != poolSuccess)
            return sp_stage_fail(stage, "a statistic can't be read: %s", poolGetErrorName(error));
    }
    return true;
}

static bool play(struct comparison *comparison, const struct sp_trace *trace,
                 struct sp_stage *stage, struct sp_policy_result *result,
                 struct sp_series *series) {
    struct sp_play play = {
        .trace = trace,
        .allocator = &sp_allocator_pool,
        .stage = stage,
        .plan = &comparison->request->plan,
        .work = &comparison->work,
        .parts = SP_ONE_PART,
        .progress = &comparison->progress,
        .series = series,
    };
    struct sp_player player;
    if (!set_policies(stage, result->combination) ||
        !sp_settings_apply(&comparison->request->settings, stage) ||
        !sp_player_open(&player, &play))
        return false;
    bool good =
        sp_player_run(&player, 1, &result->replay) && read_statistics(stage, result->statistics);
    sp_player_close(&player);
    return good;
}

static bool play_combination(struct comparison *comparison, const struct sp_trace *trace,
                             unsigned combination, struct sp_policy_result *result,
                             struct sp_series *series) {
    struct sp_stage stage = {.device = &comparison->device,
                             .threshold = UINT64_MAX,
                             .limit = comparison->request->settings.limit};
    result->combination = combination;
    bool good = sp_allocator_pool.open(&stage);
    if (good) {
        good = play(comparison, trace, &stage, result, series);
        sp_allocator_pool.close(&stage);
    }
    if (good)
        return true;
    sp_progress_end(&comparison->progress);
    return sp_complain("%s: %s", trace->name, stage.reason);
}

// Plays a trace under each combination, and before that once more without counting it: a process or
// a device does some things only once, such as reserving address space, and those are not to count
// for the first combination.
static bool play_trace(struct comparison *comparison, const struct sp_trace *trace) {
    struct sp_policy_result warm_up;
    if (!play_combination(comparison, trace, 0, &warm_up, NULL))
        return false;
    for (unsigned combination = 0; combination < SP_POLICY_COMBINATIONS; combination++) {
        size_t i = comparison->result_count++;
        struct sp_series *series = comparison->series ? &comparison->series[i] : NULL;
        if (!play_combination(comparison, trace, combination, &comparison->results[i], series))
            return false;
    }
    return true;
}

static bool play_all(struct comparison *comparison) {
    size_t operations = sp_traces_operations(&comparison->traces);
    comparison->progress = sp_progress_begin(operations * (1 + SP_POLICY_COMBINATIONS));
    for (size_t i = 0; i < comparison->traces.count; i++) {
        sp_progress_label(&comparison->progress, comparison->traces.list[i].name);
        if (!play_trace(comparison, &comparison->traces.list[i]))
            return false;
    }
    sp_progress_end(&comparison->progress);
    return true;
}

// ------------------------------------------------------------------------------------- the results

static bool print_table(const struct comparison *comparison) {
    sp_report_device(stdout, &comparison->device, SP_TIME_OF_VIRTUAL_CLOCK);
    if (!sp_policies_print(stdout, comparison->results, comparison->result_count))
        return sp_complain("out of host memory");
    return sp_output_flush();
}

static bool print_results(const struct comparison *comparison) {
    const struct request *request = comparison->request;
    bool shown = !sp_output_is_standard(request->json) && !sp_output_is_standard(request->plot);
    if (shown && !print_table(comparison))
        return false;
    struct sp_json_list list = sp_policies_list(comparison->results, comparison->result_count);
    if (request->json && !sp_json_write(request->json, &list))
        return false;
    return !request->plot ||
           sp_policies_plot(request->plot, &comparison->device, comparison->results,
                            comparison->series, comparison->result_count);
}

static bool compare(struct comparison *comparison) {
    if (!sp_work_open(&comparison->work, &comparison->device))
        return false;
    bool good = play_all(comparison) && print_results(comparison);
    const char *problem = sp_work_problem(&comparison->work);
    if (problem)
        good = sp_complain("simulated driver: %s", problem);
    sp_work_close(&comparison->work);
    return good;
}

static size_t result_most(const struct comparison *comparison) {
    return comparison->traces.count * SP_POLICY_COMBINATIONS;
}

static bool open_series(struct comparison *comparison) {
    if (!comparison->request->plot)
        return true;
    comparison->series = calloc(result_most(comparison), sizeof *comparison->series);
    if (!comparison->series)
        return false;
    for (size_t i = 0; i < result_most(comparison); i++)
        sp_series_open(&comparison->series[i],
                       comparison->traces.list[i / SP_POLICY_COMBINATIONS].operation_count, 1);
    return true;
}

static void release_series(struct comparison *comparison) {
    for (size_t i = 0; comparison->series && i < result_most(comparison); i++)
        sp_series_close(&comparison->series[i]);
    free(comparison->series);
}

static int status_of(const struct comparison *comparison) {
    for (size_t i = 0; i < comparison->result_count; i++)
        if (comparison->results[i].replay.errors > 0)
            return SP_EXIT_CALLS_FAILED;
    return EXIT_SUCCESS;
}

static int compare_on_device(struct comparison *comparison) {
    int status = sp_device_take(&comparison->device, comparison->request->choice);
    if (status != EXIT_SUCCESS)
        return status;
    comparison->results = calloc(result_most(comparison), sizeof *comparison->results);
    bool memory = comparison->results && open_series(comparison);
    bool good = memory ? compare(comparison) : sp_complain("out of host memory");
    status = good ? status_of(comparison) : EXIT_FAILURE;
    release_series(comparison);
    free(comparison->results);
    sp_device_close(&comparison->device);
    return status;
}

int sp_command_policies(int argc, char **argv) {
    struct request request = {.choice = SP_DEVICE_SIM, .plan = SP_PLAN_DEFAULT};
    request.plan.work = 0.9;
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_FAILURE;
    struct comparison comparison = {.request = &request};
    int status = EXIT_FAILURE;
    if (sp_output_ready(request.json) && sp_output_ready(request.plot) &&
        sp_traces_read(&comparison.traces, request.paths, request.path_count))
        status = compare_on_device(&comparison);
    sp_traces_release(&comparison.traces);
    return status;
}
