#include "cli/player.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In pointers: nothing is alive there. Not 0, which is what a request of 0 bytes returns.
static const uint64_t no_pointer = UINT64_MAX;

enum { PROGRESS_STEP = 1024 };

// ------------------------------------------------------------------------------------- open and close

static const struct sp_driver *driver_of(const struct sp_player *player) {
    return player->stage->device->driver;
}

static void destroy_streams(struct sp_player *player) {
    for (size_t i = 0; i < player->trace->stream_count; i++)
        if (player->streams[i])
            driver_of(player)->cuStreamDestroy(player->streams[i]);
}

// Number 0 is the default stream, which a null handle stands for. The others are non-blocking, so that the
// default stream brings no order between them that the trace doesn't show.
static bool create_streams(struct sp_player *player) {
    const struct sp_trace *trace = player->trace;
    for (size_t i = 0; i < trace->stream_count; i++) {
        if (trace->streams[i] == 0)
            continue;
        CUresult result = driver_of(player)->cuStreamCreate(&player->streams[i], CU_STREAM_NON_BLOCKING);
        if (result != CUDA_SUCCESS) {
            player->streams[i] = NULL;
            return sp_stage_fail(player->stage, "stream %zu of %zu can't be created: %s", i + 1,
                                 trace->stream_count, sp_driver_error_name(result));
        }
    }
    return true;
}

// Written once, so that no page of it is touched for the first time between two measured calls.
static uint64_t *allocate_numbers(size_t count) {
    uint64_t *numbers = malloc((count + 1) * sizeof *numbers);
    if (numbers)
        memset(numbers, 0xff, (count + 1) * sizeof *numbers);
    return numbers;
}

static void release_arrays(struct sp_player *player) {
    free(player->streams);
    free(player->pointers);
    free(player->mallocs.ns);
    free(player->frees.ns);
}

bool sp_player_open(struct sp_player *player, const struct sp_trace *trace,
                    const struct sp_allocator *allocator, struct sp_stage *stage,
                    struct sp_progress *progress) {
    *player = (struct sp_player){.trace = trace,
                                 .allocator = allocator,
                                 .stage = stage,
                                 .progress = progress,
                                 .clock_cost = sp_clock_cost()};
    player->streams = calloc(trace->stream_count, sizeof(CUstream));
    player->pointers = allocate_numbers(trace->block_count);
    player->mallocs.ns = allocate_numbers(trace->block_count);
    player->frees.ns = allocate_numbers(trace->operation_count - trace->block_count);
    if (!player->streams || !player->pointers || !player->mallocs.ns || !player->frees.ns) {
        sp_stage_fail(stage, "out of host memory");
        goto release;
    }
    if (create_streams(player))
        return true;
    destroy_streams(player);

release:
    release_arrays(player);
    return false;
}

void sp_player_close(struct sp_player *player) {
    destroy_streams(player);
    release_arrays(player);
}

// --------------------------------------------------------------------------------------------- one pass

static void count_error(struct sp_player *player, size_t operation, const char *what, int status) {
    struct sp_result *result = player->result;
    if (result->errors++ == 0)
        snprintf(result->first_error, sizeof result->first_error, "%s at line %lu: %s", what,
                 sp_trace_line_of(operation), player->allocator->error_name(status));
}

static void count_live(struct sp_player *player, uint64_t size) {
    player->live_bytes += size;
    if (player->live_bytes > player->result->live_peak_bytes)
        player->result->live_peak_bytes = player->live_bytes;
}

static bool play_malloc(struct sp_player *player, size_t i) {
    const struct sp_trace_operation *operation = &player->trace->operations[i];
    uint64_t size = player->trace->blocks[operation->block].size;
    CUstream stream = player->streams[operation->stream];
    uint64_t pointer = no_pointer;

    uint64_t begin = sp_clock_now();
    int status = player->allocator->allocate(player->stage, &pointer, size, stream);
    uint64_t end = sp_clock_now();

    player->mallocs.ns[player->mallocs.count++] = sp_clock_elapsed(begin, end, player->clock_cost);
    if (status != 0) {
        count_error(player, i, "allocation", status);
        return false;
    }
    player->pointers[operation->block] = pointer;
    count_live(player, size);
    return true;
}

static void release_block(struct sp_player *player, uint32_t block) {
    player->pointers[block] = no_pointer;
    player->live_bytes -= player->trace->blocks[block].size;
}

static void play_free(struct sp_player *player, size_t i) {
    const struct sp_trace_operation *operation = &player->trace->operations[i];
    bool null = operation->block == SP_TRACE_NO_BLOCK;
    uint64_t pointer = null ? 0 : player->pointers[operation->block];
    if (pointer == no_pointer)
        return; // its allocation failed
    CUstream stream = player->streams[operation->stream];

    uint64_t begin = sp_clock_now();
    int status = player->allocator->free(player->stage, pointer, stream);
    uint64_t end = sp_clock_now();

    player->frees.ns[player->frees.count++] = sp_clock_elapsed(begin, end, player->clock_cost);
    if (status != 0)
        count_error(player, i, "free", status);
    if (!null)
        release_block(player, operation->block);
}

static void free_untimed(struct sp_player *player, uint32_t block, size_t i) {
    CUstream stream = player->streams[player->trace->blocks[block].stream];
    int status = player->allocator->free(player->stage, player->pointers[block], stream);
    if (status != 0)
        count_error(player, i, "free", status);
    release_block(player, block);
}

// The program that was recorded never got this memory; if we do, we give it back at once.
static void play_failure(struct sp_player *player, size_t i) {
    if (play_malloc(player, i))
        free_untimed(player, player->trace->operations[i].block, i);
}

static void play(struct sp_player *player, size_t i) {
    switch (player->trace->operations[i].action) {
    case SP_TRACE_ALLOCATE:
        play_malloc(player, i);
        break;
    case SP_TRACE_FREE:
        play_free(player, i);
        break;
    case SP_TRACE_FAILURE:
        play_failure(player, i);
        break;
    }
}

static void play_all(struct sp_player *player) {
    const struct sp_trace *trace = player->trace;
    size_t drawn = 0;
    for (size_t i = 0; i < trace->operation_count; i++) {
        play(player, i);
        if (i == trace->live_peak_operation)
            player->allocator->at_peak(player->stage);
        if (i + 1 - drawn < PROGRESS_STEP)
            continue;
        sp_progress_add(player->progress, i + 1 - drawn);
        drawn = i + 1;
    }
    sp_progress_add(player->progress, trace->operation_count - drawn);
}

static void free_what_is_alive(struct sp_player *player) {
    for (size_t block = 0; block < player->trace->block_count; block++)
        if (player->pointers[block] != no_pointer)
            free_untimed(player, (uint32_t)block, player->trace->operation_count - 1);
}

static bool synchronize(struct sp_player *player) {
    for (size_t i = 0; i < player->trace->stream_count; i++) {
        int status = player->allocator->synchronize(player->stage, player->streams[i]);
        if (status != 0)
            return sp_stage_fail(player->stage, "a stream can't be synchronised: %s",
                                 player->allocator->error_name(status));
    }
    return true;
}

bool sp_player_run(struct sp_player *player, unsigned pass, struct sp_result *result) {
    const struct sp_trace *trace = player->trace;
    *result = (struct sp_result){
        .trace = trace->name,
        .allocator = player->allocator->name,
        .device = player->stage->device->name,
        .pass = pass,
        .operations = trace->operation_count,
        .streams = trace->stream_count,
    };
    player->result = result;
    player->mallocs.count = 0;
    player->frees.count = 0;
    player->live_bytes = 0;

    player->allocator->begin_pass(player->stage);
    play_all(player);
    bool known = player->allocator->reserved_peak(player->stage, &result->reserved_peak_bytes);
    free_what_is_alive(player);
    if (!synchronize(player) || !known)
        return false;

    result->malloc_ns = sp_times_of(&player->mallocs);
    result->free_ns = sp_times_of(&player->frees);
    result->total_ns = sp_samples_sum(&player->mallocs) + sp_samples_sum(&player->frees);
    return true;
}
