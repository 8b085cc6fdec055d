#include "cli/trace/traces.h"

#include "cli/program/complain.h"

#include <stdlib.h>

bool sp_traces_read(struct sp_traces *traces, char *const *paths, size_t count) {
    *traces = (struct sp_traces){.list = calloc(count, sizeof *traces->list)};
    if (!traces->list)
        return sp_complain("out of host memory");
    for (; traces->count < count; traces->count++) {
        struct sp_trace_error error;
        if (sp_trace_read(paths[traces->count], &traces->list[traces->count], &error))
            continue;
        sp_trace_error_print(stderr, paths[traces->count], &error);
        return false;
    }
    return true;
}

void sp_traces_release(struct sp_traces *traces) {
    for (size_t i = 0; i < traces->count; i++)
        sp_trace_release(&traces->list[i]);
    free(traces->list);
    *traces = (struct sp_traces){.list = NULL};
}

size_t sp_traces_operations(const struct sp_traces *traces) {
    size_t operations = 0;
    for (size_t i = 0; i < traces->count; i++)
        operations += traces->list[i].operation_count;
    return operations;
}
