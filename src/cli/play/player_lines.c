#include "cli/play/player_lines.h"

#include "cli/play/player_streams.h"

#include <sched.h>

// A question is asked for what the pool learns of it. The answer depends on how long the work is,
// so a no is as good as a yes.
static void check_answer(struct sp_part *part, size_t i, int status) {
    if (status != CUDA_ERROR_NOT_READY)
        sp_part_check(part, i, "query", status);
}

// ---------------------------------------------------------------------------------- with an event

static void wait_for_turn(struct sp_player *player, const struct sp_trace_operation *operation) {
    while (atomic_load(&player->turns[operation->event]) != operation->turn)
        sched_yield();
}

static bool create_event(struct sp_part *part, size_t i, CUevent *event) {
    if (*event)
        return true;
    const struct sp_driver *driver = part->player->play.stage->device->driver;
    CUresult result = driver->cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS)
        *event = NULL;
    sp_part_check_driver(part, i, "event create", result);
    return result == CUDA_SUCCESS;
}

static void call_with_event(struct sp_part *part, size_t i, CUevent *event) {
    const struct sp_player *player = part->player;
    const struct sp_play *play = &player->play;
    const struct sp_trace_operation *operation = sp_part_operation(part, i);
    switch (operation->action) {
    case SP_TRACE_RECORD:
        sp_part_check(
            part, i, "event record",
            play->allocator->record(play->stage, *event, player->streams[operation->stream]));
        break;
    case SP_TRACE_WAIT:
        sp_part_check(
            part, i, "event wait",
            play->allocator->wait(play->stage, player->streams[operation->stream], *event));
        break;
    case SP_TRACE_SYNCHRONIZE_EVENT:
        sp_part_check(part, i, "synchronise",
                      play->allocator->synchronize_event(play->stage, *event));
        break;
    case SP_TRACE_QUERY_EVENT:
        check_answer(part, i, play->allocator->query_event(play->stage, *event));
        break;
    default:
        sp_part_check(part, i, "event destroy",
                      play->allocator->destroy_event(play->stage, *event));
        *event = NULL;
        break;
    }
}

static void play_event(struct sp_part *part, size_t i) {
    struct sp_player *player = part->player;
    const struct sp_trace_operation *operation = sp_part_operation(part, i);
    CUevent *event = &player->trace_events[operation->event];
    wait_for_turn(player, operation);
    if (create_event(part, i, event))
        call_with_event(part, i, event);
    atomic_store(&player->turns[operation->event], operation->turn + 1);
}

// ---------------------------------------------------------------------------------------- all
// lines

void sp_player_lines_play(struct sp_part *part, size_t i) {
    const struct sp_player *player = part->player;
    const struct sp_play *play = &player->play;
    const struct sp_trace_operation *operation = sp_part_operation(part, i);
    switch (operation->action) {
    case SP_TRACE_DESTROY_STREAM:
        sp_player_streams_end(part, i);
        break;
    case SP_TRACE_SYNCHRONIZE_STREAM:
        sp_part_check(
            part, i, "synchronise",
            play->allocator->synchronize(play->stage, player->streams[operation->stream]));
        break;
    case SP_TRACE_SYNCHRONIZE_DEVICE:
        sp_part_check(part, i, "synchronise", play->allocator->synchronize_device(play->stage));
        break;
    case SP_TRACE_QUERY_STREAM:
        check_answer(part, i,
                     play->allocator->query(play->stage, player->streams[operation->stream]));
        break;
    case SP_TRACE_TRIM:
        sp_part_check(part, i, "trim", play->allocator->trim(play->stage, operation->keep));
        break;
    case SP_TRACE_RECORD:
    case SP_TRACE_WAIT:
    case SP_TRACE_SYNCHRONIZE_EVENT:
    case SP_TRACE_QUERY_EVENT:
    case SP_TRACE_DESTROY_EVENT:
        play_event(part, i);
        break;
    default: // the kind of a stream, which has been created by now
        break;
    }
}
