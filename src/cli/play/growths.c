#include "cli/play/growths.h"

#include <stdlib.h>

enum { ROOM_STEP = 1024 };

static _Thread_local size_t operation_played;

void sp_growths_release(struct sp_growths *growths) {
    free(growths->list);
    *growths = (struct sp_growths){0};
}

void sp_growths_note_operation(size_t operation) {
    operation_played = operation;
}

// Calls a stream by the trace's number, if it is one of the trace's.
static void translate(const struct sp_growths *growths, CUstream stream, uint64_t *id) {
    for (size_t i = 0; i < growths->trace->stream_count && stream; i++)
        if (growths->streams[i] == stream)
            *id = growths->trace->streams[i].number;
}

static void note(const struct poolMemPoolGrowth *told, void *user) {
    struct sp_growths *growths = user;
    const struct sp_trace *trace = growths->trace;
    if (!trace)
        return;
    if (growths->count % ROOM_STEP == 0) {
        struct sp_growth *list =
            reallocarray(growths->list, growths->count + ROOM_STEP, sizeof *list);
        growths->failed |= !list;
        if (!list)
            return;
        growths->list = list;
    }
    struct sp_growth *growth = &growths->list[growths->count++];
    *growth = growths->playing;
    growth->operation = operation_played;
    growth->told = *told;
    growth->told.streamId = trace->streams[trace->operations[operation_played].stream].number;
    translate(growths, told->pendingStream, &growth->told.pendingStreamId);
    translate(growths, told->unfencedStream, &growth->told.unfencedStreamId);
}

poolError_t sp_growths_observe(struct sp_growths *growths, poolMemPool_t pool) {
    return poolMemPoolSetGrowthObserver(pool, note, growths);
}
