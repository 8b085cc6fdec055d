// streampool-bench: the pool beside CUDA's own, in one run.
//
// Every figure is a median over interleaved rounds with its least and most beside it, and the ratio to CUDA's
// pool measured in the same rounds. On a driver without pools of its own (the simulated one) only ours is
// measured, and its times are those of the host.
#include "bench.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// X(name, what it measures)
#define CASES(X)                                                                                             \
    X(pair, "a malloc and a free on one stream, by size")                                                    \
    X(growth, "a new pool's first allocation and its trim, by size")

static const struct {
    const char *name;
    const char *summary;
    int (*run)(struct bench *bench);
} cases[] = {
#define CASE(name, summary) {#name, summary, case_##name},
    CASES(CASE)
#undef CASE
};
enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

int bench_fail(const char *what, int error) {
    fprintf(stderr, "streampool-bench: %s: error %d\n", what, error);
    return error;
}

const char *bench_size_text(size_t size, char text[16]) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
    int unit = 0;
    while (unit < 3 && size >= 1024 && size % 1024 == 0) {
        size /= 1024;
        unit++;
    }
    snprintf(text, 16, "%zu %s", size, units[unit]);
    return text;
}

void bench_print_head(const struct bench *bench, const char *title, const char *unit) {
    printf("\n%s (%s: median [least .. most], %d rounds)\n", title, unit, bench->rounds);
    printf("%-16s", "");
    for (int i = 0; i < bench->subject_count; i++)
        printf("  %-32s", bench->subjects[i].name);
    printf(bench->subject_count > 1 ? "  ratio [quartiles]\n" : "\n");
}

static void print_samples(struct samples *samples, double scale) {
    char text[64];
    snprintf(text, sizeof text, "%.1f [%.1f .. %.1f]", samples_at(samples, 0.5) / scale,
             samples_at(samples, 0) / scale, samples_at(samples, 1) / scale);
    printf("  %-32s", text);
}

void bench_print_row(const struct bench *bench, const char *setting, struct samples samples[SUBJECT_COUNT],
                     double scale) {
    printf("%-16s", setting);
    for (int i = 0; i < bench->subject_count; i++)
        print_samples(&samples[i], scale);
    if (bench->subject_count > 1) {
        struct samples *ours = &samples[SUBJECT_OURS];
        struct samples *cudas = &samples[SUBJECT_CUDAS];
        printf("  %.3f [%.3f .. %.3f]", samples_at(ours, 0.5) / samples_at(cudas, 0.5),
               samples_at(ours, 0.25) / samples_at(cudas, 0.75),
               samples_at(ours, 0.75) / samples_at(cudas, 0.25));
    }
    printf("\n");
    fflush(stdout);
}

// ----------------------------------------------------------------------------------------- the program

struct arguments {
    int rounds;
    bool wanted[CASE_COUNT];
    bool any;
};

static error_t want_case(struct arguments *arguments, const char *name, struct argp_state *state) {
    for (int i = 0; i < CASE_COUNT; i++) {
        if (strcmp(name, cases[i].name) == 0) {
            arguments->wanted[i] = arguments->any = true;
            return 0;
        }
    }
    argp_error(state, "there is no case '%s'", name);
    return EINVAL;
}

static error_t want_rounds(struct arguments *arguments, const char *text, struct argp_state *state) {
    char *end;
    long rounds = strtol(text, &end, 10);
    if (*end || rounds < 1 || rounds >= SAMPLES_MAX)
        argp_error(state, "the number of rounds must be from 1 to %d, not '%s'", SAMPLES_MAX - 1, text);
    arguments->rounds = (int)rounds;
    return 0;
}

static error_t parse(int key, char *value, struct argp_state *state) {
    switch (key) {
    case 'r':
        return want_rounds(state->input, value, state);
    case ARGP_KEY_ARG:
        return want_case(state->input, value, state);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// The device's name and the driver's version, without which no figure means anything.
static void print_machine(const struct sp_driver *driver) {
    char name[256] = "";
    driver->cuDeviceGetName(name, sizeof name, 0);
    printf("%s, driver for CUDA %d.%d (%s), entry points up to %d.%d\n", name, driver->version / 1000,
           driver->version % 1000 / 10, driver->path, driver->api_version / 1000,
           driver->api_version % 1000 / 10);
}

static int run(const struct arguments *arguments, const struct sp_driver *driver) {
    struct bench bench = {.rounds = arguments->rounds};
    CUcontext context;
    int error = (int)driver->cuDevicePrimaryCtxRetain(&context, 0);
    if (!error)
        error = (int)driver->cuCtxSetCurrent(context);
    if (!error)
        error = (int)driver->cuStreamCreate(&bench.stream, CU_STREAM_NON_BLOCKING);
    if (error)
        return bench_fail("opening device 0", error);
    bench.subject_count = subjects_init(bench.subjects, driver);
    print_machine(driver);
    for (int i = 0; i < CASE_COUNT && !error; i++) {
        if (arguments->wanted[i] || !arguments->any)
            error = cases[i].run(&bench);
    }
    driver->cuStreamDestroy(bench.stream);
    driver->cuDevicePrimaryCtxRelease(0);
    return error;
}

int main(int argc, char **argv) {
    static const struct argp_option options[] = {
        {"rounds", 'r', "N", 0, "measure N interleaved rounds (default 21)", 0}, {0}};
    static const struct argp argp = {options,
                                     parse,
                                     "[CASE...]",
                                     "Measure the pool beside CUDA's own.\v"
                                     "Cases: pair, growth. Without one, all are run.",
                                     NULL,
                                     NULL,
                                     NULL};
    struct arguments arguments = {.rounds = 21};
    const struct sp_driver *driver;
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    if (sp_driver_load(&driver) != CUDA_SUCCESS) {
        fprintf(stderr, "streampool-bench: %s\n", sp_driver_problem());
        return 1;
    }
    return run(&arguments, driver) ? 1 : 0;
}
