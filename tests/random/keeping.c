#include "random/keeping.h"

#include <string.h>

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b) {
    return a < b ? a : b;
}

void keeping_primed(struct keeping *keeping, uint64_t bytes, uint64_t reserved) {
    keeping->primed = larger(keeping->primed, bytes);
    keeping->primed_until = larger(keeping->primed_until, reserved);
}

void keeping_trimmed(struct keeping *keeping, uint64_t keep) {
    keeping->primed = smaller(keeping->primed, keep);
    keeping->primed_until = smaller(keeping->primed_until, keep);
}

void keeping_delayed(struct keeping *keeping, uint64_t delay, uint64_t used) {
    keeping->delay = delay;
    memset(keeping->most_used, 0, sizeof keeping->most_used);
    keeping->most_used[0] = used;
}

void keeping_used(struct keeping *keeping, uint64_t used) {
    keeping->most_used[0] = larger(keeping->most_used[0], used);
}

void keeping_synchronized(struct keeping *keeping, uint64_t used) {
    memmove(keeping->most_used + 1, keeping->most_used,
            sizeof keeping->most_used[0] * (INTERVALS - 1));
    keeping->most_used[0] = used;
}

uint64_t keeping_most(const struct keeping *keeping, uint64_t stays) {
    return larger(keeping->threshold, smaller(stays + keeping->primed, keeping->primed_until));
}

uint64_t keeping_least(const struct keeping *keeping, uint64_t used) {
    uint64_t least = keeping_most(keeping, used);
    for (uint64_t i = 0; i < keeping->delay; i++)
        least = larger(least, keeping->most_used[i]);
    return least;
}
