#include "cli/play/allocator.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct sp_allocator *sp_allocator_find(const char *name, size_t length) {
    static const struct sp_allocator *const allocators[] = {
#define ALLOCATOR_ROW(name, summary) &sp_allocator_##name,
        SP_ALLOCATORS(ALLOCATOR_ROW)
#undef ALLOCATOR_ROW
    };
    for (size_t i = 0; i < SP_ALLOCATOR_COUNT; i++)
        if (strlen(allocators[i]->name) == length && memcmp(allocators[i]->name, name, length) == 0)
            return allocators[i];
    return NULL;
}

const char *sp_allocator_title(const char *name) {
    const struct sp_allocator *allocator = sp_allocator_find(name, strlen(name));
    return allocator ? allocator->title : name;
}

bool sp_allocator_suits(const struct sp_allocator *allocator, const struct sp_trace *trace,
                        char reason[SP_UNSUITED_TEXT]) {
    return !allocator->suits || allocator->suits(trace, reason, SP_UNSUITED_TEXT);
}

bool sp_stage_fail(struct sp_stage *stage, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(stage->reason, sizeof stage->reason, format, arguments);
    va_end(arguments);
    return false;
}

// ------------------------------------------------------------------------------ the driver's calls

int sp_driver_order(struct sp_stage *stage, enum sp_trace_action action, CUstream stream,
                    CUevent event) {
    const struct sp_driver *driver = sp_stage_driver(stage);
    switch (action) {
#define ORDER(action, name, call)                                                                  \
    case SP_TRACE_##action:                                                                        \
        return (int)driver->cu##call;
        SP_ORDERS(ORDER)
#undef ORDER
    case SP_TRACE_SYNCHRONIZE_DEVICE:
        return (int)driver->cuCtxSynchronize();
    default: // the kind of a stream
        return CUDA_SUCCESS;
    }
}

// A peer may return numbers that no driver knows: then the number is all that there is to say.
const char *sp_driver_status_name(int status) {
    static _Thread_local char unknown[32];
    const char *name = sp_driver_error_name((CUresult)status);
    if (!strchr(name, '?'))
        return name;
    snprintf(unknown, sizeof unknown, "error %d", status);
    return unknown;
}

int sp_no_trim(struct sp_stage *stage, uint64_t keep) {
    (void)stage, (void)keep;
    return CUDA_SUCCESS;
}
