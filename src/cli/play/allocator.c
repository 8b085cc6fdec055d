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
