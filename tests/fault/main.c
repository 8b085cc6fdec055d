// The n-th-call loop: for every step of each scenario and every n, the n-th call of an entry point,
// or the n-th host allocation, fails. Then the step returns an error and nothing has changed, or it
// succeeded all the same, where an entry point is one that the library can do without. After it the
// scenario goes on undisturbed and gives everything back.
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fault/rows.h"
#include "fault/scenario.h"
#include "fault/source.h"
#include "support/check.h"
#include "support/device.h"
#include "support/simulated.h"

struct watch {
    const struct sources *sources;
    const struct fault *fault;
    uint64_t calls[MAX_SOURCES];
    uint64_t failed;
};

// The one that is gone through.
static const struct scenario *scenario = &scenarios[0];

// ----------------------------------------------------------------------------------------- one run

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

// What the library can do without in one call. A failure of anything else must come back to the
// caller.
//
// X(entry point, step: "" for any, why)
// clang-format off
#define DISPENSABLE(X) \
    X("cuMemAddressReserve", "", "a smaller range is tried") \
    X("cuMemCreate", "", "a smaller growth, or another place, is tried") \
    X("cuMemMap", "", "likewise") \
    X("cuMemSetAccess", "", "likewise") \
    X("cuMemUnmap", "", "a synchronise that can't trim is a synchronise; the next one trims") \
    X("cuMemRelease", "", "likewise") \
    X("cuMemAllocManaged", "", "a smaller growth is tried") \
    X("cuMemHostRegister", "", "likewise") \
    X("cuMemFree", "", "as cuMemUnmap") \
    X("cuMemHostUnregister", "", "likewise") \
    X("cuMemAdvise", "", "where memory prefers to be is advice") \
    X("cuEventCreate", "", "the frees stay unfenced until the next record") \
    X("cuEventRecord", "", "likewise") \
    X("cuEventDestroy", "", "the event is of no use any more") \
    X("cuCtxPushCurrent", "", "no event can be made, so the frees stay unfenced") \
    X("cuCtxPopCurrent", "", "can't be undone") \
    X("cuThreadExchangeStreamCaptureMode", "", "can't be undone") \
    X("cuStreamIsCapturing", "", "a record of the caller's event tells us nothing then") \
    X("cuCtxGetCurrent", "", "events that nobody knows to be alive are not asked") \
    X("cuCtxGetId", "", "likewise") \
    X("cuPointerGetAttribute", "", "likewise, on a driver without cuCtxGetId") \
    X("cuEventQuery", "", "likewise; what a query was called for is a row of the conformance program") \
    X("cuStreamWaitEvent", "record_an_event", "a record of the caller's event tells us nothing then") \
    X("cuStreamWaitEvent", "record_behind_it", "likewise") \
    X("cuStreamQuery", "", "a stream that doesn't say so isn't idle: the threshold waits") \
    X("cuMemGetInfo", "", "the pools' own account decides") \
    X("host allocation", "", "another way is tried")
// clang-format on

static bool is_dispensable(const char *name, const char *step) {
#define DISPENSABLE_TEST(entry_point, in_step, why)                                                \
    if (strcmp(name, entry_point) == 0 && (*in_step == '\0' || strcmp(step, in_step) == 0))        \
        return true;
    DISPENSABLE(DISPENSABLE_TEST)
#undef DISPENSABLE_TEST
    return false;
}

static void act_disturbed(struct scene *scene, const struct step *step, struct watch *watch) {
    struct scene_state before = scene_state(scene);
    poolError_t error = act_watched(scene, step, watch);
    REQUIRE(watch->failed != 0);
    scene_check(scene);
    if (error == poolSuccess) {
        REQUIRE(is_dispensable(watch->sources->name(watch->fault->source), step->name));
        return;
    }
    scene_require_state(scene, &before);
    REQUIRE(*poolGetLastErrorDetail());
    EXPECT(step->act(scene), poolSuccess);
}

struct disturbing {
    size_t step;
    const struct sources *sources;
    const uint64_t *calls; // of each source in the step, undisturbed
    unsigned ballast;
    struct fault fault;
};

static void run_disturbed(const struct disturbing *disturbing) {
    const struct sources *sources = disturbing->sources;
    const struct fault *fault = &disturbing->fault;
    struct scene scene;
    struct watch watch = {.sources = sources, .fault = fault};
    test_set_context("%s, %s %" PRIu64 ", error %d, ballast %u",
                     scenario->steps[disturbing->step].name, sources->name(fault->source),
                     fault->nth, (int)fault->error, disturbing->ballast);
    scene_open(&scene, disturbing->ballast);
    for (size_t i = 0; i < scenario->count; i++) {
        if (i == disturbing->step)
            act_disturbed(&scene, &scenario->steps[i], &watch);
        else
            EXPECT(scenario->steps[i].act(&scene), poolSuccess);
        scene_check(&scene);
    }
    scene_close(&scene);
}

static void count_calls(const struct sources *sources, unsigned ballast,
                        uint64_t (*calls)[MAX_SOURCES]) {
    static const struct fault nothing;
    struct scene scene;
    scene_open(&scene, ballast);
    for (size_t i = 0; i < scenario->count; i++) {
        struct watch watch = {.sources = sources, .fault = &nothing};
        test_set_context("%s", scenario->steps[i].name);
        EXPECT(act_watched(&scene, &scenario->steps[i], &watch), poolSuccess);
        scene_check(&scene);
        memcpy(calls[i], watch.calls, sizeof watch.calls);
    }
    scene_close(&scene);
}

// ---------------------------------------------------------------------------------------- all runs

// In a process that has called neither the library nor the driver before.
static bool succeeds_apart(void (*run)(const void *argument), const void *argument) {
    pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        run(argument);
        exit(EXIT_SUCCESS);
    }
    int status;
    REQUIRE(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS;
}

struct counting {
    const struct sources *sources;
    unsigned ballast;
    uint64_t (*calls)[MAX_SOURCES]; // shared with the parent
};

static void count_apart(const void *argument) {
    const struct counting *counting = argument;
    count_calls(counting->sources, counting->ballast, counting->calls);
}

static void disturb_apart(const void *argument) {
    run_disturbed(argument);
}

// A sanitizer takes minutes for what takes seconds without one, and looks for the ways that are
// taken: so it sees every third n, from another one on in each step.
#ifdef WITH_SANITIZER
enum { EVERY = 3 };
#else
enum { EVERY = 1 };
#endif

// Every n of every source in one step, by `run`; returns for how many it returned false.
static unsigned for_each_fault(const struct disturbing *in_step,
                               bool (*run)(const struct disturbing *disturbing)) {
    struct disturbing disturbing = *in_step;
    struct fault *fault = &disturbing.fault;
    unsigned failures = 0;
    for (fault->source = 0; fault->source < disturbing.sources->count; fault->source++) {
        for (fault->nth = 1 + disturbing.step % EVERY;
             fault->nth <= disturbing.calls[fault->source]; fault->nth += EVERY)
            failures += !run(&disturbing);
    }
    return failures;
}

static bool run_apart(const struct disturbing *disturbing) {
    return succeeds_apart(disturb_apart, disturbing);
}

static bool run_here(const struct disturbing *disturbing) {
    run_disturbed(disturbing);
    return true;
}

static void disturb_step_here(const void *argument) {
    for_each_fault(argument, run_here);
}

// Returns how many processes failed. Each of them has told why.
static unsigned fail_step(const struct disturbing *disturbing) {
    if (disturbing->sources->once_a_process)
        return for_each_fault(disturbing, run_apart);
    return !succeeds_apart(disturb_step_here, disturbing);
}

// The table of calls by step that an undisturbed run makes; shared, so that a child can fill it.
static uint64_t (*counted_calls(const struct sources *sources, unsigned ballast))[MAX_SOURCES] {
    size_t size = scenario->count * sizeof(uint64_t[MAX_SOURCES]);
    struct counting counting = {.sources = sources, .ballast = ballast};
    counting.calls = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    REQUIRE(counting.calls != MAP_FAILED);
    REQUIRE(succeeds_apart(count_apart, &counting));
    return counting.calls;
}

static void require_no_failures(unsigned failures) {
    if (failures != 0)
        test_fail(__FILE__, __LINE__, "%u processes failed", failures);
}

static unsigned fail_scenario(const struct sources *sources, simcudaFaultSpan span,
                              CUresult error) {
    uint64_t(*calls)[MAX_SOURCES] = counted_calls(sources, 0);
    unsigned failures = 0;
    for (size_t step = 0; step < scenario->count; step++) {
        struct disturbing disturbing = {.step = step,
                                        .sources = sources,
                                        .calls = calls[step],
                                        .fault = {.span = span, .error = error}};
        failures += fail_step(&disturbing);
    }
    return failures;
}

static void fail_everything(const struct sources *sources, simcudaFaultSpan span, CUresult error) {
    unsigned failures = 0;
    for (size_t i = 0; i < SCENARIOS; i++) {
        scenario = &scenarios[i];
        failures += fail_scenario(sources, span, error);
    }
    require_no_failures(failures);
}

// The steps that make other host allocations with ballast than without: there a chunk runs out.
static unsigned fail_steps_that_differ(unsigned ballast, uint64_t (*without)[MAX_SOURCES]) {
    uint64_t(*calls)[MAX_SOURCES] = counted_calls(&host_sources, ballast);
    unsigned failures = 0;
    for (size_t step = 0; step < scenario->count; step++) {
        struct disturbing disturbing = {.step = step,
                                        .sources = &host_sources,
                                        .calls = calls[step],
                                        .ballast = ballast,
                                        .fault = {.error = CUDA_ERROR_OUT_OF_MEMORY}};
        if (calls[step][0] > without[step][0])
            failures += fail_step(&disturbing);
    }
    return failures;
}

// The library takes the same ways after both errors but for a few, and a sanitizer takes minutes
// for each: what it looks for are the ways.
static void fail_driver(simcudaFaultSpan span) {
    fail_everything(&driver_sources, span, CUDA_ERROR_OUT_OF_MEMORY);
#ifndef WITH_SANITIZER
    fail_everything(&driver_sources, span, CUDA_ERROR_UNKNOWN);
#endif
}

static void hide_new_entry_points(void) {
    REQUIRE(setenv("STREAMPOOL_DRIVER_API", "10020", 1) == 0);
}

void row_nothing_is_left_where_nothing_fails(void) {
    static uint64_t calls[256][MAX_SOURCES];
    for (size_t i = 0; i < SCENARIOS; i++) {
        scenario = &scenarios[i];
        REQUIRE(scenario->count <= 256);
        count_calls(&driver_sources, 0, calls);
    }
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

void row_a_host_allocation_that_fails_changes_nothing_wherever_chunks_run_out(void) {
    uint64_t(*without)[MAX_SOURCES] = counted_calls(&host_sources, 0);
    unsigned failures = 0;
    for (unsigned ballast = 1; ballast <= SCENE_BALLAST; ballast++)
        failures += fail_steps_that_differ(ballast, without);
    require_no_failures(failures);
}

static const struct test_row rows[] = {FAULT_ROWS(TEST_ROW_ENTRY)};
static const struct test_group groups[] = {{"faults", rows, sizeof rows / sizeof rows[0]}};

static const struct test_program program = {
    .purpose = "Makes everything fail that the library calls, one call at a time.",
    .groups = groups,
    .group_count = 1,
};

int main(int argc, char **argv) {
    return test_main(argc, argv, &program);
}
