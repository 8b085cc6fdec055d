// A clock for a process that loads this first (LD_PRELOAD): its readings alone move it, each by a
// microsecond, or by as many nanoseconds as STEPPING_CLOCK_NS says.
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Atomic uint64_t now;
static uint64_t step = 1000;

__attribute__((constructor)) static void read_step(void) {
    const char *text = getenv("STEPPING_CLOCK_NS");
    if (text)
        step = strtoull(text, NULL, 10);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *time) {
    if (clock != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, clock, time);
    uint64_t read = step + atomic_fetch_add(&now, step);
    time->tv_sec = (time_t)(read / 1000000000);
    time->tv_nsec = (long)(read % 1000000000);
    return 0;
}
