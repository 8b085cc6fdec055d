#include "cli/play/part.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ----------------------------------------------------------------------------- streams and events
//
// A stream of the trace is one of the device, of its kind. The legacy stream is the null handle.
// A per-thread stream has the driver's handle for it where the thread that plays it is its own: in
// a part for each thread always, in one part for the first thread of the trace. For other threads'
// per-thread streams one part has blocking streams, which have the same order.
//
// Each stream has an event of the player's, for order that the trace doesn't have. The trace's own
// events are created by the line that first names them.

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
    if (player->streams[i])
        return CUDA_SUCCESS;
    unsigned flags = kind == SP_TRACE_NON_BLOCKING ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
    CUresult result = sp_player_driver(player)->cuStreamCreate(&player->streams[i], flags);
    if (result != CUDA_SUCCESS)
        player->streams[i] = NULL;
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

// Creates the streams that are not there, those that the pass before has destroyed among them, and
// destroys the trace's events that it has left. False, with the stage's reason, when it can't.
static bool create_streams(struct sp_player *player) {
    size_t count = player->play.trace->stream_count;
    destroy_trace_events(player);
    for (size_t i = 0; i < count; i++) {
        CUresult result = create_stream(player, i);
        if (result == CUDA_SUCCESS)
            result = sp_player_create_event(player, &player->events[i]);
        if (result != CUDA_SUCCESS)
            return sp_stage_fail(player->play.stage, "stream %zu of %zu can't be created: %s",
                                 i + 1, count, sp_driver_error_name(result));
    }
    return true;
}

static void destroy_streams(struct sp_player *player) {
    destroy_trace_events(player);
    for (size_t i = 0; i < player->play.trace->stream_count; i++) {
        if (player->events[i])
            sp_player_order(player, SP_TRACE_DESTROY_EVENT, NULL, player->events[i]);
        if (player->streams[i] && !is_default(player, i))
            sp_player_order(player, SP_TRACE_DESTROY_STREAM, player->streams[i], NULL);
    }
}

// The stream, or SP_TRACE_NO_STREAM where it is gone or can't be passed to a call between two
// passes. The calling thread plays the first part, which is that of the trace's first thread.
static uint32_t stream_left(const struct sp_player *player, uint32_t stream) {
    bool is_there = player->streams[stream] || is_default(player, stream);
    return is_there && sp_player_is_of(player, stream, 0) ? stream : SP_TRACE_NO_STREAM;
}

// Synchronises each stream, and the device where one can't be passed.
static int synchronize(const struct sp_player *player,
                       int (*order)(struct sp_stage *stage, enum sp_trace_action action,
                                    CUstream stream, CUevent event)) {
    struct sp_stage *stage = player->play.stage;
    bool all_there = true;
    int status = 0;
    for (uint32_t i = 0; i < player->play.trace->stream_count && status == 0; i++)
        if (stream_left(player, i) == i)
            status = order(stage, SP_TRACE_SYNCHRONIZE_STREAM, player->streams[i], NULL);
        else
            all_there = false;
    return status != 0 || all_there ? status
                                    : order(stage, SP_TRACE_SYNCHRONIZE_DEVICE, NULL, NULL);
}

// ---------------------------------------------------------------------------------- open and close

//   X(array of the player, how many elements), all zeroed
#define ARRAYS(X)                                                                                  \
    X(parts, player->part_count)                                                                   \
    X(streams, trace->stream_count)                                                                \
    X(events, trace->stream_count)                                                                 \
    X(trace_events, trace->event_count)                                                            \
    X(turns, trace->event_count)                                                                   \
    X(pointers, trace->block_count)                                                                \
    X(took, trace->operation_count)                                                                \
    X(samples, trace->operation_count)

static void release_arrays(struct sp_player *player) {
#define RELEASE(array, count) free(player->array);
    ARRAYS(RELEASE)
#undef RELEASE
    sp_shares_release(&player->shares);
}

// Makes the arrays, and the parts in them.
static bool open_parts(struct sp_player *player) {
    const struct sp_trace *trace = player->play.trace;
    bool alone = player->part_count == 1, good = true;
#define ALLOCATE(array, count)                                                                     \
    player->array = calloc((count) + 1, sizeof *player->array);                                    \
    good = good && player->array;
    ARRAYS(ALLOCATE)
#undef ALLOCATE
    if (!good || (!alone &&
                  (!sp_shares_open(&player->shares, trace) || !sp_lead_open(&player->lead, trace))))
        return false;
    for (size_t i = 0; i < player->part_count; i++) {
        const size_t *begins = player->shares.begins;
        struct sp_part *part = &player->parts[i];
        part->player = player;
        part->operations = alone ? NULL : player->shares.operations + begins[i];
        part->operation_count = alone ? trace->operation_count : begins[i + 1] - begins[i];
    }
    return true;
}

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

bool sp_player_open(struct sp_player *player, const struct sp_play *play) {
    *player = (struct sp_player){.play = *play};
    player->part_count = play->parts == SP_ONE_PART ? 1 : play->trace->thread_count;
    if (play->work)
        player->piece_ns = sp_plan_piece_ns(play->plan, play->trace);
    const char *missing = sp_meter_open(&player->meter, play->stage->device->driver, play->work);
    if (missing)
        return sp_stage_fail(play->stage, "the simulated driver has no %s", missing);
    if (!open_parts(player)) {
        release_arrays(player);
        sp_meter_close(&player->meter);
        return sp_stage_fail(play->stage, "out of host memory");
    }
    pthread_mutex_init(&player->gate, NULL);
    if (create_streams(player) && hold(player))
        return true;
    sp_player_close(player);
    return false;
}

void sp_player_close(struct sp_player *player) {
    if (player->held)
        sp_player_free(player, player->held, player->play.held_bytes, stream_left(player, 0));
    destroy_streams(player);
    pthread_mutex_destroy(&player->gate);
    if (player->part_count > 1)
        sp_lead_close(&player->lead);
    release_arrays(player);
    sp_meter_close(&player->meter);
}

// --------------------------------------------------------------------------------------- all parts

static void *play_in_thread(void *argument) {
    struct sp_part *part = argument;
    struct sp_player *player = part->player;
    const struct sp_device *device = player->play.stage->device;
    pthread_mutex_lock(&player->gate);
    bool open = player->open;
    pthread_mutex_unlock(&player->gate);
    if (!open)
        return NULL;
    sp_part_check_driver(part, "context", device->driver->cuCtxSetCurrent(device->context));
    sp_part_play(part);
    return NULL;
}

// A part whose thread can't be started would keep the others waiting for its blocks, so all are
// started before one begins. The calling thread plays the first part.
static bool play_all(struct sp_player *player) {
    size_t others = player->part_count - 1, started = 0;
    pthread_t *threads = calloc(player->part_count, sizeof *threads);
    if (!threads)
        return sp_stage_fail(player->play.stage, "out of host memory");
    pthread_mutex_lock(&player->gate);
    while (started < others && pthread_create(&threads[started], NULL, play_in_thread,
                                              &player->parts[started + 1]) == 0)
        started++;
    player->open = started == others;
    player->begin = sp_meter_now(&player->meter);
    pthread_mutex_unlock(&player->gate);
    if (player->open)
        sp_part_play(player->parts);
    for (size_t i = 0; i < started; i++)
        pthread_join(threads[i], NULL);
    free(threads);
    return player->open || sp_stage_fail(player->play.stage, "thread %zu of %zu can't be started",
                                         started + 2, player->part_count);
}

// All work is done by now, so a block whose stream is gone is freed without.
static void free_what_is_alive(struct sp_player *player) {
    const struct sp_trace *trace = player->play.trace;
    player->parts->at = trace->operation_count - 1;
    for (uint32_t block = 0; block < trace->block_count; block++) {
        uint64_t pointer = atomic_load(&player->pointers[block]);
        if (pointer != SP_NO_POINTER && pointer != SP_NOT_YET)
            sp_part_free(player->parts, block, stream_left(player, trace->blocks[block].stream));
    }
}

// ------------------------------------------------------------------------------------------ a pass

// Writes to all numbers, so that no page of them is touched for the first time between two measured
// calls.
static bool begin_pass(struct sp_player *player, unsigned pass) {
    const struct sp_play *play = &player->play;
    memset(player->took, 0xff, play->trace->operation_count * sizeof *player->took);
    for (size_t i = 0; i < play->trace->block_count; i++)
        atomic_store_explicit(&player->pointers[i], SP_NOT_YET, memory_order_relaxed);
    for (size_t i = 0; i < player->part_count; i++) {
        struct sp_part *part = &player->parts[i];
        part->at = 0;
        part->modelled_ns = part->work_ns = part->errors = 0;
    }
    sp_lead_reset(&player->lead);
    for (unsigned place = 0; place < SP_TRACE_PLACE_COUNT; place++) {
        struct sp_stage *stage = sp_player_stage(player, place);
        uint64_t held = place == SP_TRACE_AT_DEVICE ? play->held_bytes : 0;
        player->live_bytes[place] = player->live_peak_bytes[place] = held;
        if (stage && !play->allocator->begin_pass(stage))
            return sp_stage_hand_on(stage, play->stage);
    }
    if (play->series)
        sp_series_begin_pass(play->series, pass);
    return true;
}

static void sum_up(const struct sp_player *player, struct sp_result *result) {
    const struct sp_trace *trace = player->play.trace;
    size_t first = SIZE_MAX;
    for (size_t i = 0; i < player->part_count; i++) {
        const struct sp_part *part = &player->parts[i];
        result->modelled_ns += part->modelled_ns;
        result->work_ns += part->work_ns;
        result->errors += part->errors;
        if (part->errors == 0 || part->first_error_operation > first)
            continue;
        first = part->first_error_operation;
        memcpy(result->first_error, part->first_error, sizeof part->first_error);
    }
    struct sp_samples mallocs = {player->samples, 0};
    struct sp_samples frees = {player->samples + trace->block_count, 0};
    for (size_t i = 0; i < trace->operation_count; i++) {
        enum sp_trace_action action = trace->operations[i].action;
        bool is_malloc = action == SP_TRACE_ALLOCATE || action == SP_TRACE_FAILURE;
        struct sp_samples *samples = is_malloc ? &mallocs : &frees;
        if (player->took[i] != SP_NO_CALL)
            samples->ns[samples->count++] = player->took[i];
    }
    result->malloc_ns = sp_times_of(&mallocs);
    result->free_ns = sp_times_of(&frees);
    result->total_ns = sp_samples_sum(&mallocs) + sp_samples_sum(&frees);
    result->live_peak_bytes = player->live_peak_bytes[SP_TRACE_AT_DEVICE];
}

// Reads the peaks at other places than the device.
static bool read_places(const struct sp_player *player, struct sp_result *result) {
    const struct sp_play *play = &player->play;
    for (unsigned place = SP_TRACE_AT_DEVICE + 1; place < SP_TRACE_PLACE_COUNT; place++) {
        struct sp_place_peaks *peaks = &result->places[place];
        struct sp_stage *stage = sp_player_stage(player, place);
        if (!stage)
            continue;
        peaks->live_bytes = player->live_peak_bytes[place];
        if (!play->allocator->reserved_peak(stage, &peaks->reserved_bytes))
            return sp_stage_hand_on(stage, play->stage);
    }
    return true;
}

static void begin_growths(const struct sp_player *player, struct sp_result *result) {
    const struct sp_play *play_of = &player->play;
    struct sp_growths *growths = play_of->stage->pool ? play_of->stage->growths : NULL;
    result->growths = growths;
    if (!growths)
        return;
    result->first_growth = growths->count;
    growths->trace = play_of->trace;
    growths->streams = player->streams;
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
    if (!create_streams(player) || !begin_pass(player, pass))
        return false;
    begin_growths(player, result);
    bool played =
        play_all(player) && sp_stage_check(play_of->stage, "a stream's work has not ended well",
                                           synchronize(player, sp_driver_order));
    end_growths(play_of, result);
    if (!played)
        return false;
    result->end_to_end_ns = sp_meter_now(&player->meter) - player->begin;
    const struct sp_allocator *allocator = play_of->allocator;
    result->reserved_peak_bytes = player->live_peak_bytes[SP_TRACE_AT_DEVICE];
    bool known =
        allocator->reserved_peak(play_of->stage, &result->reserved_peak_bytes) &&
        (!allocator->statistics || allocator->statistics(play_of->stage, &result->statistics)) &&
        read_places(player, result);
    // An allocator that tells nothing is known by its peak, which is that of when most was alive.
    if (play_of->series && !play_of->series->lines[SP_FIGURE_RESERVED].is_whole)
        sp_series_add_peak(play_of->series, SP_FIGURE_RESERVED, result->reserved_peak_bytes);
    free_what_is_alive(player);
    sum_up(player, result);
    int status = synchronize(player, allocator->order);
    return (status == 0 || sp_stage_fail(play_of->stage, "a stream can't be synchronised: %s",
                                         allocator->error_name(status))) &&
           known;
}
