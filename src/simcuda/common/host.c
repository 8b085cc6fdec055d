#include "simcuda/common/host.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "base/number.h"

#define SMALL 1024 // bytes

typedef void *(*allocator)(void *memory, size_t bytes);

// The C library has small pieces that were freed at hand for malloc, and not for calloc: which a
// compiler would make of malloc and memset, if it knew that it is malloc.
static void *(*volatile allocate_small)(size_t bytes) = malloc;

// Zeroed.
static void *allocate(void *none, size_t bytes) {
    (void)none;
    if (bytes > SMALL)
        return calloc(1, bytes);
    void *taken = allocate_small(bytes);
    return taken ? memset(taken, 0, bytes) : NULL;
}

// A soft limit of the process's address space is for the program and the library.
static void *try_beyond_limit(allocator try, void *memory, size_t bytes) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0)
        return NULL;
    const struct rlimit lifted = {limit.rlim_max, limit.rlim_max};
    (void)setrlimit(RLIMIT_AS, &lifted);
    void *taken = try(memory, bytes);
    (void)setrlimit(RLIMIT_AS, &limit);
    return taken;
}

static void *take(allocator try, void *memory, size_t bytes) {
    void *taken = try(memory, bytes);
    if (!taken)
        taken = try_beyond_limit(try, memory, bytes);
    if (taken)
        return taken;
    sp_log_write("simulated driver: no host memory left");
    abort();
}

void *sim_allocate(size_t size) {
    return take(allocate, NULL, size ? size : 1);
}

void *sim_try_allocate(size_t size) {
    return allocate(NULL, size);
}

void *sim_reallocate(void *memory, size_t count, size_t size) {
    size_t bytes;
    return take(realloc, memory, sp_checked_mul(count, size, &bytes) ? bytes : SIZE_MAX);
}

void sim_free(void *memory) {
    free(memory);
}
