#include "simcuda/host.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/number.h"

// Zeroed where it is new.
static void *try(void *memory, size_t bytes) {
    return memory ? realloc(memory, bytes) : calloc(1, bytes);
}

// A soft limit of the process's address space is for the program and the library.
static void *try_beyond_limit(void *memory, size_t bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0)
        return NULL;
    const struct rlimit lifted = {limit.rlim_max, limit.rlim_max};
    (void)setrlimit(RLIMIT_AS, &lifted);
    void *taken = try(memory, bytes);
    (void)setrlimit(RLIMIT_AS, &limit);
    return taken;
}

static void *take(void *memory, size_t bytes) {
    void *taken = try(memory, bytes);
    if (!taken)
        taken = try_beyond_limit(memory, bytes);
    if (taken)
        return taken;
    sp_log_write("simulated driver: no host memory left");
    abort();
}

void *sim_allocate(size_t size) {
    return take(NULL, size ? size : 1);
}

void *sim_try_allocate(size_t size) {
    return try(NULL, size);
}

void *sim_reallocate(void *memory, size_t count, size_t size) {
    size_t bytes;
    return take(memory, sp_checked_mul(count, size, &bytes) ? bytes : SIZE_MAX);
}

void sim_free(void *memory) {
    free(memory);
}
