// The n-th-call loop: for every step of the scenario and every n, the n-th call of an entry point, or the
// n-th host allocation, fails. Then the step returns an error and nothing has changed, or it succeeded all
// the same, where an entry point is one that the library can do without. After it the scenario goes on
// undisturbed and gives everything back.
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fault/host_memory.h"
#include "fault/rows.h"
#include "fault/scenario.h"
#include "support/check.h"
#include "support/device.h"
#include "support/simulated.h"

enum { MAX_SOURCES = 128 };

// What fails: one call of one source, or it and all later ones. `nth` of 0: nothing does.
struct fault {
    size_t source;
    uint64_t nth;
    simcudaFaultSpan span;
    CUresult error;
};

// Where failures come from. `enter` and `leave` stand around one call of the library; `leave` tells how
// often each source was called in it, and how often it failed.
struct sources {
    size_t count;
    const char *(*name)(size_t source);
    void (*enter)(const struct fault *fault);
    uint64_t (*leave)(uint64_t calls[MAX_SOURCES]);
};

struct watch {
    const struct sources *sources;
    const struct fault *fault;
    uint64_t calls[MAX_SOURCES];
    uint64_t failed;
};

// ---------------------------------------------------------------------------------- the driver as a source

static uint64_t calls_at_entry[MAX_SOURCES];

static const char *entry_point_name(size_t source) {
    return sp_driver_entries[source].name;
}

static void enter_driver(const struct fault *fault) {
    const struct test_simulated *simulated = test_require_simulated();
    for (size_t i = 0; i < sp_driver_entry_count; i++)
        calls_at_entry[i] = simulated->simcudaCallCount(entry_point_name(i));
    if (fault->nth != 0)
        REQUIRE(simulated->simcudaFailCall(entry_point_name(fault->source), fault->nth, fault->span,
                                           (int)fault->error) == 0);
}

static uint64_t leave_driver(uint64_t calls[MAX_SOURCES]) {
    const struct test_simulated *simulated = test_require_simulated();
    uint64_t failed = simulated->simcudaFailCount();
    simulated->simcudaFailClear();
    for (size_t i = 0; i < sp_driver_entry_count; i++)
        calls[i] = simulated->simcudaCallCount(entry_point_name(i)) - calls_at_entry[i];
    return failed;
}

static const struct sources *driver_sources(void) {
    static struct sources sources = {.name = entry_point_name, .enter = enter_driver, .leave = leave_driver};
    sources.count = sp_driver_entry_count;
    REQUIRE(sources.count <= MAX_SOURCES);
    return &sources;
}

// ------------------------------------------------------------------------------------ the host as a source

static const char *host_name(size_t source) {
    (void)source;
    return "host allocation";
}

static void enter_host(const struct fault *fault) {
    host_memory_enter(fault->nth, fault->span == simcudaFaultOnwards);
}

static uint64_t leave_host(uint64_t calls[MAX_SOURCES]) {
    uint64_t failed;
    calls[0] = host_memory_leave(&failed);
    return failed;
}

static const struct sources host_sources = {1, host_name, enter_host, leave_host};

// ------------------------------------------------------------------------------------------------- one run

static void enter(void *hooks) {
    struct watch *watch = hooks;
    watch->sources->enter(watch->fault);
}

static void leave(void *hooks) {
    struct watch *watch = hooks;
    watch->failed = watch->sources->leave(watch->calls);
}

// Does the step between the hooks of the watch.
static poolError_t act_watched(struct scene *scene, const struct step *step, struct watch *watch) {
    scene->before = enter;
    scene->after = leave;
    scene->hooks = watch;
    poolError_t error = step->act(scene);
    scene->before = NULL;
    scene->after = NULL;
    return error;
}

static void act_disturbed(struct scene *scene, const struct step *step, struct watch *watch) {
    struct scene_state before = scene_state(scene);
    poolError_t error = act_watched(scene, step, watch);
    REQUIRE(watch->failed != 0);
    scene_check(scene);
    if (error == poolSuccess)
        return;
    scene_require_state(scene, &before);
    REQUIRE(*poolGetLastErrorDetail());
    EXPECT(step->act(scene), poolSuccess);
}

static void run_disturbed(size_t disturbed, const struct sources *sources, const struct fault *fault) {
    struct scene scene;
    struct watch watch = {.sources = sources, .fault = fault};
    test_set_context("%s, %s %" PRIu64 ", error %d", scenario[disturbed].name, sources->name(fault->source),
                     fault->nth, (int)fault->error);
    scene_open(&scene);
    for (size_t i = 0; i < scenario_steps; i++) {
        if (i == disturbed)
            act_disturbed(&scene, &scenario[i], &watch);
        else
            EXPECT(scenario[i].act(&scene), poolSuccess);
        scene_check(&scene);
    }
    scene_close(&scene);
}

// ------------------------------------------------------------------------------------------------ all runs

static void count_calls(const struct sources *sources, uint64_t (*calls)[MAX_SOURCES]) {
    static const struct fault nothing;
    struct scene scene;
    scene_open(&scene);
    for (size_t i = 0; i < scenario_steps; i++) {
        struct watch watch = {.sources = sources, .fault = &nothing};
        test_set_context("%s", scenario[i].name);
        EXPECT(act_watched(&scene, &scenario[i], &watch), poolSuccess);
        scene_check(&scene);
        memcpy(calls[i], watch.calls, sizeof watch.calls);
    }
    scene_close(&scene);
}

static void fail_everything(const struct sources *sources, simcudaFaultSpan span, CUresult error) {
    uint64_t(*calls)[MAX_SOURCES] = calloc(scenario_steps, sizeof *calls);
    uint64_t runs = 0;
    REQUIRE(calls);
    count_calls(sources, calls);
    for (size_t step = 0; step < scenario_steps; step++) {
        for (size_t source = 0; source < sources->count; source++) {
            for (uint64_t nth = 1; nth <= calls[step][source]; nth++, runs++)
                run_disturbed(step, sources, &(struct fault){source, nth, span, error});
        }
    }
    REQUIRE(runs != 0);
    free(calls);
}

static void fail_driver(simcudaFaultSpan span) {
    fail_everything(driver_sources(), span, CUDA_ERROR_OUT_OF_MEMORY);
    fail_everything(driver_sources(), span, CUDA_ERROR_UNKNOWN);
}

static void hide_new_entry_points(void) {
    REQUIRE(setenv("STREAMPOOL_DRIVER_API", "10020", 1) == 0);
}

void row_nothing_is_left_where_nothing_fails(void) {
    uint64_t(*calls)[MAX_SOURCES] = calloc(scenario_steps, sizeof *calls);
    REQUIRE(calls);
    count_calls(driver_sources(), calls);
    free(calls);
}

void row_a_driver_call_that_fails_once_is_an_error_that_changes_nothing(void) {
    fail_driver(simcudaFaultOnce);
}

void row_driver_calls_that_fail_from_one_on_are_an_error_that_changes_nothing(void) {
    fail_driver(simcudaFaultOnwards);
}

void row_without_identities_a_driver_call_that_fails_once_changes_nothing(void) {
    hide_new_entry_points();
    fail_driver(simcudaFaultOnce);
}

void row_without_identities_driver_calls_that_fail_from_one_on_change_nothing(void) {
    hide_new_entry_points();
    fail_driver(simcudaFaultOnwards);
}

void row_a_host_allocation_that_fails_once_is_an_error_that_changes_nothing(void) {
    fail_everything(&host_sources, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
}

void row_host_allocations_that_fail_from_one_on_are_an_error_that_changes_nothing(void) {
    fail_everything(&host_sources, simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
}

static const struct test_row rows[] = {FAULT_ROWS(TEST_ROW_ENTRY)};
static const struct test_group groups[] = {{"faults", rows, sizeof rows / sizeof rows[0]}};

static const struct test_program program = {
    .purpose = "Makes everything fail that the library calls, one call at a time.",
    .groups = groups,
    .group_count = 1,
    .seconds = 300,
};

int main(int argc, char **argv) {
    return test_main(argc, argv, &program);
}
