// How the work of each public call grows with its own arguments and with what the process did
// before: "the largest block ever", "streams ever".
//
//   growth [--all]
//
// Work is counted, not timed. The library is built unoptimised, with a call in each basic block,
// and those are counted which a call enters on its thread. The driver, and what libc does for a
// call, don't count.
//
// A *dimension* is one number of the history or of the arguments. For each dimension a seed draws
// the other numbers, small ones, and which of them comes true first. Two processes then do the
// same, but that the dimension is FACTOR times as large in the second one. Both make every call a
// few times; the mean is compared. A call that bounds.inc doesn't name with the dimension costs as
// much in both, up to some steps of a search. With --all each pair of figures is printed.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "growth/count.h"
#include "growth/world.h"
#include "support/check.h"

enum { SEEDS = 3, FACTOR = 16, WARM = 3, ROUNDS = 8, CALLS_MAX = 64 };

// ------------------------------------------------------------------------------------- the bounds

static const struct {
    const char *text;
    uint64_t least, most; // what is drawn where it isn't the dimension in question
} dimensions[] = {
#define GROWTH_ROW(name, text, least, most) {#text, least, most},
    GROWTH_DIMENSIONS(GROWTH_ROW)
#undef GROWTH_ROW
};

// The call may take so many more basic blocks for one more of the dimension.
static const struct bound {
    const char *call;
    const char *dimension;
    uint64_t each;
} bounds[] = {
#include "growth/bounds.inc"
};

enum { BOUNDS = sizeof bounds / sizeof bounds[0] };

static uint64_t bound_of(const char *call, enum dimension dimension) {
    for (size_t i = 0; i < BOUNDS; i++) {
        if (strcmp(bounds[i].call, call) == 0 &&
            strcmp(bounds[i].dimension, dimensions[dimension].text) == 0)
            return bounds[i].each;
    }
    return 0;
}

static uint64_t most_of(const struct call *call, uint64_t few, uint64_t each, uint64_t more) {
    return few + few / 5 + call->ways + each * more;
}

// ------------------------------------------------------------------------------------ one process

static uint64_t mean_of(struct world *world, const struct call *call) {
    for (int i = 0; i < WARM; i++)
        call->make(world);
    growth_entered = 0;
    for (int i = 0; i < ROUNDS; i++)
        call->make(world);
    return growth_entered / ROUNDS;
}

static _Noreturn void count_calls(struct world *world, int to) {
    uint64_t means[CALLS_MAX] = {0};
    world_make(world);
    for (size_t i = 0; i < world_call_count; i++) {
        test_set_subject("%s", world_calls[i].name);
        means[i] = mean_of(world, &world_calls[i]);
    }
    REQUIRE(write(to, means, sizeof means) == sizeof means);
    fflush(NULL);
    _exit(0);
}

// The parent has no driver and no library at work, so its children can.
static bool run(struct world *world, uint64_t means[CALLS_MAX]) {
    int ends[2], status = 0;
    REQUIRE(pipe(ends) == 0);
    fflush(NULL);
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0)
        count_calls(world, ends[1]);
    close(ends[1]);
    bool read_all =
        read(ends[0], means, CALLS_MAX * sizeof means[0]) == (ssize_t)(CALLS_MAX * sizeof means[0]);
    close(ends[0]);
    return waitpid(child, &status, 0) == child && status == 0 && read_all;
}

// --------------------------------------------------------------------------------------- compared

static struct world draw_world(uint64_t seed) {
    struct world world = {.numbers.state = seed};
    for (size_t i = 0; i < DIMENSION_COUNT; i++) {
        uint64_t least = dimensions[i].least, most = dimensions[i].most;
        world.size[i] = least + numbers_below(&world.numbers, most - least + 1);
    }
    return world;
}

// Compares one call in two processes, of which the second had so many more of the dimension.
static bool is_within(const struct call *call, enum dimension dimension, uint64_t more,
                      const uint64_t means[2], bool all) {
    uint64_t most = most_of(call, means[0], bound_of(call->name, dimension), more);
    bool within = means[1] <= most;
    if (all || !within)
        printf("%-22s %6ju more %-12s %7ju -> %7ju basic blocks%s\n", call->name, (uintmax_t)more,
               dimensions[dimension].text, (uintmax_t)means[0], (uintmax_t)means[1],
               within ? "" : ": too many");
    return within;
}

static bool compare(enum dimension dimension, uint64_t seed, bool all) {
    struct world few = draw_world(seed), many = few;
    uint64_t less[CALLS_MAX], more[CALLS_MAX];
    bool good = true;
    many.size[dimension] *= FACTOR;
    if (!run(&few, less) || !run(&many, more)) {
        printf("%s, seed %ju: a process failed\n", dimensions[dimension].text, (uintmax_t)seed);
        return false;
    }
    for (size_t i = 0; i < world_call_count; i++)
        good = is_within(&world_calls[i], dimension, many.size[dimension] - few.size[dimension],
                         (uint64_t[]){less[i], more[i]}, all) &&
               good;
    return good;
}

static bool is_call(const char *name) {
    size_t i = 0;
    while (i < world_call_count && strcmp(world_calls[i].name, name) != 0)
        i++;
    return i < world_call_count;
}

static bool is_dimension(const char *text) {
    size_t i = 0;
    while (i < DIMENSION_COUNT && strcmp(dimensions[i].text, text) != 0)
        i++;
    return i < DIMENSION_COUNT;
}

int main(int argc, char **argv) {
    char settings[64];
    bool all = argc == 2 && strcmp(argv[1], "--all") == 0, good = true;
    if (argc != 1 && !all) {
        fputs("usage: growth [--all]\n", stderr);
        return 2;
    }
    REQUIRE(world_call_count <= CALLS_MAX);
    for (size_t i = 0; i < BOUNDS; i++)
        REQUIRE(is_call(bounds[i].call) && is_dimension(bounds[i].dimension));
    snprintf(settings, sizeof settings, "memory=141G,devices=%d", WORLD_DEVICES);
    REQUIRE(setenv("STREAMPOOL_SIMCUDA", settings, 1) == 0);
    for (enum dimension dimension = 0; dimension < DIMENSION_COUNT; dimension++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++)
            good = compare(dimension, seed * 1000 + dimension, all) && good;
    }
    return good ? 0 : 1;
}
