// A part plays the trace's lines, and what is due beside them by the play's plan: work behind the
// blocks, and order between the streams.
//
// In a trace that has the order its program made, the pool learns of no other but the plan's own
// events and synchronises: the pieces of work, which are no part of that order, are ordered by the
// driver's own calls.
#include "cli/play/part.h"

#include "cli/trace/record.h"

#include <sched.h>
#include <stdio.h>

enum {
    PROGRESS_STEP = 1024,
    // A pool is looked through as often as this in a pass at most, for that takes as long as it has
    // free blocks. The columns of a plot are fewer.
    LOOKS_MAX = 4000
};

static void count_error(struct sp_part *part, const char *what, const char *error) {
    if (part->errors++ > 0)
        return;
    part->first_error_operation = part->at;
    snprintf(part->first_error, sizeof part->first_error, "%s at line %lu: %s", what,
             sp_record_line_of(part->at), error);
}

static void check(struct sp_part *part, const char *what, int status) {
    if (status != 0)
        count_error(part, what, part->player->play.allocator->error_name(status));
}

void sp_part_check_driver(struct sp_part *part, const char *what, CUresult result) {
    if (result != CUDA_SUCCESS)
        count_error(part, what, sp_driver_error_name(result));
}

static const struct sp_trace_block *block_of(const struct sp_part *part) {
    return &part->player->play.trace->blocks[sp_part_line(part)->block];
}

// --------------------------------------------------------------------------------------- the plan

// Waits until it is time for the operation.
static void keep_pace(const struct sp_part *part) {
    const struct sp_player *player = part->player;
    if (player->play.work)
        sp_work_wait_until(player->play.work,
                           player->begin + part->at * player->play.plan->pace_ns);
}

// An event stands behind the first of these pieces, and a wait for it before the second, or before
// the free.
static bool has_pieces_to_order(const struct sp_player *player,
                                const struct sp_trace_block *block) {
    return player->play.trace->has_order && block->handed_over && player->piece_ns > 0 &&
           block->size > 0 && block->place == SP_TRACE_AT_DEVICE;
}

// Puts a piece of work that uses the operation's block on the operation's stream.
static void launch(struct sp_part *part, uint64_t pointer) {
    const struct sp_player *player = part->player;
    uint64_t size = block_of(part)->size;
    if (player->piece_ns == 0 || size == 0 || block_of(part)->place != SP_TRACE_AT_DEVICE)
        return;
    CUstream stream = player->streams[sp_part_line(part)->stream];
    CUresult result = sp_work_launch(player->play.work, stream, player->piece_ns, pointer, size);
    sp_part_check_driver(part, "work", result);
    if (result == CUDA_SUCCESS)
        part->work_ns += player->piece_ns;
}

static void begin_use(struct sp_part *part, uint64_t pointer) {
    const struct sp_player *player = part->player;
    uint32_t stream = sp_part_line(part)->stream;
    launch(part, pointer);
    if (has_pieces_to_order(player, block_of(part)))
        sp_part_check_driver(part, "event record",
                             sp_player_driver(player)->cuEventRecord(player->events[stream],
                                                                     player->streams[stream]));
}

// Makes one stream run after all that has been put on another so far.
static void order(struct sp_part *part, uint32_t before, uint32_t after) {
    const struct sp_player *player = part->player;
    CUevent event = player->events[before];
    int status = sp_player_order(player, SP_TRACE_RECORD, player->streams[before], event);
    check(part, "event record", status);
    if (status == 0)
        check(part, "event wait",
              sp_player_order(player, SP_TRACE_WAIT, player->streams[after], event));
}

// Comes before a free. The stream of a foreign one takes the block over: it runs after the stream
// of the allocation, and has its own use for the block. Where a block is freed in no stream's
// order, the host waits for its work: a program that does so vouches that its work is done.
static void end_use(struct sp_part *part, uint64_t pointer) {
    const struct sp_player *player = part->player;
    const struct sp_trace *trace = player->play.trace;
    const struct sp_trace_operation *line = sp_part_line(part);
    bool is_foreign = sp_trace_is_foreign(trace, line);
    if (!is_foreign && (line->action == SP_TRACE_FREE || line->block == SP_TRACE_NO_BLOCK))
        return;
    const struct sp_trace_block *block = block_of(part);
    const struct sp_driver *driver = sp_player_driver(player);
    CUevent used = player->events[block->stream];
    if (is_foreign && !trace->has_order)
        order(part, block->stream, line->stream);
    else if (has_pieces_to_order(player, block) && is_foreign)
        sp_part_check_driver(part, "event wait",
                             driver->cuStreamWaitEvent(player->streams[line->stream], used, 0));
    else if (has_pieces_to_order(player, block))
        sp_part_check_driver(part, "synchronise", driver->cuEventSynchronize(used));
    if (is_foreign)
        launch(part, pointer);
}

// True when the part can pass the stream to a call behind its operation. A stream's end waits for
// all operations before it, so it isn't under way here.
static bool can_use(const struct sp_part *part, uint32_t stream) {
    return part->player->play.trace->streams[stream].end > part->at &&
           sp_player_is_of(part->player, stream, sp_part_line(part)->thread);
}

// Makes the events and synchronises that are due behind the operation.
static void play_plan(struct sp_part *part) {
    const struct sp_player *player = part->player;
    const struct sp_plan *plan = player->play.plan;
    size_t streams = player->play.trace->stream_count;
    uint32_t stream = sp_part_line(part)->stream;
    if (stream == SP_TRACE_NO_STREAM || !can_use(part, stream))
        return;
    if (sp_plan_is_due(plan->events, part->at) && streams > 1) {
        uint32_t waiter = sp_plan_waiter(plan, part->at, stream, streams);
        if (can_use(part, waiter))
            order(part, stream, waiter);
    }
    if (sp_plan_is_due(plan->synchronize, part->at))
        check(part, "synchronise",
              sp_player_order(player, SP_TRACE_SYNCHRONIZE_STREAM, player->streams[stream], NULL));
}

// -------------------------------------------------------------------------- allocations and frees

static void count_live(struct sp_player *player, const struct sp_trace_block *block) {
    _Atomic uint64_t *most = &player->live_peak_bytes[block->place];
    uint64_t live = atomic_fetch_add(&player->live_bytes[block->place], block->size) + block->size;
    uint64_t peak = atomic_load(most);
    while (live > peak && !atomic_compare_exchange_weak(most, &peak, live))
        ;
}

// To be called before the free: once it is made, others may count the memory as theirs, and then it
// would be alive twice.
static void release_block(struct sp_player *player, uint32_t index) {
    const struct sp_trace_block *block = &player->play.trace->blocks[index];
    atomic_store(&player->pointers[index], SP_NO_POINTER);
    atomic_fetch_sub(&player->live_bytes[block->place], block->size);
}

static void note(struct sp_part *part, const struct sp_trace_block *block,
                 struct sp_call_time time) {
    if (block && block->place != SP_TRACE_AT_DEVICE)
        return;
    part->player->took[part->at] = time.ns;
    part->modelled_ns += time.modelled_ns;
}

int sp_player_free(const struct sp_player *player, uint64_t pointer, uint64_t size,
                   uint32_t stream) {
    const struct sp_play *play = &player->play;
    const CUstream *on = stream == SP_TRACE_NO_STREAM ? NULL : &player->streams[stream];
    return play->allocator->free(play->stage, pointer, size, on);
}

void sp_part_free(struct sp_part *part, uint32_t block, uint32_t stream) {
    struct sp_player *player = part->player;
    uint64_t pointer = atomic_load(&player->pointers[block]);
    release_block(player, block);
    check(part, "free",
          sp_player_free(player, pointer, player->play.trace->blocks[block].size, stream));
}

// The program that was recorded never got the memory of a failure; if we do, we give it back at
// once. Other parts see a pointer once the work is on the stream: what they order behind it is then
// behind the work.
static void play_allocate(struct sp_part *part) {
    struct sp_player *player = part->player;
    const struct sp_trace_operation *line = sp_part_line(part);
    bool is_failure = line->action == SP_TRACE_FAILURE;
    const struct sp_trace_block *block = block_of(part);
    struct sp_stage *stage = sp_player_stage(player, block->place);
    uint64_t pointer = 0;
    CUstream stream = player->streams[line->stream];
    sp_growths_note_operation(part->at);
    if (!stage) {
        atomic_store(&player->pointers[line->block], SP_NO_POINTER);
        return;
    }

    struct sp_moment begin = sp_meter_begin(&player->meter);
    int status = player->play.allocator->allocate(stage, &pointer, block->size, stream);
    note(part, block, sp_meter_end(&player->meter, &begin));

    check(part, "allocation", status);
    if (status == 0)
        count_live(player, block);
    if (status == 0 && !is_failure)
        begin_use(part, pointer);
    atomic_store(&player->pointers[line->block], status == 0 ? pointer : SP_NO_POINTER);
    if (status == 0 && is_failure)
        sp_part_free(part, line->block, line->stream);
}

static void play_free(struct sp_part *part) {
    struct sp_player *player = part->player;
    const struct sp_trace_operation *line = sp_part_line(part);
    bool null = line->block == SP_TRACE_NO_BLOCK;
    uint64_t size = null ? 0 : block_of(part)->size, pointer = 0;
    // The allocation is played before, perhaps by another part.
    while (!null && (pointer = atomic_load(&player->pointers[line->block])) == SP_NOT_YET)
        sched_yield();
    if (pointer == SP_NO_POINTER)
        return; // its allocation failed, or wasn't played
    keep_pace(part);
    end_use(part, pointer);
    if (!null)
        release_block(player, line->block);

    struct sp_moment begin = sp_meter_begin(&player->meter);
    int status = sp_player_free(player, pointer, size, line->stream);
    note(part, null ? NULL : block_of(part), sp_meter_end(&player->meter, &begin));

    check(part, "free", status);
}

// --------------------------------------------------------------------------------- the other lines

static void play_order(struct sp_part *part, CUevent event) {
    static const char *const names[] = {
#define NAME(action, name, call) [SP_TRACE_##action] = name,
        SP_ORDERS(NAME)
#undef NAME
            [SP_TRACE_SYNCHRONIZE_DEVICE] = "synchronise",
    };
    const struct sp_player *player = part->player;
    const struct sp_trace_operation *line = sp_part_line(part);
    bool has_stream = line->stream != SP_TRACE_NO_STREAM;
    CUstream stream = has_stream ? player->streams[line->stream] : NULL;
    int status = sp_player_order(player, line->action, stream, event);
    // A question is asked for what the pool learns of it. The answer depends on how long the work
    // is, so a no is as good as a yes.
    bool is_query = line->action == SP_TRACE_QUERY_EVENT || line->action == SP_TRACE_QUERY_STREAM;
    if (!is_query || status != CUDA_ERROR_NOT_READY)
        check(part, names[line->action], status);
}

CUresult sp_player_create_event(const struct sp_player *player, CUevent *event) {
    if (*event)
        return CUDA_SUCCESS;
    CUresult result = sp_player_driver(player)->cuEventCreate(event, CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS)
        *event = NULL;
    return result;
}

static void play_event(struct sp_part *part) {
    struct sp_player *player = part->player;
    const struct sp_trace_operation *line = sp_part_line(part);
    CUevent *event = &player->trace_events[line->event];
    while (atomic_load(&player->turns[line->event]) != line->turn)
        sched_yield();
    CUresult result = sp_player_create_event(player, event);
    sp_part_check_driver(part, "event create", result);
    if (result == CUDA_SUCCESS)
        play_order(part, *event);
    if (line->action == SP_TRACE_DESTROY_EVENT)
        *event = NULL;
    atomic_store(&player->turns[line->event], line->turn + 1);
}

// A stream is destroyed behind all that the trace does with it, in whatever thread.
static void end_stream(struct sp_part *part) {
    struct sp_player *player = part->player;
    if (player->part_count > 1)
        sp_lead_wait_for_all(&player->lead, part->at);
    play_order(part, NULL);
    __atomic_store_n(&player->streams[sp_part_line(part)->stream], NULL, __ATOMIC_RELAXED);
}

// --------------------------------------------------------------------------------- all operations

static void play(struct sp_part *part) {
    const struct sp_play *play_of = &part->player->play;
    const struct sp_trace_operation *line = sp_part_line(part);
    struct sp_stage *stage;
    bool frees = line->action == SP_TRACE_FREE || line->action == SP_TRACE_FREE_UNORDERED;
    if (!frees) // which first looks whether there is a block
        keep_pace(part);
    switch (line->action) {
    case SP_TRACE_ALLOCATE:
    case SP_TRACE_FAILURE:
        play_allocate(part);
        break;
    case SP_TRACE_FREE:
    case SP_TRACE_FREE_UNORDERED:
        play_free(part);
        break;
    case SP_TRACE_RECORD:
    case SP_TRACE_WAIT:
    case SP_TRACE_SYNCHRONIZE_EVENT:
    case SP_TRACE_QUERY_EVENT:
    case SP_TRACE_DESTROY_EVENT:
        play_event(part);
        break;
    case SP_TRACE_DESTROY_STREAM:
        end_stream(part);
        break;
    case SP_TRACE_TRIM:
        if ((stage = sp_player_stage(part->player, line->place)))
            check(part, "trim", play_of->allocator->trim(stage, line->keep));
        break;
    default:
        play_order(part, NULL);
        break;
    }
    play_plan(part);
}

// Takes the figures for a plot, between the calls that are timed. The pool is looked at by what
// moves nothing in it, and neither the device nor its clock is asked, so a replay that is drawn
// does what it would have done.
static void take_figures(const struct sp_part *part) {
    const struct sp_player *player = part->player;
    const struct sp_play *play = &player->play;
    const struct sp_trace *trace = play->trace;
    struct sp_figures figures = {0};
    if (!play->series)
        return;
    sp_figures_note(&figures, SP_FIGURE_LIVE, player->live_bytes[SP_TRACE_AT_DEVICE],
                    player->live_peak_bytes[SP_TRACE_AT_DEVICE]);
    play->allocator->look(play->stage, &figures);
    if (play->allocator->look_through &&
        (part->at % (1 + trace->operation_count / LOOKS_MAX) == 0 ||
         part->at == trace->live_peak_operation))
        play->allocator->look_through(play->stage, &figures);
    sp_series_add(play->series, part->at, &figures);
}

// The first part, which the calling thread plays, draws the progress of all.
void sp_part_play(struct sp_part *part) {
    struct sp_player *player = part->player;
    const struct sp_play *play_of = &player->play;
    bool alone = player->part_count == 1, draws = part == player->parts;
    size_t drawn = 0;
    for (size_t step = 0; step < part->operation_count; step++) {
        part->at = part->operations ? part->operations[step] : step;
        if (!alone)
            sp_lead_wait(&player->lead, part->at);
        play(part);
        if (!alone)
            sp_lead_done(&player->lead, part->at);
        take_figures(part);
        if (part->at == play_of->trace->live_peak_operation && play_of->allocator->at_peak)
            play_of->allocator->at_peak(play_of->stage);
        if (draws && part->at + 1 - drawn >= PROGRESS_STEP) {
            sp_progress_add(play_of->progress, part->at + 1 - drawn);
            drawn = part->at + 1;
        }
    }
    if (draws)
        sp_progress_add(play_of->progress, play_of->trace->operation_count - drawn);
}
