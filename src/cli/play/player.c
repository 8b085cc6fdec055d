#include "cli/play/part.h"
#include "cli/play/player_lines.h"
#include "cli/play/player_plan.h"
#include "cli/play/player_streams.h"
#include "cli/play/sample.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// In pointers. Not 0, which is what a request of 0 bytes returns.
static const uint64_t not_yet = UINT64_MAX;        // its allocation has not been played
static const uint64_t no_pointer = UINT64_MAX - 1; // its allocation failed, or it is freed

enum { PROGRESS_STEP = 1024 };

// -------------------------------------------------------------------------------- what parts share

static void count_live(struct sp_player *player, uint64_t size) {
    uint64_t live = atomic_fetch_add(&player->live_bytes, size) + size;
    uint64_t peak = atomic_load(&player->live_peak_bytes);
    while (live > peak && !atomic_compare_exchange_weak(&player->live_peak_bytes, &peak, live))
        ;
}

// The block's pointer, once its allocation has been played, perhaps by another part.
static uint64_t pointer_of(struct sp_player *player, uint32_t block) {
    uint64_t pointer;
    while ((pointer = atomic_load(&player->pointers[block])) == not_yet)
        sched_yield();
    return pointer;
}

// To be called before the free: once it is made, others may count the memory as theirs, and then it
// would be alive twice.
static void release_block(struct sp_player *player, uint32_t block) {
    atomic_store(&player->pointers[block], no_pointer);
    atomic_fetch_sub(&player->live_bytes, player->play.trace->blocks[block].size);
}

// ---------------------------------------------------------------------------------------- one pass

static void note(struct sp_part *part, struct sp_samples *samples, struct sp_call_time time) {
    samples->ns[samples->count++] = time.ns;
    part->modelled_ns += time.modelled_ns;
}

// The pointer, or no_pointer.
static uint64_t play_malloc(struct sp_part *part, size_t i) {
    struct sp_player *player = part->player;
    const struct sp_trace_operation *operation = &player->play.trace->operations[i];
    uint64_t size = player->play.trace->blocks[operation->block].size;
    CUstream stream = player->streams[operation->stream];
    uint64_t pointer = no_pointer;

    sp_growths_note_operation(i);
    struct sp_moment begin = sp_meter_begin(&player->meter);
    int status = player->play.allocator->allocate(player->play.stage, &pointer, size, stream);
    note(part, &part->mallocs, sp_meter_end(&player->meter, &begin));

    sp_part_check(part, i, "allocation", status);
    if (status != 0)
        return no_pointer;
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
    if (pointer != no_pointer)
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
    if (pointer == no_pointer)
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
    if (pointer != no_pointer)
        free_untimed(part, block, i);
}

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
        sp_player_plan_keep_pace(part->player, i);
        sp_player_lines_play(part, i);
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

static void play_part(struct sp_part *part) {
    const struct sp_play *play_of = &part->player->play;
    const struct sp_trace *trace = play_of->trace;
    size_t drawn = 0;
    for (size_t step = 0; step < part->operation_count; step++) {
        size_t i = part->operations ? part->operations[step] : step;
        play_in_turn(part, i);
        sp_sample_take(part->player, i);
        if (i == trace->live_peak_operation)
            play_of->allocator->at_peak(play_of->stage);
        if (i + 1 - drawn >= PROGRESS_STEP)
            show_progress(part, &drawn, i + 1);
    }
    show_progress(part, &drawn, trace->operation_count);
}

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
    play_part(part);
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
        play_part(player->parts);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return started == others ||
           sp_stage_fail(player->play.stage, "thread %zu of %zu can't be started", started + 2,
                         player->part_count);
}

// All work is done by now, so a block whose stream is gone is freed without.
static void free_left(struct sp_player *player, uint32_t block) {
    const struct sp_play *play = &player->play;
    size_t last = play->trace->operation_count - 1;
    if (sp_player_streams_is_there(player, play->trace->blocks[block].stream)) {
        free_untimed(player->parts, block, last);
        return;
    }
    uint64_t pointer = atomic_load(&player->pointers[block]);
    release_block(player, block);
    sp_part_check(
        player->parts, last, "free",
        play->allocator->free_unordered(play->stage, pointer, play->trace->blocks[block].size));
}

static void free_what_is_alive(struct sp_player *player) {
    const struct sp_trace *trace = player->play.trace;
    for (size_t block = 0; block < trace->block_count; block++) {
        uint64_t pointer = atomic_load(&player->pointers[block]);
        if (pointer != no_pointer && pointer != not_yet)
            free_left(player, (uint32_t)block);
    }
}

// ------------------------------------------------------------------------------------------ a pass

static bool begin_pass(struct sp_player *player) {
    for (size_t i = 0; i < player->play.trace->block_count; i++)
        atomic_store_explicit(&player->pointers[i], not_yet, memory_order_relaxed);
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
    sp_growths_begin_pass(growths, play_of->trace, play_of->allocator->name, play_of->start,
                          result->pass);
}

static void end_growths(const struct sp_play *play_of, struct sp_result *result) {
    if (!result->growths)
        return;
    result->growth_count = result->growths->count - result->first_growth;
    sp_growths_end_pass(play_of->stage->growths);
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
    result->reserved_peak_bytes = player->live_peak_bytes;
    bool known = play_of->allocator->reserved_peak(play_of->stage, &result->reserved_peak_bytes) &&
                 play_of->allocator->statistics(play_of->stage, &result->statistics);
    sp_sample_end_pass(player, result);
    free_what_is_alive(player);
    sum_up(player, result);
    return sp_player_streams_synchronize(player) && known;
}
