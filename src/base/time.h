// Time as the host measures it.
#ifndef STREAMPOOL_BASE_TIME_H
#define STREAMPOOL_BASE_TIME_H

#include <stdint.h>
#include <time.h>

// Nanoseconds since some moment, which never go back.
static inline uint64_t sp_time_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

#endif
