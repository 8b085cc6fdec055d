#include "cli/play/part.h"

#include <sched.h>

enum { PROGRESS_STEP = 1024 };

// ------------------------------------------------------------------------- allocations and frees

static void count_live(struct sp_player *player, uint64_t size) {
    uint64_t live = atomic_fetch_add(&player->live_bytes, size) + size;
    uint64_t peak = atomic_load(&player->live_peak_bytes);
    while (live > peak && !atomic_compare_exchange_weak(&player->live_peak_bytes, &peak, live))
        ;
}

// The block's pointer, once its allocation has been played, perhaps by another part.
static uint64_t pointer_of(struct sp_player *player, uint32_t block) {
    uint64_t pointer;
    while ((pointer = atomic_load(&player->pointers[block])) == SP_NOT_YET)
        sched_yield();
    return pointer;
}

// To be called before the free: once it is made, others may count the memory as theirs, and then it
// would be alive twice.
static void release_block(struct sp_player *player, uint32_t block) {
    atomic_store(&player->pointers[block], SP_NO_POINTER);
    atomic_fetch_sub(&player->live_bytes, player->play.trace->blocks[block].size);
}

static void note(struct sp_part *part, struct sp_samples *samples, struct sp_call_time time) {
    samples->ns[samples->count++] = time.ns;
    part->modelled_ns += time.modelled_ns;
}

// The pointer, or SP_NO_POINTER.
static uint64_t play_malloc(struct sp_part *part, size_t i) {
    struct sp_player *player = part->player;
    const struct sp_trace_operation *operation = &player->play.trace->operations[i];
    uint64_t size = player->play.trace->blocks[operation->block].size;
    CUstream stream = player->streams[operation->stream];
    uint64_t pointer = SP_NO_POINTER;

    sp_growths_note_operation(i);
    struct sp_moment begin = sp_meter_begin(&player->meter);
    int status = player->play.allocator->allocate(player->play.stage, &pointer, size, stream);
    note(part, &part->mallocs, sp_meter_end(&player->meter, &begin));

    sp_part_check(part, i, "allocation", status);
    if (status != 0)
        return SP_NO_POINTER;
    count_live(player, size);
    return pointer;
}

// Other parts see the pointer once the work is on the stream: what they order behind it is then
// behind the work.
static void play_allocate(struct sp_part *part, size_t i) {
    struct sp_player *player = part->player;
    const struct sp_trace_operation *operation = &player->play.trace->operations[i];
    sp_player_plan_keep_pace(player, i);
    uint64_t pointer = play_malloc(part, i);
    if (pointer != SP_NO_POINTER)
        sp_player_plan_launch(part, i, pointer);
    atomic_store(&player->pointers[operation->block], pointer);
}

static int call_free(const struct sp_player *player, const struct sp_trace_operation *operation,
                     uint64_t pointer, uint64_t size) {
    const struct sp_play *play = &player->play;
    return operation->action == SP_TRACE_FREE_UNORDERED
               ? play->allocator->free_unordered(play->stage, pointer, size)
               : play->allocator->free(play->stage, pointer, size,
                                       player->streams[operation->stream]);
}

static void play_free(struct sp_part *part, size_t i) {
    struct sp_player *player = part->player;
    const struct sp_trace_operation *operation = &player->play.trace->operations[i];
    bool null = operation->block == SP_TRACE_NO_BLOCK;
    uint64_t pointer = null ? 0 : pointer_of(player, operation->block);
    if (pointer == SP_NO_POINTER)
        return; // its allocation failed
    uint64_t size = null ? 0 : player->play.trace->blocks[operation->block].size;
    sp_player_plan_keep_pace(player, i);
    if (operation->action == SP_TRACE_FREE_UNORDERED)
        sp_player_plan_finish_use(part, i);
    else
        sp_player_plan_take_over(part, i, pointer);
    if (!null)
        release_block(player, operation->block);

    struct sp_moment begin = sp_meter_begin(&player->meter);
    int status = call_free(player, operation, pointer, size);
    note(part, &part->frees, sp_meter_end(&player->meter, &begin));

    sp_part_check(part, i, "free", status);
}

static void free_untimed(struct sp_part *part, uint32_t block, size_t i) {
    struct sp_player *player = part->player;
    const struct sp_trace_block *freed = &player->play.trace->blocks[block];
    CUstream stream = player->streams[freed->stream];
    uint64_t pointer = atomic_load(&player->pointers[block]);
    release_block(player, block);
    sp_part_check(part, i, "free",
                  player->play.allocator->free(player->play.stage, pointer, freed->size, stream));
}

// The program that was recorded never got this memory; if we do, we give it back at once.
static void play_failure(struct sp_part *part, size_t i) {
    struct sp_player *player = part->player;
    uint32_t block = player->play.trace->operations[i].block;
    sp_player_plan_keep_pace(player, i);
    uint64_t pointer = play_malloc(part, i);
    atomic_store(&player->pointers[block], pointer);
    if (pointer != SP_NO_POINTER)
        free_untimed(part, block, i);
}

// --------------------------------------------------------------------------------- the other lines

static void play_order(struct sp_part *part, size_t i, CUevent event) {
    static const char *const names[] = {
#define NAME(action, name, call) [SP_TRACE_##action] = name,
        SP_ORDERS(NAME)
#undef NAME
            [SP_TRACE_SYNCHRONIZE_DEVICE] = "synchronise",
    };
    const struct sp_player *player = part->player;
    const struct sp_trace_operation *operation = sp_part_operation(part, i);
    enum sp_trace_action action = operation->action;
    bool has_stream = operation->stream != SP_TRACE_NO_STREAM;
    CUstream stream = has_stream ? player->streams[operation->stream] : NULL;
    int status = player->play.allocator->order(player->play.stage, action, stream, event);
    // A question is asked for what the pool learns of it. The answer depends on how long the work
    // is, so a no is as good as a yes.
    bool is_query = action == SP_TRACE_QUERY_EVENT || action == SP_TRACE_QUERY_STREAM;
    if (!is_query || status != CUDA_ERROR_NOT_READY)
        sp_part_check(part, i, names[action], status);
}

static void play_event(struct sp_part *part, size_t i) {
    struct sp_player *player = part->player;
    const struct sp_trace_operation *operation = sp_part_operation(part, i);
    CUevent *event = &player->trace_events[operation->event];
    while (atomic_load(&player->turns[operation->event]) != operation->turn)
        sched_yield();
    CUresult result = sp_player_streams_create_event(player, event);
    sp_part_check_driver(part, i, "event create", result);
    if (result == CUDA_SUCCESS)
        play_order(part, i, *event);
    if (operation->action == SP_TRACE_DESTROY_EVENT)
        *event = NULL;
    atomic_store(&player->turns[operation->event], operation->turn + 1);
}

// A stream is destroyed behind all that the trace does with it, in whatever thread.
static void end_stream(struct sp_part *part, size_t i) {
    struct sp_player *player = part->player;
    if (player->part_count > 1)
        sp_lead_wait_for_all(&player->lead, i);
    play_order(part, i, NULL);
    player->ended[sp_part_operation(part, i)->stream] = true;
}

static void play_line(struct sp_part *part, size_t i) {
    const struct sp_play *play = &part->player->play;
    const struct sp_trace_operation *operation = sp_part_operation(part, i);
    sp_player_plan_keep_pace(part->player, i);
    switch (operation->action) {
    case SP_TRACE_RECORD:
    case SP_TRACE_WAIT:
    case SP_TRACE_SYNCHRONIZE_EVENT:
    case SP_TRACE_QUERY_EVENT:
    case SP_TRACE_DESTROY_EVENT:
        play_event(part, i);
        break;
    case SP_TRACE_DESTROY_STREAM:
        end_stream(part, i);
        break;
    case SP_TRACE_TRIM:
        sp_part_check(part, i, "trim", play->allocator->trim(play->stage, operation->keep));
        break;
    default:
        play_order(part, i, NULL);
        break;
    }
}

// ------------------------------------------------------------------------------------ all
// operations

static void play(struct sp_part *part, size_t i) {
    switch (part->player->play.trace->operations[i].action) {
    case SP_TRACE_ALLOCATE:
        play_allocate(part, i);
        break;
    case SP_TRACE_FREE:
    case SP_TRACE_FREE_UNORDERED:
        play_free(part, i);
        break;
    case SP_TRACE_FAILURE:
        play_failure(part, i);
        break;
    default:
        play_line(part, i);
        break;
    }
    sp_player_plan_play(part, i);
}

// The first part, which the calling thread plays, draws the progress of all.
static void show_progress(const struct sp_part *part, size_t *drawn, size_t done) {
    if (part != part->player->parts)
        return;
    sp_progress_add(part->player->play.progress, done - *drawn);
    *drawn = done;
}

static void play_in_turn(struct sp_part *part, size_t i) {
    struct sp_player *player = part->player;
    bool alone = player->part_count == 1;
    if (!alone)
        sp_lead_wait(&player->lead, i);
    play(part, i);
    if (!alone)
        sp_lead_done(&player->lead, i);
}

void sp_player_lines_play(struct sp_part *part) {
    const struct sp_play *play_of = &part->player->play;
    const struct sp_trace *trace = play_of->trace;
    size_t drawn = 0;
    for (size_t step = 0; step < part->operation_count; step++) {
        size_t i = part->operations ? part->operations[step] : step;
        play_in_turn(part, i);
        sp_sample_take(part->player, i);
        if (i == trace->live_peak_operation && play_of->allocator->at_peak)
            play_of->allocator->at_peak(play_of->stage);
        if (i + 1 - drawn >= PROGRESS_STEP)
            show_progress(part, &drawn, i + 1);
    }
    show_progress(part, &drawn, trace->operation_count);
}

// All work is done by now, so a block whose stream is gone is freed without.
void sp_player_lines_free_left(struct sp_part *part, uint32_t block) {
    struct sp_player *player = part->player;
    const struct sp_play *play = &player->play;
    size_t last = play->trace->operation_count - 1;
    if (sp_player_streams_is_there(player, play->trace->blocks[block].stream)) {
        free_untimed(part, block, last);
        return;
    }
    uint64_t pointer = atomic_load(&player->pointers[block]);
    release_block(player, block);
    sp_part_check(
        part, last, "free",
        play->allocator->free_unordered(play->stage, pointer, play->trace->blocks[block].size));
}
