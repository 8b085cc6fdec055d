// These functions make what a player needs before its first pass, and give it back.
#include "cli/play/part.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------------------------- the held block

// Allocates the held block. What is reserved for it is measured as for a pass, for allocators whose
// passes don't see it.
static bool hold(struct sp_player *player) {
    const struct sp_play *play = &player->play;
    struct sp_stage *stage = play->stage;
    if (play->held_bytes == 0 || play->held_by_other)
        return true;
    if (!play->allocator->begin_pass(stage))
        return false;
    int status =
        play->allocator->allocate(stage, &player->held, play->held_bytes, player->streams[0]);
    if (status != 0) {
        player->held = 0;
        return sp_stage_fail(stage, "the held block of %" PRIu64 " bytes can't be allocated: %s",
                             play->held_bytes, play->allocator->error_name(status));
    }
    if (play->allocator->at_peak)
        play->allocator->at_peak(stage);
    uint64_t reserved = play->held_bytes;
    bool known = play->allocator->reserved_peak(stage, &reserved);
    stage->held_reserved_bytes = reserved;
    return known;
}

static void let_go(struct sp_player *player) {
    const struct sp_play *play = &player->play;
    if (!player->held)
        return;
    if (sp_player_streams_is_there(player, 0))
        play->allocator->free(play->stage, player->held, play->held_bytes, player->streams[0]);
    else
        play->allocator->free_unordered(play->stage, player->held, play->held_bytes);
}

// ---------------------------------------------------------------------------------- open and close

// Returns an array that has been written once, so that no page of it is touched for the first time
// between two measured calls.
static void *allocate_numbers(size_t count) {
    uint64_t *numbers = malloc((count + 1) * sizeof *numbers);
    if (numbers)
        memset(numbers, 0xff, (count + 1) * sizeof *numbers);
    return numbers;
}

//   X(array of the player, how many elements), all zeroed
#define ARRAYS(X)                                                                                  \
    X(parts, player->part_count)                                                                   \
    X(streams, trace->stream_count)                                                                \
    X(events, trace->stream_count)                                                                 \
    X(ended, trace->stream_count)                                                                  \
    X(trace_events, trace->event_count)                                                            \
    X(turns, trace->event_count)

static void release_arrays(struct sp_player *player) {
#define RELEASE(array, count) free(player->array);
    ARRAYS(RELEASE)
#undef RELEASE
    free(player->pointers);
    free(player->malloc_ns);
    free(player->free_ns);
    sp_shares_release(&player->shares);
}

static bool allocate_arrays(struct sp_player *player) {
    const struct sp_trace *trace = player->play.trace;
    player->part_count = player->play.parts == SP_ONE_PART ? 1 : trace->thread_count;
    player->pointers = allocate_numbers(trace->block_count);
    player->malloc_ns = allocate_numbers(trace->block_count);
    player->free_ns = allocate_numbers(trace->operation_count - trace->block_count);
    bool good = player->pointers && player->malloc_ns && player->free_ns;
#define ALLOCATE(array, count)                                                                     \
    player->array = calloc((count) + 1, sizeof *player->array);                                    \
    good = good && player->array;
    ARRAYS(ALLOCATE)
#undef ALLOCATE
    return good;
}

// With one part there is nobody to share with.
static bool open_shares(struct sp_player *player) {
    if (player->part_count == 1)
        return true;
    const struct sp_trace *trace = player->play.trace;
    return sp_shares_open(&player->shares, trace) && sp_lead_open(&player->lead, trace);
}

static void give_share(struct sp_part *part, size_t i) {
    const struct sp_player *player = part->player;
    const size_t *begins = player->shares.begins;
    bool all = player->part_count == 1;
    part->operations = all ? NULL : player->shares.operations + begins[i];
    part->operation_count = all ? player->play.trace->operation_count : begins[i + 1] - begins[i];
}

static struct sp_part *part_of(const struct sp_player *player,
                               const struct sp_trace_operation *operation) {
    return &player->parts[player->part_count == 1 ? 0 : operation->thread];
}

// Gives each part its place in the arrays of samples, as large as its operations need.
static void open_parts(struct sp_player *player) {
    const struct sp_trace *trace = player->play.trace;
    for (size_t i = 0; i < trace->operation_count; i++) {
        struct sp_part *part = part_of(player, &trace->operations[i]);
        enum sp_trace_action action = trace->operations[i].action;
        part->frees.count += action == SP_TRACE_FREE || action == SP_TRACE_FREE_UNORDERED;
        part->mallocs.count += action == SP_TRACE_ALLOCATE || action == SP_TRACE_FAILURE;
    }
    uint64_t *mallocs = player->malloc_ns, *frees = player->free_ns;
    for (size_t i = 0; i < player->part_count; i++) {
        struct sp_part *part = &player->parts[i];
        part->player = player;
        give_share(part, i);
        part->mallocs.ns = mallocs;
        part->frees.ns = frees;
        mallocs += part->mallocs.count;
        frees += part->frees.count;
    }
}

static bool open_meter(struct sp_player *player) {
    const struct sp_play *play = &player->play;
    const char *problem;
    return sp_meter_open(&player->meter, play->stage->device->driver, play->work, &problem) ||
           sp_stage_fail(play->stage, "the simulated driver has no %s", problem);
}

bool sp_player_open(struct sp_player *player, const struct sp_play *play) {
    *player = (struct sp_player){.play = *play};
    if (play->work)
        player->piece_ns = sp_plan_piece_ns(play->plan, play->trace);
    if (!open_meter(player))
        return false;
    if (!allocate_arrays(player) || !open_shares(player)) {
        release_arrays(player);
        sp_meter_close(&player->meter);
        return sp_stage_fail(play->stage, "out of host memory");
    }
    open_parts(player);
    pthread_mutex_init(&player->gate, NULL);
    if (sp_player_streams_create(player) && hold(player))
        return true;
    sp_player_close(player);
    return false;
}

void sp_player_close(struct sp_player *player) {
    let_go(player);
    sp_player_streams_destroy(player);
    pthread_mutex_destroy(&player->gate);
    if (player->part_count > 1)
        sp_lead_close(&player->lead);
    release_arrays(player);
    sp_meter_close(&player->meter);
}
