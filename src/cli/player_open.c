// These functions make what a player needs before its first pass, and give it back.
#include "cli/part.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ------------------------------------------------------------------------------ streams and events

static void destroy_streams(struct sp_player *player) {
    const struct sp_play *play = &player->play;
    for (size_t i = 0; i < play->trace->stream_count; i++) {
        if (player->events[i])
            play->allocator->destroy_event(play->stage, player->events[i]);
        if (player->streams[i])
            play->allocator->destroy_stream(play->stage, player->streams[i]);
    }
}

// Number 0 is the default stream, which a null handle stands for. The others are non-blocking, so
// that the default stream brings no order between them that the trace doesn't show.
static CUresult create_stream(struct sp_player *player, size_t i) {
    const struct sp_driver *driver = player->play.stage->device->driver;
    CUresult result = CUDA_SUCCESS;
    if (player->play.trace->streams[i] != 0)
        result = driver->cuStreamCreate(&player->streams[i], CU_STREAM_NON_BLOCKING);
    if (result != CUDA_SUCCESS) {
        player->streams[i] = NULL;
        return result;
    }
    result = driver->cuEventCreate(&player->events[i], CU_EVENT_DISABLE_TIMING);
    if (result != CUDA_SUCCESS)
        player->events[i] = NULL;
    return result;
}

static bool create_streams(struct sp_player *player) {
    size_t count = player->play.trace->stream_count;
    for (size_t i = 0; i < count; i++) {
        CUresult result = create_stream(player, i);
        if (result != CUDA_SUCCESS)
            return sp_stage_fail(player->play.stage, "stream %zu of %zu can't be created: %s",
                                 i + 1, count, sp_driver_error_name(result));
    }
    return true;
}

// ---------------------------------------------------------------------------------- the held block

// Allocates the held block. What is reserved for it is measured as for a pass, for allocators whose
// passes don't see it.
static bool hold(struct sp_player *player) {
    const struct sp_play *play = &player->play;
    struct sp_stage *stage = play->stage;
    if (play->held_bytes == 0)
        return true;
    play->allocator->begin_pass(stage);
    int status =
        play->allocator->allocate(stage, &player->held, play->held_bytes, player->streams[0]);
    if (status != 0) {
        player->held = 0;
        return sp_stage_fail(stage, "the held block of %" PRIu64 " bytes can't be allocated: %s",
                             play->held_bytes, play->allocator->error_name(status));
    }
    play->allocator->at_peak(stage);
    return play->allocator->reserved_peak(stage, &stage->held_reserved_bytes);
}

static void let_go(struct sp_player *player) {
    if (player->held)
        player->play.allocator->free(player->play.stage, player->held, player->streams[0]);
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

static void release_arrays(struct sp_player *player) {
    free(player->streams);
    free(player->events);
    free(player->pointers);
    free(player->malloc_ns);
    free(player->free_ns);
    free(player->parts);
    sp_shares_release(&player->shares);
}

static bool allocate_arrays(struct sp_player *player) {
    const struct sp_trace *trace = player->play.trace;
    bool single = player->play.parts == SP_ONE_PART;
    player->part_count = single ? 1 : trace->thread_count;
    player->streams = calloc(trace->stream_count, sizeof(CUstream));
    player->events = calloc(trace->stream_count, sizeof(CUevent));
    player->pointers = allocate_numbers(trace->block_count);
    player->malloc_ns = allocate_numbers(trace->block_count);
    player->free_ns = allocate_numbers(trace->operation_count - trace->block_count);
    player->parts = calloc(player->part_count, sizeof *player->parts);
    return player->streams && player->events && player->pointers && player->malloc_ns &&
           player->free_ns && player->parts;
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
        if (trace->operations[i].action == SP_TRACE_FREE)
            part->frees.count++;
        else
            part->mallocs.count++;
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

bool sp_player_open(struct sp_player *player, const struct sp_play *play) {
    *player = (struct sp_player){.play = *play};
    if (!play->work)
        player->clock_cost = sp_clock_cost();
    else
        player->piece_ns = sp_plan_piece_ns(play->plan, play->trace);
    if (!allocate_arrays(player) || !open_shares(player)) {
        release_arrays(player);
        return sp_stage_fail(play->stage, "out of host memory");
    }
    open_parts(player);
    pthread_mutex_init(&player->gate, NULL);
    if (create_streams(player) && hold(player))
        return true;
    sp_player_close(player);
    return false;
}

void sp_player_close(struct sp_player *player) {
    let_go(player);
    destroy_streams(player);
    pthread_mutex_destroy(&player->gate);
    if (player->part_count > 1)
        sp_lead_close(&player->lead);
    release_arrays(player);
}
