#include "simcuda/host.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/log.h"

static void *or_abort(void *memory) {
    if (memory)
        return memory;
    sp_log_write("simulated driver: no host memory left");
    abort();
}

void *sim_allocate(size_t size) {
    return or_abort(calloc(1, size ? size : 1));
}

void *sim_reallocate(void *memory, size_t count, size_t size) {
    size_t bytes;
    if (!sp_checked_mul(count, size, &bytes))
        return or_abort(NULL);
    return or_abort(realloc(memory, bytes));
}

void sim_free(void *memory) {
    free(memory);
}
