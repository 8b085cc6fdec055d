// streampool-random: random programs of streams, events, allocations and threads, whose work writes
// and checks a pattern of its own.
//
// Each program is a process: its seed and its policies choose everything, and one of a single
// thread does the same again on the simulated driver. It fails when a kernel finds another's bytes,
// when the simulated driver reports anything, when a call fails that has no reason to, or when
// memory is left at its end. Several threads run in the simulated driver's scheduled mode, unless
// STREAMPOOL_SIMCUDA says mode=free.
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "random/program.h"
#include "random/scarce.h"
#include "support/check.h"
#include "support/device.h"

struct options {
    struct plan plan;
    uint64_t seeds;
    bool all_policies;
    uint64_t required[TOTALS_COUNT];
    void (*run)(const struct plan *plan, struct totals *totals);
};

// ------------------------------------------------------------------------------------- the options

static uint64_t read_number(const char *text, struct argp_state *state) {
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    static const char *const suffixes = "KMG";
    const char *suffix = *end ? strchr(suffixes, *end) : NULL;
    if (suffix) {
        number <<= 10 * (suffix - suffixes + 1);
        end++;
    }
    if (end == text || *end != '\0')
        argp_error(state, "%s is not a number", text);
    return number;
}

static void read_policies(const char *text, struct options *options, struct argp_state *state) {
    options->all_policies = strcmp(text, "all") == 0;
    options->plan.policies = options->all_policies ? 0 : read_number(text, state);
    if (options->plan.policies > 7)
        argp_error(state, "the policies are 0 to 7, or all");
}

// NAME=COUNT, with commas between several.
static void read_required(char *text, struct options *options, struct argp_state *state) {
    for (char *one = strtok(text, ","); one; one = strtok(NULL, ",")) {
        char *count = strchr(one, '=');
        if (!count)
            argp_error(state, "%s is not NAME=COUNT", one);
        *count = '\0';
        enum totals_index index = totals_find(one);
        if (index == TOTALS_COUNT)
            argp_error(state, "there is no statistic %s", one);
        options->required[index] = read_number(count + 1, state);
    }
}

enum {
    KEY_BLOCKING = 256,
    KEY_BYTES,
    KEY_CONTEXTS,
    KEY_FAULTS,
    KEY_HOST,
    KEY_LARGE,
    KEY_PEAKS,
    KEY_SURVIVOR,
    KEY_OBSERVED,
    KEY_OVERFLOW,
    KEY_POOLS,
    KEY_PROMISES,
    KEY_SCARCE
};

static const struct argp_option option_table[] = {
    {"driver", 'd', "sim|gpu|PATH", 0, "the driver to run on; without it STREAMPOOL_DRIVER decides",
     0},
    {"seed", 's', "N", 0, "the first seed", 0},
    {"seeds", 'n', "N", 0, "how many seeds", 0},
    {"operations", 'o', "N", 0, "how many operations for each program", 0},
    {"seconds", 't', "N", 0, "how long each program lasts, instead", 0},
    {"streams", 'S', "N", 0, "how many streams besides the default ones", 0},
    {"blocking", KEY_BLOCKING, "N", 0, "so many of a hundred of these are blocking (without it 33)",
     0},
    {"threads", 'T', "N", 0, "how many threads", 0},
    {"policies", 'p', "0..7|all", 0, "a bit for each policy, in the order of the attributes", 0},
    {"bytes", KEY_BYTES, "LIMIT", 0, "the pool's limit (without it 32M, on a real driver 256M)", 0},
    {"contexts", KEY_CONTEXTS, "1|2", 0, "with 2, a second context comes and goes", 0},
    {"pools", KEY_POOLS, "1|2", 0, "how many pools the streams are used with", 0},
    {"host", KEY_HOST, NULL, 0,
     "the last pool is of the host, managed or for staging, by its seed, and the host uses it", 0},
    {"overflow", KEY_OVERFLOW, "BYTES", 0,
     "pools of the device have so much of the host when they are full", 0},
    {"scarce", KEY_SCARCE, NULL, 0,
     "the process lacks descriptors, threads, stack or address space, by its seed", 0},
    {"promises", KEY_PROMISES, NULL, 0, "the first pool carries StreamPromises, most of the time",
     0},
    {"observed", KEY_OBSERVED, NULL, 0,
     "the library is told of streams and captures, as by the drop-in", 0},
    {"faults", KEY_FAULTS, "N", 0, "so many operations in a thousand have a driver's call fail", 0},
    {"large", KEY_LARGE, NULL, 0, "large blocks, up to a third of the limit", 0},
    {"peaks", KEY_PEAKS, NULL, 0, "peaks of which few blocks survive; pools are destroyed early",
     0},
    {"each-survivor", KEY_SURVIVOR, "BYTES", 0,
     "behind a peak a pool may hold so much for each block, beside what all use", 0},
    {"trace", 'v', NULL, 0, "print every step", 0},
    {"require", 'r', "NAME=COUNT,...", 0, "fail unless the pools have counted as much", 0},
    {0},
};

static uint64_t *number_of(int key, struct options *options) {
    switch (key) {
    case 's':
        return &options->plan.seed;
    case 'n':
        return &options->seeds;
    case 'o':
        return &options->plan.operations;
    case 't':
        return &options->plan.seconds;
    case 'S':
        return &options->plan.streams;
    case 'T':
        return &options->plan.threads;
    case KEY_BLOCKING:
        return &options->plan.blocking;
    case KEY_BYTES:
        return &options->plan.bytes;
    case KEY_CONTEXTS:
        return &options->plan.contexts;
    case KEY_POOLS:
        return &options->plan.pools;
    case KEY_OVERFLOW:
        return &options->plan.overflow;
    case KEY_SURVIVOR:
        return &options->plan.each_survivor;
    case KEY_FAULTS:
        return &options->plan.faults;
    default:
        return NULL;
    }
}

static void check_plan(const struct plan *plan, struct argp_state *state) {
    if (plan->threads == 0 || plan->contexts == 0 || plan->contexts > CONTEXTS)
        argp_error(state, "a program has threads, and one or two contexts");
    if (plan->blocking > 100)
        argp_error(state, "at most 100 of a hundred streams are blocking");
    if (plan->pools == 0 || plan->pools > POOLS)
        argp_error(state, "a program has one or two pools");
    if ((plan->threads + 1) * plan->contexts + plan->streams > MAX_STREAMS)
        argp_error(state, "a program has at most %d streams, and each thread has one", MAX_STREAMS);
    if (plan->threads > 1 && (plan->contexts > 1 || plan->faults > 0))
        argp_error(state, "a second context and faults are for programs of one thread");
}

static error_t read_option(int key, char *value, struct argp_state *state) {
    struct options *options = state->input;
    uint64_t *number = number_of(key, options);
    if (number)
        *number = read_number(value, state);
    else if (key == 'p')
        read_policies(value, options, state);
    else if (key == 'r')
        read_required(value, options, state);
    else if (key == 'v')
        options->plan.trace = true;
    else if (key == KEY_LARGE)
        options->plan.large = true;
    else if (key == KEY_HOST)
        options->plan.host = true;
    else if (key == KEY_PEAKS)
        options->plan.peaks = true;
    else if (key == KEY_OBSERVED)
        options->plan.observed = true;
    else if (key == KEY_SCARCE)
        options->run = scarce_run;
    else if (key == KEY_PROMISES)
        options->plan.promises = true;
    else if (key == ARGP_KEY_END)
        check_plan(&options->plan, state);
    else if (key != 'd')
        return ARGP_ERR_UNKNOWN;
    else if (!test_choose_driver(value))
        argp_failure(state, EXIT_FAILURE, 0, "the simulated driver is not where it was built");
    return 0;
}

// ------------------------------------------------------------------------------------ the programs

// The simulated driver reads its settings from here; what the user has set comes later and wins.
static void set_simulated_driver(const struct plan *plan, const char *settings) {
    static const unsigned bursts[] = {4, 16, 64, 16};
    char text[512];
    snprintf(text, sizeof text, "seed=%" PRIu64 ",mode=%s,burst=%u%s%s", plan->seed,
             plan->threads > 1 ? "scheduled" : "free", bursts[plan->seed % 4], settings ? "," : "",
             settings ? settings : "");
    setenv("STREAMPOOL_SIMCUDA", text, 1);
}

// A failure says itself what it is; here is only what it can't say any more.
static bool run_program(const struct options *options, const struct plan *plan,
                        struct totals *totals, const char *settings) {
    uint64_t before = totals->operations;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        test_set_subject("seed %" PRIu64 ", policies %" PRIu64, plan->seed, plan->policies);
        set_simulated_driver(plan, settings);
        options->run(plan, totals);
        _exit(EXIT_SUCCESS);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return false;
    if (WIFSIGNALED(status))
        printf("seed %" PRIu64 ", policies %" PRIu64 " FAIL operation %" PRIu64
               ": ended by SIG%s\n",
               plan->seed, plan->policies, totals->operations - before,
               sigabbrev_np(WTERMSIG(status)));
    return status == 0;
}

static bool run_all(const struct options *options, struct totals *totals) {
    const char *set = getenv("STREAMPOOL_SIMCUDA");
    char *settings = set ? strdup(set) : NULL;
    uint64_t policies = options->all_policies ? 8 : 1;
    bool good = true;
    for (uint64_t i = 0; i < options->seeds * policies && good; i++) {
        struct plan plan = options->plan;
        plan.seed += i / policies;
        plan.policies = options->all_policies ? i % policies : plan.policies;
        good = run_program(options, &plan, totals, settings);
    }
    free(settings);
    return good;
}

static bool has_required(const struct options *options, const struct totals *totals) {
    bool has = true;
    for (unsigned i = 0; i < TOTALS_COUNT; i++) {
        if (totals->statistics[i] >= options->required[i])
            continue;
        printf("FAIL %s: %" PRIu64 " are required\n", totals_name(i), options->required[i]);
        has = false;
    }
    return has;
}

int main(int argc, char **argv) {
    struct options options = {
        .plan = {.seed = 1,
                 .operations = 4000,
                 .streams = 8,
                 .blocking = 33,
                 .threads = 1,
                 .contexts = 1,
                 .pools = 1,
                 .first_use_elsewhere = true},
        .seeds = 1,
        .all_policies = true,
        .run = program_run,
    };
    const struct argp argp = {
        .options = option_table, .parser = read_option, .doc = "Runs random programs on the pool."};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    struct totals *totals = totals_open();
    if (!totals)
        return EXIT_FAILURE;
    bool good = run_all(&options, totals);
    totals_print(totals);
    return good && has_required(&options, totals) ? EXIT_SUCCESS : EXIT_FAILURE;
}
