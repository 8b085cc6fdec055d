#include "cli/play/part.h"

#include <stdlib.h>
#include <string.h>

// --------------------------------------------------------------------------------------- all parts

static bool passes_gate(struct sp_player *player) {
    pthread_mutex_lock(&player->gate);
    bool open = player->open;
    pthread_mutex_unlock(&player->gate);
    return open;
}

static void *play_in_thread(void *argument) {
    struct sp_part *part = argument;
    const struct sp_device *device = part->player->play.stage->device;
    if (!passes_gate(part->player))
        return NULL;
    CUresult result = device->driver->cuCtxSetCurrent(device->context);
    if (result != CUDA_SUCCESS)
        sp_part_count_error(part, 0, "context", sp_driver_error_name(result));
    sp_player_lines_play(part);
    return NULL;
}

static size_t start_threads(struct sp_player *player, pthread_t *threads, size_t count) {
    size_t started = 0;
    while (started < count && pthread_create(&threads[started], NULL, play_in_thread,
                                             &player->parts[started + 1]) == 0)
        started++;
    return started;
}

// A part whose thread can't be started would keep the others waiting for its blocks, so all are
// started before one begins. The calling thread plays the first part.
static bool play_all(struct sp_player *player) {
    size_t others = player->part_count - 1;
    pthread_t *threads = calloc(player->part_count, sizeof *threads);
    if (!threads)
        return sp_stage_fail(player->play.stage, "out of host memory");
    pthread_mutex_lock(&player->gate);
    size_t started = start_threads(player, threads, others);
    player->open = started == others;
    player->begin = sp_meter_now(&player->meter);
    pthread_mutex_unlock(&player->gate);
    if (started == others)
        sp_player_lines_play(player->parts);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return started == others ||
           sp_stage_fail(player->play.stage, "thread %zu of %zu can't be started", started + 2,
                         player->part_count);
}

static void free_what_is_alive(struct sp_player *player) {
    const struct sp_trace *trace = player->play.trace;
    for (size_t block = 0; block < trace->block_count; block++) {
        uint64_t pointer = atomic_load(&player->pointers[block]);
        if (pointer != SP_NO_POINTER && pointer != SP_NOT_YET)
            sp_player_lines_free_left(player->parts, (uint32_t)block);
    }
}

// ------------------------------------------------------------------------------------------ a pass

static bool begin_pass(struct sp_player *player) {
    for (size_t i = 0; i < player->play.trace->block_count; i++)
        atomic_store_explicit(&player->pointers[i], SP_NOT_YET, memory_order_relaxed);
    for (size_t i = 0; i < player->part_count; i++) {
        struct sp_part *part = &player->parts[i];
        part->mallocs.count = part->frees.count = 0;
        part->modelled_ns = part->work_ns = part->errors = 0;
    }
    sp_lead_reset(&player->lead);
    player->live_bytes = player->live_peak_bytes = player->play.held_bytes;
    return player->play.allocator->begin_pass(player->play.stage);
}

// Moves the samples of a part up to those of the parts before it: a free that was skipped left its
// place empty.
static void gather(struct sp_samples *all, const struct sp_samples *samples) {
    memmove(all->ns + all->count, samples->ns, samples->count * sizeof *samples->ns);
    all->count += samples->count;
}

static void sum_up(struct sp_player *player, struct sp_result *result) {
    struct sp_samples mallocs = {player->malloc_ns, 0}, frees = {player->free_ns, 0};
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < player->part_count; i++) {
        const struct sp_part *part = &player->parts[i];
        gather(&mallocs, &part->mallocs);
        gather(&frees, &part->frees);
        result->modelled_ns += part->modelled_ns;
        result->work_ns += part->work_ns;
        result->errors += part->errors;
        if (part->errors == 0 || part->first_error_operation > first)
            continue;
        first = part->first_error_operation;
        memcpy(result->first_error, part->first_error, sizeof part->first_error);
    }
    result->live_peak_bytes = player->live_peak_bytes;
    result->malloc_ns = sp_times_of(&mallocs);
    result->free_ns = sp_times_of(&frees);
    result->total_ns = sp_samples_sum(&mallocs) + sp_samples_sum(&frees);
}

static void begin_growths(const struct sp_play *play_of, struct sp_result *result) {
    struct sp_growths *growths = play_of->stage->pool ? play_of->stage->growths : NULL;
    result->growths = growths;
    if (!growths)
        return;
    result->first_growth = growths->count;
    growths->trace = play_of->trace;
    growths->playing = (struct sp_growth){.trace = play_of->trace->name,
                                          .allocator = play_of->allocator->name,
                                          .start = play_of->start,
                                          .pass = result->pass};
}

static void end_growths(const struct sp_play *play_of, struct sp_result *result) {
    if (!result->growths)
        return;
    result->growth_count = result->growths->count - result->first_growth;
    play_of->stage->growths->trace = NULL;
}

bool sp_player_run(struct sp_player *player, unsigned pass, struct sp_result *result) {
    const struct sp_play *play_of = &player->play;
    *result = (struct sp_result){
        .trace = play_of->trace->name,
        .allocator = play_of->allocator->name,
        .variant = play_of->variant,
        .device = play_of->stage->device->name,
        .start = play_of->start,
        .held_bytes = play_of->held_bytes,
        .base = player->meter.base,
        .pass = pass,
        .operations = play_of->trace->operation_count,
        .streams = play_of->trace->stream_count,
    };
    if (!sp_player_streams_create(player) || !begin_pass(player))
        return false;
    sp_sample_begin_pass(player, pass);
    begin_growths(play_of, result);
    bool played = play_all(player) && sp_player_streams_finish(player);
    end_growths(play_of, result);
    if (!played)
        return false;
    result->end_to_end_ns = sp_meter_now(&player->meter) - player->begin;
    const struct sp_allocator *allocator = play_of->allocator;
    result->reserved_peak_bytes = player->live_peak_bytes;
    bool known =
        allocator->reserved_peak(play_of->stage, &result->reserved_peak_bytes) &&
        (!allocator->statistics || allocator->statistics(play_of->stage, &result->statistics));
    sp_sample_end_pass(player, result);
    free_what_is_alive(player);
    sum_up(player, result);
    return sp_player_streams_synchronize(player) && known;
}
