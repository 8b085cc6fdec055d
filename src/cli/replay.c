// streampool replay: reads all traces, plays each through each allocator, then prints.
#include "cli/replay.h"

#include "cli/allocator_peer.h"
#include "cli/command.h"
#include "cli/complain.h"

#include <stdlib.h>
#include <string.h>

static bool play_passes(struct sp_replay *replay, struct sp_player *player,
                        struct sp_drawn *drawn) {
    for (unsigned pass = 1; pass <= replay->request->passes; pass++) {
        struct sp_result *result = &replay->results[replay->result_count++];
        if (!sp_player_run(player, pass, result))
            return false;
        result->origin = &replay->origin;
        if (drawn)
            drawn->errors += result->errors;
    }
    return true;
}

static bool play_trace(struct sp_replay *replay, const struct sp_trace *trace,
                       struct sp_stage *stage, const struct sp_allocator *allocator, unsigned start,
                       struct sp_drawn *drawn) {
    const struct sp_replay_request *request = replay->request;
    struct sp_play play = {
        .trace = trace,
        .allocator = allocator,
        .stage = stage,
        .plan = &request->plan,
        .work = replay->work,
        .parts = request->parts,
        .start = start,
        .held_bytes = sp_perturbation_bytes(&request->perturbation, trace, start),
        .progress = &replay->progress,
        .series = drawn ? &drawn->series : NULL,
    };
    struct sp_player player;
    if (!sp_player_open(&player, &play))
        return false;
    bool good = play_passes(replay, &player, drawn);
    sp_player_close(&player);
    return good;
}

// Returns whether all went well; the stage's reason is that of what failed first.
static bool close_stage(const struct sp_allocator *allocator, struct sp_stage *stage, bool good) {
    struct sp_stage failed = *stage;
    return allocator->close(good ? stage : &failed) && good;
}

// False only when nothing more can be replayed; an allocator that can't be opened is noted.
static bool play_start(struct sp_replay *replay, const struct sp_trace *trace, size_t index,
                       unsigned start) {
    const struct sp_allocator *allocator = replay->request->allocators.items[index];
    struct sp_drawn *drawn = sp_replay_plot_at(&replay->plot, trace->name, index);
    struct sp_stage stage = {.device = &replay->device,
                             .peer = allocator->peer,
                             .threshold = replay->request->threshold,
                             .limit = replay->request->settings.limit,
                             .growths = replay->request->explain_growth ? &replay->growths : NULL};
    sp_progress_label(&replay->progress, trace->name);
    if (!allocator->open(&stage)) {
        memcpy(replay->unavailable[index], stage.reason, sizeof stage.reason);
        sp_progress_add(&replay->progress, trace->operation_count * replay->request->passes);
        return true;
    }
    bool good = sp_settings_apply(&replay->request->settings, &stage) &&
                play_trace(replay, trace, &stage, allocator, start, drawn);
    if (drawn)
        drawn->allocator = allocator->name;
    if (close_stage(allocator, &stage, good))
        return true;
    sp_progress_end(&replay->progress);
    return sp_complain("%s, %s: %s", trace->name, allocator->name, stage.reason);
}

// Plays a start through one allocator.
static bool play_allocator(struct sp_replay *replay, const struct sp_trace *trace, size_t index,
                           unsigned start) {
    const struct sp_replay_request *request = replay->request;
    char reason[SP_UNSUITED_TEXT];
    if (sp_allocator_suits(request->allocators.items[index], trace, reason))
        return play_start(replay, trace, index, start);
    sp_progress_add(&replay->progress, trace->operation_count * request->passes);
    return true;
}

// The allocators take turns at each start, so that whatever drifts drifts for all.
static bool play_starts(struct sp_replay *replay, const struct sp_trace *trace) {
    const struct sp_replay_request *request = replay->request;
    unsigned starts = sp_perturbation_starts(&request->perturbation);
    for (unsigned start = 1; start <= starts; start++)
        for (size_t index = 0; index < request->allocators.count; index++)
            if (!play_allocator(replay, trace, index, start))
                return false;
    return true;
}

// For each trace.
static size_t runs_of(const struct sp_replay_request *request) {
    return request->allocators.count * sp_perturbation_starts(&request->perturbation) *
           request->passes;
}

static bool play_all(struct sp_replay *replay) {
    const struct sp_replay_request *request = replay->request;
    replay->progress = sp_progress_begin(sp_traces_operations(&replay->traces) * runs_of(request));
    for (size_t trace = 0; trace < replay->traces.count; trace++)
        if (!play_starts(replay, &replay->traces.list[trace]))
            return false;
    sp_progress_end(&replay->progress);
    return true;
}

static bool play_with_work(struct sp_replay *replay) {
    struct sp_work work;
    if (!sp_work_open(&work, &replay->device))
        return false;
    replay->work = &work;
    bool good = play_all(replay) && sp_replay_results_print(replay);
    const char *problem = sp_work_problem(&work);
    replay->work = NULL;
    sp_work_close(&work);
    return problem ? sp_complain("simulated driver: %s", problem) : good;
}

static bool open_plot(struct sp_replay *replay) {
    const struct sp_replay_request *request = replay->request;
    replay->plot = (struct sp_replay_plot){
        .device = &replay->device,
        .starts = sp_perturbation_starts(&request->perturbation),
        .passes = request->passes,
        .allocator_count = request->allocators.count,
    };
    return !request->plot || sp_replay_plot_open(&replay->plot, &replay->traces);
}

static int replay_on_device(struct sp_replay *replay) {
    const struct sp_replay_request *request = replay->request;
    int status = sp_device_take(&replay->device, request->choice);
    if (status != EXIT_SUCCESS)
        return status;
    replay->origin = sp_origin_of(&replay->device);
    replay->results = calloc(replay->traces.count * runs_of(request), sizeof *replay->results);
    bool good = replay->results || sp_complain("out of host memory");
    good = good && open_plot(replay);
    if (good && sp_plan_has_work(&request->plan))
        good = play_with_work(replay);
    else
        good = good && play_all(replay) && sp_replay_results_print(replay);
    sp_replay_plot_release(&replay->plot);
    sp_growths_release(&replay->growths);
    free(replay->results);
    sp_device_close(&replay->device);
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool add_peers(struct sp_replay_request *request) {
    if (!sp_peers_load(&request->peers))
        return false;
    for (size_t i = 0; i < request->peers.count; i++) {
        request->of_peers[i] = sp_allocator_of_peer(request->peers.list[i]);
        request->allocators.items[request->allocators.count++] = &request->of_peers[i];
    }
    return true;
}

int sp_command_replay(int argc, char **argv) {
    struct sp_replay_request request = sp_replay_arguments(argc, argv);
    struct sp_replay replay = {.request = &request};
    int status = EXIT_FAILURE;
    if (add_peers(&request) && sp_traces_read(&replay.traces, request.paths, request.path_count) &&
        (!request.beside || sp_recorded_read(&replay.recorded, request.beside)))
        status = replay_on_device(&replay);
    sp_recorded_release(&replay.recorded);
    sp_traces_release(&replay.traces);
    return status;
}
