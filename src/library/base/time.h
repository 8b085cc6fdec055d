// The host's clock: nanoseconds that only grow, from an arbitrary beginning.
#ifndef STREAMPOOL_BASE_TIME_H
#define STREAMPOOL_BASE_TIME_H

#include <stdint.h>
#include <time.h>

#define SP_SECOND ((uint64_t)1000000000)

static inline uint64_t sp_time_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * SP_SECOND + (uint64_t)time.tv_nsec;
}

#endif
