// Threads that were asked to end (pthread_cancel, deferred), in every kind of call and in every
// environment: none ends in a call, all end behind it, and the others go on.
//
// A thread that has been asked ends at the next cancellation point that it meets, so it is asked
// before its call: then the first one in the call would be its end. Each row has a process of its
// own, which sets its environment before it calls the library.
#include "stress/cancel_driver.h"
#include "stress/cancel_scene.h"

#include "support/check.h"
#include "support/device.h"
#include "support/pools.h"
#include "support/runner.h"
#include "support/simulated.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { SEEDS = 8, CALLS = 120, GOING = 4 };

static const char *trace; // the file that the row writes

static void set_environment(const char *name, const char *value) {
    REQUIRE(setenv(name, value, 1) == 0);
}

// --------------------------------------------------------------------------------- a call a thread

struct case_of_one {
    struct scene *scene;
    bool returned;
};

static void *call_and_end(void *argument) {
    struct case_of_one *one = argument;
    test_use_device(0);
    pthread_cancel(pthread_self());
    scene_call(one->scene);
    one->returned = true;
    pthread_testcancel();
    return NULL;
}

static void run_one(struct scene *scene, uint64_t seed, unsigned call) {
    struct case_of_one one = {.scene = scene};
    pthread_t thread;
    void *result;
    test_set_context("seed %llu, call %u", (unsigned long long)seed, call);
    REQUIRE(pthread_create(&thread, NULL, call_and_end, &one) == 0);
    REQUIRE(pthread_join(thread, &result) == 0);
    REQUIRE(one.returned);
    REQUIRE(result == PTHREAD_CANCELED);
}

static void end_threads_in_calls(void) {
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct scene scene;
        scene_open(&scene, seed);
        for (unsigned call = 0; call < CALLS; call++) {
            run_one(&scene, seed, call);
            scene_mend(&scene);
            REQUIRE_EQUAL(scene_used_bytes(&scene), scene_live_bytes(&scene));
        }
        scene_close(&scene);
    }
    REQUIRE_EQUAL(test_used(test_default_pool(0)), 0);
    if (trace)
        unlink(trace);
}

// The first call of the process, too: it reads the options, loads the driver, opens files.
static void *begin_and_end(void *argument) {
    pthread_cancel(pthread_self());
    test_use_device(0);
    poolMemPool_t pool;
    *(bool *)argument = poolDeviceGetDefaultMemPool(&pool, 0) == poolSuccess;
    pthread_testcancel();
    return NULL;
}

static void begin_in_a_thread_that_ends(void) {
    bool begun = false;
    pthread_t thread;
    void *result;
    REQUIRE(pthread_create(&thread, NULL, begin_and_end, &begun) == 0);
    REQUIRE(pthread_join(thread, &result) == 0);
    REQUIRE(begun && result == PTHREAD_CANCELED);
    test_use_device(0);
}

static void run_all(void) {
    begin_in_a_thread_that_ends();
    cancel_driver_install();
    end_threads_in_calls();
}

// ------------------------------------------------------------------------------------ environments

static void set_trace(const char *end) {
    static char path[] = "/tmp/streampool-cancel-XXXXXX.csv.gz";
    path[sizeof path - sizeof ".csv.gz" + strlen(end)] = '\0';
    int file = mkstemps(path, (int)strlen(end));
    REQUIRE(file >= 0);
    close(file);
    trace = path;
    set_environment("STREAMPOOL_TRACE", path);
}

static void hide_standard_error(void) {
    int nowhere = open("/dev/null", O_WRONLY);
    REQUIRE(nowhere >= 0 && dup2(nowhere, STDERR_FILENO) == STDERR_FILENO);
    close(nowhere);
}

static void row_nothing_is_set(void) {
    run_all();
}

static void row_a_trace_is_recorded(void) {
    set_trace(".csv");
    run_all();
}

static void row_a_gzipped_trace_is_recorded(void) {
    set_trace(".csv.gz");
    run_all();
}

static void row_all_is_logged(void) {
    hide_standard_error();
    set_environment("STREAMPOOL_LOG", "debug");
    run_all();
}

static void row_settings_are_bad(void) {
    hide_standard_error();
    set_environment("STREAMPOOL_POOL", "ReleaseTreshold=max,ReleaseDelay=many");
    set_environment("STREAMPOOL_LOG", "loud");
    set_environment("STREAMPOOL_STATS", "perhaps");
    run_all();
}

static void row_growths_are_explained(void) {
    hide_standard_error();
    set_environment("STREAMPOOL_EXPLAIN_GROWTH", "1");
    run_all();
}

static void row_blocks_are_noted(void) {
    hide_standard_error();
    set_environment("STREAMPOOL_STATS", "1");
    set_environment("STREAMPOOL_LEAKS", "1");
    set_environment("STREAMPOOL_STACKS", "8");
    run_all();
}

static void row_a_trace_ends_early(void) {
    struct rlimit most = {KIB(2), KIB(2)};
    hide_standard_error();
    set_trace(".csv");
    REQUIRE(setrlimit(RLIMIT_FSIZE, &most) == 0);
    run_all();
}

static void row_nothing_completes_early(void) {
    set_environment("STREAMPOOL_SIMCUDA", "memory=512M,completion=latest");
    run_all();
}

static void row_memory_is_plain(void) {
    set_environment("STREAMPOOL_VMM", "0");
    run_all();
}

static void row_streams_have_no_ids(void) {
    set_environment("STREAMPOOL_SIMCUDA", "memory=512M,completion=latest");
    set_environment("STREAMPOOL_DRIVER_API", "10020");
    set_trace(".csv");
    run_all();
}

static void row_no_event_covers_a_context(void) {
    set_environment("STREAMPOOL_SIMCUDA", "memory=512M,completion=latest");
    set_environment("STREAMPOOL_DRIVER_API", "12000");
    run_all();
}

static void row_all_at_once(void) {
    hide_standard_error();
    set_environment("STREAMPOOL_VMM", "0");
    set_environment("STREAMPOOL_LOG", "debug");
    set_environment("STREAMPOOL_EXPLAIN_GROWTH", "1");
    set_environment("STREAMPOOL_LEAKS", "1");
    set_environment("STREAMPOOL_STACKS", "4");
    set_trace(".csv.gz");
    run_all();
}

// -------------------------------------------------------------------------- many threads at a time

// A thread goes on until it is asked to end, which is in the middle of a call mostly. Its scene
// outlives it: the next thread goes on with that.
struct going {
    struct scene scene;
    pthread_t thread;
    _Atomic unsigned calls;
};

static void go_on_once(struct going *going) {
    scene_call(&going->scene);
    scene_mend(&going->scene);
    atomic_fetch_add(&going->calls, 1);
}

static void *go_on(void *argument) {
    test_use_device(0);
    for (;;) {
        go_on_once(argument);
        pthread_testcancel();
    }
    return NULL;
}

static void start(struct going *going) {
    REQUIRE(pthread_create(&going->thread, NULL, go_on, going) == 0);
}

static void end(struct going *going) {
    void *result;
    REQUIRE(pthread_cancel(going->thread) == 0);
    REQUIRE(pthread_join(going->thread, &result) == 0);
    REQUIRE(result == PTHREAD_CANCELED);
}

static void await_calls(struct going *going, unsigned calls) {
    for (unsigned first = atomic_load(&going->calls); atomic_load(&going->calls) - first < calls;)
        sched_yield();
}

static void open_scenes(struct going going[GOING]) {
    for (uint64_t i = 0; i < GOING; i++)
        scene_open(&going[i].scene, i + 1);
}

static void close_scenes(struct going going[GOING]) {
    for (size_t i = 0; i < GOING; i++)
        scene_close(&going[i].scene);
    REQUIRE_EQUAL(test_used(test_default_pool(0)), 0);
}

static void row_threads_come_and_go_in_the_middle_of_calls(void) {
    static struct going going[GOING];
    struct numbers numbers = {1};
    test_use_device(0);
    open_scenes(going);
    for (size_t i = 0; i < GOING; i++)
        start(&going[i]);
    for (unsigned ended = 0; ended < 50; ended++) {
        struct going *one = &going[numbers_below(&numbers, GOING)];
        await_calls(one, (unsigned)numbers_below(&numbers, 20));
        end(one);
        start(one);
        await_calls(&going[numbers_below(&numbers, GOING)], 1); // the others go on
    }
    for (size_t i = 0; i < GOING; i++)
        end(&going[i]);
    close_scenes(going);
}

// Under the scheduler, which gives the turn of a thread that ends to another one.
static void go_on_and_end(void *argument) {
    struct going *going = argument;
    test_use_device(0);
    for (uint64_t left = numbers_below(&going->scene.numbers, 40); left > 0; left--)
        go_on_once(going);
    pthread_cancel(pthread_self());
    go_on_once(going);
    pthread_testcancel();
    test_fail(__FILE__, __LINE__, "the thread was not cancelled");
}

static void row_scheduled_threads_end_behind_calls(void) {
    static struct going going[GOING];
    void *arguments[GOING];
    set_environment("STREAMPOOL_SIMCUDA", "mode=scheduled,seed=5,memory=512M");
    const struct test_simulated *simulated = test_require_simulated();
    test_use_device(0);
    open_scenes(going);
    for (size_t i = 0; i < GOING; i++)
        arguments[i] = &going[i];
    for (unsigned round = 0; round < 5; round++)
        REQUIRE(simulated->simcudaRunThreads(go_on_and_end, arguments, GOING) == 0);
    close_scenes(going);
}

// ---------------------------------------------------------------------------------- a thread's end

static pthread_key_t key;

// Runs in each round of destructors but the last: before the library's own, between them, and
// behind them. The thread sanitizer ends its part of a thread in the last one, in which nothing may
// be left to do: so there it runs in the first one alone.
#ifdef WITH_THREAD_SANITIZER
enum { ROUNDS = 1 };
#else
enum { ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS - 1 };
#endif

static void call_at_the_end(void *scene) {
    static _Thread_local unsigned rounds;
    test_use_device(0); // the driver may have forgotten the thread's context by now
    scene_call(scene);
    scene_mend(scene);
    if (++rounds < ROUNDS)
        pthread_setspecific(key, scene);
}

static void *end_with_calls(void *scene) {
    test_use_device(0);
    REQUIRE(pthread_setspecific(key, scene) == 0);
    scene_call(scene);
    scene_mend(scene);
    pthread_exit(NULL);
}

static void row_threads_make_calls_while_they_end(void) {
    struct scene scene;
    pthread_t thread;
    test_use_device(0);
    scene_open(&scene, 7);
    REQUIRE(pthread_key_create(&key, call_at_the_end) == 0);
    for (unsigned i = 0; i < 100; i++) {
        REQUIRE(pthread_create(&thread, NULL, end_with_calls, &scene) == 0);
        REQUIRE(pthread_join(thread, NULL) == 0);
        REQUIRE_EQUAL(scene_used_bytes(&scene), scene_live_bytes(&scene));
    }
    scene_close(&scene);
}

static void *exit_in_thread(void *unused) {
    (void)unused;
    pthread_cancel(pthread_self());
    exit(EXIT_SUCCESS);
}

static void row_exit_in_a_thread_that_ends(void) {
    pthread_t thread;
    hide_standard_error();
    set_environment("STREAMPOOL_STATS", "1");
    set_environment("STREAMPOOL_LEAKS", "1");
    set_environment("STREAMPOOL_TRACE", "/dev/null");
    test_use_device(0);
    test_malloc(test_default_pool(0), MIB(1), test_stream());
    poolMemPool_t pool = test_pool(); // gives the library's thread something to do
    test_set_flag(pool, poolMemPoolAttrTrimByReaper, 1);
    test_free(test_malloc(pool, MIB(8), CU_STREAM_LEGACY), CU_STREAM_LEGACY);
    EXPECT(poolStreamSynchronize(CU_STREAM_LEGACY), poolSuccess);
    REQUIRE(pthread_create(&thread, NULL, exit_in_thread, NULL) == 0);
    pthread_join(thread, NULL);
    test_fail(__FILE__, __LINE__, "the thread ended before the process");
}

static void row_a_process_ends_by_a_thread_that_was_asked_to_end(void) {
    for (unsigned i = 0; i < 5; i++)
        test_run_helper_quietly("exit_in_a_thread_that_ends");
}

// clang-format off
#define CANCEL_ROWS(X) \
    X(nothing_is_set, "a thread that was asked to end makes each kind of call, and ends behind it: no block is lost") \
    X(a_trace_is_recorded, "the same while a trace is recorded") \
    X(a_gzipped_trace_is_recorded, "the same with a trace that is gzipped") \
    X(all_is_logged, "the same with a log of all levels") \
    X(settings_are_bad, "the same where the environment is wrong, and a line says so") \
    X(growths_are_explained, "the same where each growth has its line") \
    X(blocks_are_noted, "the same where live blocks are noted, with their stacks") \
    X(a_trace_ends_early, "the same where the trace's file takes no more") \
    X(nothing_completes_early, "the same on a device on which nothing completes before somebody waits") \
    X(memory_is_plain, "the same without virtual memory") \
    X(streams_have_no_ids, "the same on a driver of CUDA 10.2, with a trace") \
    X(no_event_covers_a_context, "the same on a driver of CUDA 12.0, where the host waits for contexts") \
    X(all_at_once, "the same with many of these at once") \
    X(threads_come_and_go_in_the_middle_of_calls, "threads are cancelled at any time, and others go on") \
    X(scheduled_threads_end_behind_calls, "the same under the simulated driver's scheduler") \
    X(threads_make_calls_while_they_end, "destructors of a thread make calls, in each round but the last") \
    X(a_process_ends_by_a_thread_that_was_asked_to_end, "exit() in such a thread ends the process")

#define CANCEL_HELPERS(X) \
    X(exit_in_a_thread_that_ends, "ends by exit() in a thread that was asked to end")
// clang-format on

static const struct test_row rows[] = {CANCEL_ROWS(TEST_ROW_ENTRY)};
static const struct test_row helpers[] = {CANCEL_HELPERS(TEST_ROW_ENTRY)};

static const struct test_group groups[] = {
    {"cancel", rows, sizeof rows / sizeof rows[0]},
    {TEST_HELPERS, helpers, sizeof helpers / sizeof helpers[0]},
};

static const struct test_program program = {
    .purpose = "Threads that end in the middle of calls.",
    .groups = groups,
    .group_count = sizeof groups / sizeof groups[0],
    .conclude = test_require_no_complaints,
};

int main(int argc, char **argv) {
    return test_main(argc, argv, &program);
}
