// The model test: random operations, one process for each seed.
//
//   model_heap_test [--seed N] [--seeds N] [--operations N]
//
// runs `--seeds` seeds from `--seed` on. A failure names the seed and the operation; `--seed N
// --seeds 1` repeats it.
#include <argp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "model/operations.h"

struct choice {
    uint64_t seed;
    uint64_t seeds;
    uint64_t operations;
};

static error_t read_option(int key, char *value, struct argp_state *state) {
    struct choice *choice = state->input;
    uint64_t *number = key == 's'   ? &choice->seed
                       : key == 'n' ? &choice->seeds
                       : key == 'o' ? &choice->operations
                                    : NULL;
    if (!number)
        return ARGP_ERR_UNKNOWN;
    char *end;
    *number = strtoull(value, &end, 10);
    if (*end != '\0' || end == value)
        argp_error(state, "%s is not a number", value);
    return 0;
}

static const struct argp_option options[] = {
    {"seed", 's', "N", 0, "the first seed", 0},
    {"seeds", 'n', "N", 0, "how many seeds", 0},
    {"operations", 'o', "N", 0, "how many operations for each seed", 0},
    {0},
};

// The child fails by itself, with a text; here is only what it can't say any more.
static int run_seed(uint64_t seed, uint64_t operations, _Atomic uint64_t *done) {
    *done = 0;
    pid_t child = fork();
    if (child == 0) {
        run_operations(seed, operations, done);
        exit(EXIT_SUCCESS);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return EXIT_FAILURE;
    if (WIFSIGNALED(status))
        printf("seed %" PRIu64 ", operation %" PRIu64 " FAIL ended by SIG%s\n", seed, *done,
               sigabbrev_np(WTERMSIG(status)));
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    struct choice choice = {.seed = 1, .seeds = 24, .operations = 4000};
    const struct argp argp = {.options = options,
                              .parser = read_option,
                              .doc = "Compares random operations with a model."};
    argp_parse(&argp, argc, argv, 0, NULL, &choice);

    _Atomic uint64_t *done =
        mmap(NULL, sizeof *done, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (done == MAP_FAILED)
        return EXIT_FAILURE;
    int worst = EXIT_SUCCESS;
    for (uint64_t i = 0; i < choice.seeds; i++) {
        if (run_seed(choice.seed + i, choice.operations, done) != EXIT_SUCCESS)
            worst = EXIT_FAILURE;
    }
    if (worst == EXIT_SUCCESS)
        printf("%" PRIu64 " seeds of %" PRIu64 " operations agree with the model\n", choice.seeds,
               choice.operations);
    return worst;
}
