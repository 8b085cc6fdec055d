#include "cli/play/growths.h"

#include <stdlib.h>

static _Thread_local size_t operation_played;

void sp_growths_release(struct sp_growths *growths) {
    free(growths->list);
    *growths = (struct sp_growths){0};
}

void sp_growths_note_operation(size_t operation) {
    operation_played = operation;
}

static bool make_room(struct sp_growths *growths) {
    if (growths->count < growths->capacity)
        return true;
    size_t capacity = growths->capacity ? growths->capacity * 2 : 256;
    struct sp_growth *list = realloc(growths->list, capacity * sizeof *list);
    if (!list)
        return false;
    growths->list = list;
    growths->capacity = capacity;
    return true;
}

static void note(const struct poolMemPoolGrowth *told, void *user) {
    struct sp_growths *growths = user;
    const struct sp_trace *trace = growths->trace;
    if (!trace)
        return;
    if (!make_room(growths)) {
        growths->failed = true;
        return;
    }
    struct sp_growth *growth = &growths->list[growths->count++];
    *growth = growths->playing;
    growth->operation = operation_played;
    growth->stream = trace->streams[trace->operations[operation_played].stream].number;
    growth->told = *told;
}

poolError_t sp_growths_observe(struct sp_growths *growths, poolMemPool_t pool) {
    return poolMemPoolSetGrowthObserver(pool, note, growths);
}
