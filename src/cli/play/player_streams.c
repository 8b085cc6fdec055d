#include "cli/play/part.h"

// ----------------------------------------------------------------------------- create and destroy

// The handles of default streams are the same at all times.
static bool is_default(const struct sp_player *player, size_t i) {
    const struct sp_trace_stream *stream = &player->play.trace->streams[i];
    bool own_thread = player->part_count > 1 || stream->thread == 0;
    return stream->kind == SP_TRACE_LEGACY || (stream->kind == SP_TRACE_PER_THREAD && own_thread);
}

static CUresult create_stream(struct sp_player *player, size_t i) {
    enum sp_trace_kind kind = player->play.trace->streams[i].kind;
    if (is_default(player, i)) {
        player->streams[i] = kind == SP_TRACE_LEGACY ? NULL : CU_STREAM_PER_THREAD;
        return CUDA_SUCCESS;
    }
    if (player->streams[i] && !player->ended[i])
        return CUDA_SUCCESS;
    unsigned flags = kind == SP_TRACE_NON_BLOCKING ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
    CUresult result = sp_player_driver(player)->cuStreamCreate(&player->streams[i], flags);
    if (result != CUDA_SUCCESS)
        player->streams[i] = NULL;
    return result;
}

CUresult sp_player_streams_create_event(const struct sp_player *player, CUevent *event) {
    if (*event)
        return CUDA_SUCCESS;
    CUresult result = sp_player_driver(player)->cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS)
        *event = NULL;
    return result;
}

static void destroy_trace_events(struct sp_player *player) {
    for (size_t i = 0; i < player->play.trace->event_count; i++) {
        if (player->trace_events[i])
            sp_player_order(player, SP_TRACE_DESTROY_EVENT, NULL, player->trace_events[i]);
        player->trace_events[i] = NULL;
        atomic_store(&player->turns[i], 0);
    }
}

bool sp_player_streams_create(struct sp_player *player) {
    size_t count = player->play.trace->stream_count;
    destroy_trace_events(player);
    for (size_t i = 0; i < count; i++) {
        CUresult result = create_stream(player, i);
        player->ended[i] = false;
        if (result == CUDA_SUCCESS)
            result = sp_player_streams_create_event(player, &player->events[i]);
        if (result != CUDA_SUCCESS)
            return sp_stage_fail(player->play.stage, "stream %zu of %zu can't be created: %s",
                                 i + 1, count, sp_driver_error_name(result));
    }
    return true;
}

void sp_player_streams_destroy(struct sp_player *player) {
    destroy_trace_events(player);
    for (size_t i = 0; i < player->play.trace->stream_count; i++) {
        if (player->events[i])
            sp_player_order(player, SP_TRACE_DESTROY_EVENT, NULL, player->events[i]);
        if (player->streams[i] && !player->ended[i] && !is_default(player, i))
            sp_player_order(player, SP_TRACE_DESTROY_STREAM, player->streams[i], NULL);
    }
}

// ---------------------------------------------------------------------------- who can use a stream

static bool is_of(const struct sp_player *player, const struct sp_trace_stream *stream,
                  uint32_t thread) {
    return stream->kind != SP_TRACE_PER_THREAD || player->part_count == 1 ||
           stream->thread == thread;
}

// A stream's end waits for all operations before it, so it isn't under way here.
bool sp_player_streams_can_use(const struct sp_part *part, uint32_t stream) {
    const struct sp_trace_stream *named = &part->player->play.trace->streams[stream];
    return named->end > part->at && is_of(part->player, named, sp_part_line(part)->thread);
}

// The calling thread plays the first part, which is that of the trace's first thread.
uint32_t sp_player_streams_left(const struct sp_player *player, uint32_t stream) {
    bool is_there =
        !player->ended[stream] && is_of(player, &player->play.trace->streams[stream], 0);
    return is_there ? stream : SP_TRACE_NO_STREAM;
}

// ----------------------------------------------------------------------------- between two passes

// Synchronises each stream, and the device where one can't be passed.
static int synchronize(const struct sp_player *player,
                       int (*order)(struct sp_stage *stage, enum sp_trace_action action,
                                    CUstream stream, CUevent event)) {
    struct sp_stage *stage = player->play.stage;
    bool all_there = true;
    int status = 0;
    for (uint32_t i = 0; i < player->play.trace->stream_count && status == 0; i++)
        if (sp_player_streams_left(player, i) == i)
            status = order(stage, SP_TRACE_SYNCHRONIZE_STREAM, player->streams[i], NULL);
        else
            all_there = false;
    return status != 0 || all_there ? status
                                    : order(stage, SP_TRACE_SYNCHRONIZE_DEVICE, NULL, NULL);
}

bool sp_player_streams_finish(const struct sp_player *player) {
    return sp_stage_check(player->play.stage, "a stream's work has not ended well",
                          synchronize(player, sp_driver_order));
}

bool sp_player_streams_synchronize(const struct sp_player *player) {
    const struct sp_allocator *allocator = player->play.allocator;
    int status = synchronize(player, allocator->order);
    return status == 0 || sp_stage_fail(player->play.stage, "a stream can't be synchronised: %s",
                                        allocator->error_name(status));
}
