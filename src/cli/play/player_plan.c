#include "cli/play/part.h"

// These pieces are ordered by the driver's own calls: an event behind the block's first piece, and
// a wait for it before the second, or before the free.
static bool has_pieces_to_order(const struct sp_player *player,
                                const struct sp_trace_block *block) {
    return player->play.trace->has_order && block->handed_over && player->piece_ns > 0 &&
           block->size > 0;
}

static void launch(struct sp_part *part, size_t i, uint32_t stream, uint64_t pointer,
                   uint64_t size) {
    struct sp_player *player = part->player;
    if (player->piece_ns == 0 || size == 0)
        return;
    CUresult result =
        sp_work_launch(player->play.work, player->streams[stream], player->piece_ns, pointer, size);
    sp_part_check_driver(part, i, "work", result);
    if (result == CUDA_SUCCESS)
        part->work_ns += player->piece_ns;
}

// Makes one stream run after all that has been put on another so far.
static void order(struct sp_part *part, size_t i, uint32_t before, uint32_t after) {
    const struct sp_player *player = part->player;
    const struct sp_play *play = &player->play;
    CUevent event = player->events[before];
    int status =
        play->allocator->order(play->stage, SP_TRACE_RECORD, player->streams[before], event);
    sp_part_check(part, i, "event record", status);
    if (status == 0)
        sp_part_check(
            part, i, "event wait",
            play->allocator->order(play->stage, SP_TRACE_WAIT, player->streams[after], event));
}

void sp_player_plan_keep_pace(const struct sp_player *player, size_t i) {
    if (player->play.work)
        sp_work_wait_until(player->play.work, player->begin + i * player->play.plan->pace_ns);
}

static void order_behind(struct sp_part *part, size_t i, uint32_t stream) {
    const struct sp_play *play = &part->player->play;
    size_t streams = play->trace->stream_count;
    if (streams == 1)
        return;
    uint32_t waiter = sp_plan_waiter(play->plan, i, stream, streams);
    if (sp_player_streams_can_use(part, i, waiter))
        order(part, i, stream, waiter);
}

void sp_player_plan_play(struct sp_part *part, size_t i) {
    const struct sp_play *play = &part->player->play;
    uint32_t stream = play->trace->operations[i].stream;
    if (stream == SP_TRACE_NO_STREAM || !sp_player_streams_can_use(part, i, stream))
        return;
    if (sp_plan_is_due(play->plan->events, i))
        order_behind(part, i, stream);
    if (sp_plan_is_due(play->plan->synchronize, i))
        sp_part_check(part, i, "synchronise",
                      play->allocator->order(play->stage, SP_TRACE_SYNCHRONIZE_STREAM,
                                             part->player->streams[stream], NULL));
}

void sp_player_plan_launch(struct sp_part *part, size_t i, uint64_t pointer) {
    const struct sp_player *player = part->player;
    const struct sp_trace_operation *operation = sp_part_operation(part, i);
    const struct sp_trace_block *block = &player->play.trace->blocks[operation->block];
    launch(part, i, operation->stream, pointer, block->size);
    if (has_pieces_to_order(player, block))
        sp_part_check_driver(
            part, i, "event record",
            sp_player_driver(player)->cuEventRecord(player->events[operation->stream],
                                                    player->streams[operation->stream]));
}

void sp_player_plan_take_over(struct sp_part *part, size_t i, uint64_t pointer) {
    const struct sp_player *player = part->player;
    const struct sp_trace *trace = player->play.trace;
    const struct sp_trace_operation *operation = &trace->operations[i];
    if (!sp_trace_is_foreign(trace, operation))
        return;
    const struct sp_trace_block *block = &trace->blocks[operation->block];
    CUresult result = CUDA_SUCCESS;
    if (has_pieces_to_order(player, block))
        result = sp_player_driver(player)->cuStreamWaitEvent(player->streams[operation->stream],
                                                             player->events[block->stream], 0);
    else if (!trace->has_order)
        order(part, i, block->stream, operation->stream);
    sp_part_check_driver(part, i, "event wait", result);
    launch(part, i, operation->stream, pointer, block->size);
}

void sp_player_plan_finish_use(struct sp_part *part, size_t i) {
    const struct sp_player *player = part->player;
    uint32_t index = sp_part_operation(part, i)->block;
    if (index == SP_TRACE_NO_BLOCK)
        return;
    const struct sp_trace_block *block = &player->play.trace->blocks[index];
    if (has_pieces_to_order(player, block))
        sp_part_check_driver(
            part, i, "synchronise",
            sp_player_driver(player)->cuEventSynchronize(player->events[block->stream]));
}
