// streampool-bench: the pool beside CUDA's own, in one run.
//
// Every figure is a median over interleaved rounds with its spread beside it, and the ratio to
// CUDA's pool measured in the same rounds. On a driver without pools of its own (the simulated one)
// only ours is measured, and its times are those of the host.
#include "bench.h"

#include "about.h"
#include "bounded.h"

#include "cli/program/command.h"
#include "cli/program/complain.h"
#include "cli/program/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <streampool/streampool.h>
#include <string.h>

static const struct {
    const char *name;
    const char *summary;
    int (*run)(struct bench *bench);
} cases[] = {
#define CASE(name, summary) {#name, summary, case_##name},
    BENCH_CASES(CASE)
#undef CASE
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

// ----------------------------------------------------------------------------------- the arguments

struct request {
    enum sp_device_choice choice;
    int rounds; // 0: as many as the case would like
    int seconds;
    uint64_t device_memory;
    uint64_t host_memory;
    uint64_t divisor;
    const char *json;
    bool wide;
    struct sp_peers peers;
    bool wanted[CASE_COUNT];
    bool any; // case is wanted by its name; else all are
};

static void want_case(struct request *request, const char *name, struct argp_state *state) {
    for (int i = 0; i < CASE_COUNT; i++) {
        if (strcmp(name, cases[i].name) == 0) {
            request->wanted[i] = request->any = true;
            return;
        }
    }
    argp_error(state, "there is no case '%s'", name);
}

static error_t parse(int key, char *argument, struct argp_state *state) {
    struct request *request = state->input;
    switch (key) {
    case 'd':
        request->choice = sp_device_choice_of(argument, state);
        return 0;
    case 'r':
        request->rounds = (int)sp_number_of("--rounds", argument, 1, ROUNDS_MAX, state);
        return 0;
    case 's':
        request->seconds = (int)sp_number_of("--seconds", argument, 1, 256, state);
        return 0;
    case 'm':
        request->device_memory = sp_number_of("--device-memory", argument, 1, 1 << 24, state) << 20;
        return 0;
    case 'H':
        request->host_memory = sp_number_of("--host-memory", argument, 1, 1 << 14, state) << 30;
        return 0;
    case 'D':
        request->divisor = sp_number_of("--divide", argument, 1, BOUNDED_DIVISOR_MAX, state);
        return 0;
    case 'j':
        request->json = argument;
        return 0;
    case 'w':
        request->wide = true;
        return 0;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &request->peers;
        return 0;
    case 'c':
    case ARGP_KEY_ARG:
        want_case(request, argument, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    SP_DEVICE_OPTION,
    {"case", 'c', "CASE", 0, "Run this case, as CASE after the options does", 0},
    {"rounds", 'r', "N", 0, "Measure N interleaved rounds (default: 21)", 0},
    {"seconds", 's', "N", 0,
     "Measure each form of `stall` for N seconds (default: 10; 1 on the simulated driver)", 0},
    {"device-memory", 'm', "MIB", 0,
     "Leave MIB mebibytes of the device's memory to `full` (default: all)", 0},
    {"host-memory", 'H', "GIB", 0,
     "Get GIB gibibytes of the host's memory in `host`, which measures nothing else then (default: "
     "4 behind the rest, or an eighth of what the host has if that is less)",
     0},
    {"divide", 'D', "N", 0,
     "Divide the amounts of the cases from `ended_threads` to `many_holes` by N (default: 100; "
     "with 1 a case takes minutes to hours)",
     0},
    {"json", 'j', "FILE", 0,
     "Write the results as JSON too, which `streampool plot` draws; with '-', to standard output "
     "and no table",
     0},
    {"wide", 'w', NULL, 0, "Print a column for each subject, beyond 80 columns", 0},
    {.doc = "Cases:"},
#define CASE_HELP(name, summary) {#name, 0, NULL, OPTION_DOC, summary, 0},
    BENCH_CASES(CASE_HELP)
#undef CASE_HELP
        {0},
};

static const struct argp_child children[] = {
    {&sp_peers_argp, 0,
     "Allocators of others, in the cases pair, live, mam, sizes, growth, loop, threads, after:", 1},
    {0},
};

static const struct argp argp = {
    .options = options,
    .children = children,
    .parser = parse,
    .args_doc = "[CASE...]",
    .doc =
        "Measures the pool beside CUDA's own. docs/benchmarks.md explains the figures.\v"
        "Without a case, all are run. What fails, a case or a subject of one, is named, and the "
        "others run.",
};

// ----------------------------------------------------------------------------------------- the run

// The device and the driver, the library and its defaults, without which no figure means anything.
static void print_machine(const struct bench *bench) {
    const struct sp_driver *driver = bench->device.driver;
    char version[SP_VERSION_TEXT], api[SP_VERSION_TEXT];
    char text[1024];
    snprintf(text, sizeof text, "%s, driver for CUDA %s (%s), entry points up to %s, %d rounds",
             bench->device.name, sp_version_text(driver->version, version), driver->path,
             sp_version_text(driver->api_version, api), bench->rounds);
    bench_print_text(bench, text);
    snprintf(text, sizeof text,
             "streampool %s, %s; a pool's attributes unless a case says otherwise: %s",
             bench->results.library, bench->results.build, bench->results.defaults);
    bench_print_text(bench, text);
}

static bool run_case(struct bench *bench, int i) {
    bench->case_name = cases[i].name;
    bench->left_out = false;
    int error = cases[i].run(bench);
    if (error == 0)
        return !bench->left_out;
    return sp_complain("%s: %s (%d)", cases[i].name, sp_driver_error_name((CUresult)error), error);
}

static bool run_cases(struct bench *bench, const struct request *request) {
    bool good = true;
    print_machine(bench);
    for (int i = 0; i < CASE_COUNT; i++)
        if (request->wanted[i] || !request->any)
            good = run_case(bench, i) && good;
    return good;
}

static bool run_with_streams(struct bench *bench, const struct request *request) {
    int error = bench_open_streams(bench, bench->streams, 2);
    if (error)
        return sp_complain("no streams: %s", sp_driver_error_name((CUresult)error));
    error = (int)bench->device.driver->cuEventCreate(&bench->event, CU_EVENT_DISABLE_TIMING);
    bool good = error ? sp_complain("no event: %s", sp_driver_error_name((CUresult)error))
                      : run_cases(bench, request);
    if (!error)
        poolEventDestroy(bench->event);
    bench_close_streams(bench->streams, 2);
    return good;
}

static bool run_on_device(struct bench *bench, const struct request *request) {
    const struct sp_driver *driver = bench->device.driver;
    char defaults[ABOUT_TEXT] = "";
    int error = about_defaults(defaults);
    if (error)
        return sp_complain("no pool: %s (%d)", sp_driver_error_name((CUresult)error), error);
    bench->simulated = sp_device_is_simulated(driver);
    bench->results = (struct results){.device = bench->device.name,
                                      .library = about_library,
                                      .build = about_build,
                                      .defaults = defaults,
                                      .simulated = bench->simulated};
    bench->seconds = request->seconds ? request->seconds : bench->simulated ? 1 : 10;
    LINE_UP(&bench->pools, driver, SUBJECT_OURS, SUBJECT_CUDAS);
    if (!sp_work_open(&bench->work, &bench->device))
        return false;
    bool good = run_with_streams(bench, request);
    const char *problem = sp_work_problem(&bench->work);
    if (problem)
        good = sp_complain("the simulated driver reports: %s", problem);
    sp_work_close(&bench->work);
    if (request->json)
        good = results_write(&bench->results, request->json) && good;
    results_release(&bench->results);
    return good;
}

int main(int argc, char **argv) {
    struct request request = {
        .choice = SP_DEVICE_AUTO, .device_memory = UINT64_MAX, .divisor = BOUNDED_DIVISOR};
    const struct sp_driver *driver;
    sp_output_flush_at_exit();
    if (argp_parse(&argp, argc, argv, 0, NULL, &request) != 0)
        return EXIT_FAILURE;
    struct bench bench = {.rounds = request.rounds ? request.rounds : 21,
                          .rounds_given = request.rounds != 0,
                          .device_memory = request.device_memory,
                          .host_memory = request.host_memory,
                          .divisor = request.divisor,
                          .peers = request.peers,
                          .wide = request.wide,
                          .silent = request.json && strcmp(request.json, "-") == 0};
    if (!sp_output_ready(request.json) || !sp_peers_load(&bench.peers))
        return EXIT_FAILURE;
    if (!sp_device_choose(request.choice, &driver) || !sp_device_open(&bench.device, driver))
        return EXIT_FAILURE;
    bool good = run_on_device(&bench, &request);
    sp_device_close(&bench.device);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
