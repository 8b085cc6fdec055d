// streampool replay: reads all traces, plays each through each allocator, then prints.
#include "cli/replay/replay.h"

#include "cli/play/turns.h"
#include "cli/program/command.h"
#include "cli/program/complain.h"
#include "cli/program/output.h"

#include <stdlib.h>
#include <string.h>

static void skip(struct sp_replay *replay, const struct sp_traces *traces) {
    size_t passes = replay->request->passes.count;
    sp_progress_skip(&replay->progress, traces->count * passes,
                     sp_traces_operations(traces) * passes);
}

// The trace with the most bytes alive at once, the first of several.
static const struct sp_trace *largest(const struct sp_traces *traces) {
    const struct sp_trace *largest = traces->list;
    for (size_t i = 1; i < traces->count; i++)
        if (traces->list[i].live_peak_bytes > largest->live_peak_bytes)
            largest = &traces->list[i];
    return largest;
}

static void note_pass(struct sp_replay *replay, const struct sp_turns *turns, unsigned pass,
                      struct sp_drawn *drawn) {
    struct sp_result *results = &replay->results[replay->result_count];
    if (replay->request->passes.one_pool)
        sp_turns_round(turns, pass, results);
    for (size_t i = 0; i < turns->count; i++) {
        results[i].origin = &replay->origin;
        if (!drawn)
            continue;
        drawn->errors += results[i].errors;
        drawn->result = &results[i];
    }
    replay->result_count += turns->count;
}

static bool play_passes(struct sp_replay *replay, struct sp_turns *turns,
                        const struct sp_play *play, struct sp_drawn *drawn) {
    const struct sp_passes *passes = &replay->request->passes;
    for (unsigned pass = 1; pass <= passes->count; pass++) {
        int status = 0;
        if (pass > 1 && passes->trims)
            status = play->allocator->trim(play->stage, passes->trim_to);
        if (status != 0)
            return sp_stage_fail(play->stage, "a trim fails: %s",
                                 play->allocator->error_name(status));
        if (!sp_turns_run(turns, pass, &replay->results[replay->result_count]))
            return false;
        note_pass(replay, turns, pass, drawn);
    }
    return true;
}

static bool play_traces(struct sp_replay *replay, const struct sp_traces *traces,
                        struct sp_stage *stage, size_t index, unsigned start,
                        struct sp_drawn *drawn) {
    const struct sp_replay_request *request = replay->request;
    struct sp_play play = {
        .allocator = request->allocators.items[index],
        .variant = (unsigned)index,
        .stage = stage,
        .plan = &request->plan,
        .work = replay->work,
        .parts = request->parts,
        .start = start,
        .held_bytes = sp_perturbation_bytes(&request->perturbation, largest(traces), start),
        .progress = &replay->progress,
        .series = drawn ? &drawn->series : NULL,
    };
    struct sp_turns turns;
    bool good = sp_turns_open(&turns, &play, traces);
    if (good) {
        good = play_passes(replay, &turns, &play, drawn);
        sp_turns_close(&turns);
    }
    replay->trace = &traces->list[turns.trace];
    return good;
}

static bool is_needed(const struct sp_allocator *allocator, const struct sp_traces *traces,
                      unsigned place) {
    bool any = place == SP_TRACE_AT_DEVICE;
    for (size_t i = 0; i < traces->count && allocator->has_places; i++)
        any = any || traces->list[i].has_place[place];
    return any;
}

// The reason stays that of what failed first.
static bool close_stages(const struct sp_allocator *allocator, struct sp_stage *stages,
                         unsigned count) {
    bool good = true;
    for (unsigned place = count; place-- > 0;) {
        struct sp_stage stage = stages[place];
        if ((place > 0 && !stage.pool) || allocator->close(&stage))
            continue;
        good = false;
        if (!stages->reason[0])
            memcpy(stages->reason, stage.reason, sizeof stage.reason);
    }
    return good;
}

static bool open_stages(struct sp_replay *replay, const struct sp_allocator *allocator,
                        const struct sp_traces *traces, struct sp_stage *stages) {
    const struct sp_replay_request *request = replay->request;
    for (unsigned place = 0; place < SP_TRACE_PLACE_COUNT; place++) {
        bool is_of_device = place == SP_TRACE_AT_DEVICE;
        stages[place] = (struct sp_stage){
            .device = &replay->device,
            .place = (enum sp_trace_place)place,
            .peer = allocator->peer,
            .threshold = request->threshold,
            .limit = request->settings.limit,
            .growths = is_of_device && request->explain_growth ? &replay->growths : NULL};
        if (!is_needed(allocator, traces, place) || allocator->open(&stages[place]))
            continue;
        stages[place].pool = NULL;
        sp_stage_hand_on(&stages[place], stages);
        close_stages(allocator, stages, place);
        return false;
    }
    return true;
}

static bool apply_settings(const struct sp_settings *settings, struct sp_stage *stages) {
    for (unsigned place = 0; place < SP_TRACE_PLACE_COUNT; place++)
        if (!sp_settings_apply(settings, &stages[place]))
            return sp_stage_hand_on(&stages[place], stages);
    return true;
}

// False only when nothing more can be replayed; an allocator that can't be opened is noted.
static bool play_start(struct sp_replay *replay, const struct sp_traces *traces, size_t index,
                       unsigned start) {
    const struct sp_allocator *allocator = replay->request->allocators.items[index];
    struct sp_drawn *drawn = sp_replay_plot_at(&replay->plot, traces->list->name, index);
    struct sp_stage stages[SP_TRACE_PLACE_COUNT];
    replay->trace = traces->list;
    if (!open_stages(replay, allocator, traces, stages)) {
        memcpy(replay->unavailable[index], stages->reason, sizeof stages->reason);
        skip(replay, traces);
        return true;
    }
    bool good = apply_settings(&replay->request->variants[index], stages) &&
                apply_settings(&replay->request->settings, stages) &&
                play_traces(replay, traces, stages, index, start, drawn);
    if (drawn)
        drawn->allocator = allocator;
    if (close_stages(allocator, stages, SP_TRACE_PLACE_COUNT) && good)
        return true;
    sp_progress_end(&replay->progress);
    return sp_complain("%s, %s: %s", replay->trace->name, allocator->title, stages->reason);
}

// Plays a start through one allocator, unless a trace doesn't suit it.
static bool play_allocator(struct sp_replay *replay, const struct sp_traces *traces, size_t index,
                           unsigned start) {
    const struct sp_allocator *allocator = replay->request->allocators.items[index];
    char reason[SP_UNSUITED_TEXT];
    size_t i = 0;
    while (i < traces->count && sp_allocator_suits(allocator, &traces->list[i], reason))
        i++;
    if (i == traces->count)
        return play_start(replay, traces, index, start);
    skip(replay, traces);
    return true;
}

// Plays the first allocator once without counting it: a process or a device does some things only
// once, such as reserving address space, and those are not to count for what is played first.
static bool warm_up(struct sp_replay *replay, const struct sp_traces *traces) {
    struct sp_replay uncounted = *replay;
    uncounted.plot.list = NULL;
    bool good = play_allocator(&uncounted, traces, 0, 1);
    replay->progress = uncounted.progress;
    return good;
}

// The allocators take turns at each start, so that whatever drifts drifts for all.
static bool play_starts(struct sp_replay *replay, const struct sp_traces *traces) {
    const struct sp_replay_request *request = replay->request;
    unsigned starts = sp_perturbation_starts(&request->perturbation);
    if (request->warms_up && !warm_up(replay, traces))
        return false;
    for (unsigned start = 1; start <= starts; start++)
        for (size_t index = 0; index < request->allocators.count; index++)
            if (!play_allocator(replay, traces, index, start))
                return false;
    return true;
}

// For each trace.
static size_t runs_of(const struct sp_replay_request *request) {
    return request->allocators.count * sp_perturbation_starts(&request->perturbation) *
           request->passes.count;
}

static bool play_all(struct sp_replay *replay) {
    const struct sp_replay_request *request = replay->request;
    size_t runs = runs_of(request) + request->warms_up;
    replay->progress = sp_progress_begin(replay->traces.count * runs,
                                         sp_traces_operations(&replay->traces) * runs);
    size_t together = request->passes.one_pool ? replay->traces.count : 1;
    for (size_t first = 0; first < replay->traces.count; first += together) {
        struct sp_traces traces = {.list = &replay->traces.list[first], .count = together};
        if (!play_starts(replay, &traces))
            return false;
    }
    sp_progress_end(&replay->progress);
    return true;
}

static bool play_with_work(struct sp_replay *replay) {
    struct sp_work work;
    if (!sp_work_open(&work, &replay->device))
        return false;
    replay->work = &work;
    bool good = play_all(replay) && replay->request->print(replay);
    const char *problem = sp_work_problem(&work);
    replay->work = NULL;
    sp_work_close(&work);
    return problem ? sp_complain("simulated driver: %s", problem) : good;
}

static bool open_plot(struct sp_replay *replay) {
    const struct sp_replay_request *request = replay->request;
    replay->plot = (struct sp_replay_plot){
        .title = "streampool replay",
        .device = &replay->device,
        .starts = sp_perturbation_starts(&request->perturbation),
        .passes = request->passes.count,
        .allocator_count = request->allocators.count,
        .growths = &replay->growths,
        .recorded = &replay->recorded,
        .beside = &request->beside_allocators,
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
    if (good && (request->with_work || sp_plan_has_work(&request->plan)))
        good = play_with_work(replay);
    else
        good = good && play_all(replay) && replay->request->print(replay);
    status = good ? EXIT_SUCCESS : EXIT_FAILURE;
    for (size_t i = 0; i < replay->result_count && good; i++)
        if (replay->results[i].errors > 0)
            status = SP_EXIT_CALLS_FAILED;
    sp_replay_plot_release(&replay->plot);
    sp_growths_release(&replay->growths);
    free(replay->results);
    sp_device_close(&replay->device);
    return status;
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

int sp_replay_run(struct sp_replay_request *request) {
    struct sp_replay replay = {.request = request};
    int status = EXIT_FAILURE;
    if (sp_output_ready(request->json) && sp_output_ready(request->plot) && add_peers(request) &&
        sp_traces_read(&replay.traces, request->paths, request->path_count) &&
        (!request->beside || sp_recorded_read(&replay.recorded, request->beside)))
        status = replay_on_device(&replay);
    sp_recorded_release(&replay.recorded);
    sp_traces_release(&replay.traces);
    return status;
}

int sp_command_replay(int argc, char **argv) {
    struct sp_replay_request request = sp_replay_arguments(argc, argv);
    return sp_replay_run(&request);
}
