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

int sp_driver_synchronize(struct sp_stage *stage, CUstream stream) {
    return (int)stage->device->driver->cuStreamSynchronize(stream);
}

int sp_driver_synchronize_event(struct sp_stage *stage, CUevent event) {
    return (int)stage->device->driver->cuEventSynchronize(event);
}

int sp_driver_synchronize_device(struct sp_stage *stage) {
    return (int)stage->device->driver->cuCtxSynchronize();
}

int sp_driver_query(struct sp_stage *stage, CUstream stream) {
    return (int)stage->device->driver->cuStreamQuery(stream);
}

int sp_driver_query_event(struct sp_stage *stage, CUevent event) {
    return (int)stage->device->driver->cuEventQuery(event);
}

int sp_driver_record(struct sp_stage *stage, CUevent event, CUstream stream) {
    return (int)stage->device->driver->cuEventRecord(event, stream);
}

int sp_driver_wait(struct sp_stage *stage, CUstream stream, CUevent event) {
    return (int)stage->device->driver->cuStreamWaitEvent(stream, event, 0);
}

int sp_driver_destroy_stream(struct sp_stage *stage, CUstream stream) {
    return (int)stage->device->driver->cuStreamDestroy(stream);
}

int sp_driver_destroy_event(struct sp_stage *stage, CUevent event) {
    return (int)stage->device->driver->cuEventDestroy(event);
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

void sp_look_at_nothing(struct sp_stage *stage, struct sp_figures *figures) {
    (void)stage;
    (void)figures;
}

bool sp_no_statistics(struct sp_stage *stage, struct sp_statistics *statistics) {
    (void)stage;
    *statistics = (struct sp_statistics){.known = false};
    return true;
}
