// streampool-room: random programs that free nearly everything and go quiet, known to CUDA alone,
// and then ask how much others can have.
//
// Each program is a process: its seed chooses everything. It fails when another stream, another
// pool or cuMemAlloc gets less than what is free by more than the promise excepts
// (docs/promises.md).
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "room/measure.h"
#include "room/orders.h"
#include "room/scene.h"
#include "support/check.h"
#include "support/device.h"

struct options {
    uint64_t seed, seeds, rounds, operations, orders;
    int64_t cap;
    bool trace, goes_on;
};

static const struct argp_option option_table[] = {
    {"driver", 'd', "sim|PATH", 0, "the driver: the simulated one, or a library of it", 0},
    {"seed", 's', "N", 0, "the first seed (1)", 0},
    {"seeds", 'n', "N", 0, "how many seeds at most (100)", 0},
    {"rounds", 'r', "N", 0, "how many quiet points in each program (4)", 0},
    {"operations", 'o', "N", 0, "begin no further program after so many operations", 0},
    {"orders", 'q', "N", 0, "fail unless each order of frees was drawn so often", 0},
    {"cap", 'c', "BYTES", 0, "UnfencedBytesMax of all pools, instead of the default", 0},
    {"trace", 'v', NULL, 0, "print every step", 0},
    {"go-on", 'k', NULL, 0, "go on behind a failure, and count them", 0},
    {0},
};

static uint64_t number(const char *text, const struct argp_state *state) {
    char *end;
    uint64_t value = strtoull(text, &end, 10);
    if (*text == '\0' || *end != '\0')
        argp_error(state, "%s is no number", text);
    return value;
}

static error_t read_option(int key, char *value, struct argp_state *state) {
    struct options *options = state->input;
    switch (key) {
    case 'd':
        if (!test_choose_driver(value))
            argp_failure(state, EXIT_FAILURE, 0, "the simulated driver is not where it was built");
        return 0;
    case 's':
        options->seed = number(value, state);
        return 0;
    case 'n':
        options->seeds = number(value, state);
        return 0;
    case 'r':
        options->rounds = number(value, state);
        return 0;
    case 'o':
        options->operations = number(value, state);
        return 0;
    case 'q':
        options->orders = number(value, state);
        return 0;
    case 'c':
        options->cap = (int64_t)number(value, state);
        return 0;
    case 'v':
        options->trace = true;
        return 0;
    case 'k':
        options->goes_on = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

// A device of the drawn memory and granule, with what the environment says beside that.
static void set_device(const struct scene *scene) {
    const char *more = getenv("STREAMPOOL_SIMCUDA");
    char settings[256];
    snprintf(settings, sizeof settings, "memory=%zuM,granule=%zuK%s%s", scene->memory >> 20,
             scene->granule >> 10, more ? "," : "", more ? more : "");
    setenv("STREAMPOOL_SIMCUDA", settings, 1);
}

static void run(const struct options *options, uint64_t seed, struct tally *tally) {
    static const size_t memories[] = {MIB(128), MIB(256), MIB(512), GIB(2)};
    static const size_t granules[] = {MIB(2), MIB(2), MIB(2), KIB(64)};
    static struct scene scene;
    scene = (struct scene){
        .numbers = {seed}, .tally = tally, .cap = options->cap, .trace = options->trace};
    scene.memory = memories[scene_below(&scene, 4)];
    scene.granule = granules[scene_below(&scene, 4)];
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_set_subject("seed %" PRIu64, seed);
    set_device(&scene);
    test_use_device(0);
    scene_open(&scene);
    for (uint64_t i = 0; i < options->rounds; i++) {
        scene_become_quiet(&scene);
        measure(&scene);
    }
    tally->programs++;
}

static bool run_apart(const struct options *options, uint64_t seed, struct tally *tally) {
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        run(options, seed, tally);
        fflush(stdout);
        _exit(EXIT_SUCCESS);
    }
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static uint64_t run_all(const struct options *options, struct tally *tally) {
    uint64_t failures = 0;
    for (uint64_t i = 0; i < options->seeds && tally->operations < options->operations; i++) {
        failures += !run_apart(options, options->seed + i, tally);
        if (failures > 0 && !options->goes_on)
            break;
    }
    return failures;
}

// False where an order came too seldom.
static bool report(const struct options *options, const struct tally *tally, uint64_t failures) {
    bool enough = true;
    printf("%" PRIu64 " programs, %" PRIu64 " operations, %" PRIu64 " quiet points, %" PRIu64
           " measured, %" PRIu64 " failed\n",
           tally->programs, tally->operations, tally->quiet_points, tally->measured, failures);
    for (unsigned i = 0; i < ORDERS; i++) {
        printf("%-16s %" PRIu64 "\n", orders_names[i], tally->orders[i]);
        enough = enough && tally->orders[i] >= options->orders;
    }
    return enough;
}

int main(int argc, char **argv) {
    struct options options = {
        .seed = 1, .seeds = 100, .rounds = 4, .operations = UINT64_MAX, .cap = -1};
    const struct argp argp = {.options = option_table,
                              .parser = read_option,
                              .doc = "Asks what others can have of what is free."};
    argp_parse(&argp, argc, argv, 0, NULL, &options);
    struct tally *tally =
        mmap(NULL, sizeof *tally, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (tally == MAP_FAILED)
        return EXIT_FAILURE;
    uint64_t failures = run_all(&options, tally);
    return report(&options, tally, failures) && failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
