// The end of a heap, statistics, misuse, and threads.
#include "heap_host/fixture.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static poolError_t destroy(struct fixture *fixture, size_t count) {
    poolError_t error = poolHeapDestroy(fixture->heap, fixture->stream, count);
    fixture->heap = NULL;
    return error;
}

static void heap_with_live_blocks_is_destroyed(void **state) {
    struct fixture *fixture = *state;
    assert_non_null(allocate(fixture, 100));
    assert_non_null(allocate(fixture, 3 * MIB));
    assert_int_equal(destroy(fixture, 0), poolSuccess);
    assert_int_equal(model_live(fixture->model), 0);
    assert_int_equal(model_pending(fixture->model), 0);
}

static void memory_of_a_destroyed_heap_is_free_behind_each_stream(void **state) {
    struct fixture *fixture = *state;
    size_t live = model_live(fixture->model);
    model_hold(fixture->model, fixture->stream[0]);
    model_hold(fixture->model, fixture->stream[1]);
    assert_int_equal(destroy(fixture, 2), poolSuccess);
    assert_int_equal(model_live(fixture->model), 0);
    assert_int_equal(model_pending(fixture->model), live);
    model_let_go(fixture->model, fixture->stream[0]);
    assert_int_equal(model_pending(fixture->model), live);
    model_let_go(fixture->model, fixture->stream[1]);
    assert_int_equal(model_pending(fixture->model), 0);
}

static void *let_go(void *given) {
    struct fixture *fixture = given;
    model_let_go(fixture->model, fixture->stream[4]);
    return NULL;
}

static void destroying_awaits_kernels_of_the_host(void **state) {
    struct fixture *fixture = *state;
    pthread_t thread;
    model_hold(fixture->model, fixture->stream[4]);
    assert_int_equal(poolHeapMaintain(fixture->heap, fixture->stream[4]), poolSuccess);
    assert_int_equal(poolHeapTrim(fixture->heap, &fixture->stream[4], 1), poolSuccess);
    assert_int_equal(pthread_create(&thread, NULL, let_go, fixture), 0);
    assert_int_equal(destroy(fixture, 0), poolSuccess);
    pthread_join(thread, NULL);
}

static void trapped_kernel_leaves_no_memory_behind(void **state) {
    struct fixture *fixture = *state;
    model_hold(fixture->model, fixture->stream[0]);
    assert_int_equal(poolHeapTrim(fixture->heap, fixture->stream, 2), poolSuccess);
    assert_int_equal(poolHeapMaintain(fixture->heap, fixture->stream[0]), poolSuccess);
    model_break(fixture->model);
    assert_int_equal(poolHeapGrow(fixture->heap, UNIT, fixture->stream[0]), poolErrorLaunchFailure);
    assert_int_equal(destroy(fixture, 2), poolErrorLaunchFailure);
    assert_int_equal(model_live(fixture->model), 0);
}

static void behind_a_trap_all_calls_of_the_driver_fail_and_no_others(void **state) {
    struct fixture *fixture = *state;
    struct poolHeapStatistics statistics;
    poolHeap_t heap = fixture->heap;
    CUstream stream = fixture->stream[0];
    struct ph_book *book = poolHeapDevice(heap).book;
    void *block = allocate(fixture, 40);
    model_break(fixture->model);
    const poolError_t failed[] = {
        poolHeapGrow(heap, 1, stream),
        poolHeapGrowContiguous(heap, 1, stream),
        poolHeapMaintain(heap, stream),
        poolHeapTrim(heap, &stream, 1),
        poolHeapFree(heap, block, stream),
        poolHeapGetStatistics(heap, stream, &statistics),
        poolHeapPrintStatistics(heap, stream, stderr),
    };
    for (size_t i = 0; i < sizeof failed / sizeof failed[0]; i++)
        assert_int_equal(failed[i], poolErrorLaunchFailure);
    assert_ptr_equal(poolHeapDevice(heap).book, book);
    assert_int_equal(poolHeapSlabSize(heap), 65536);
    assert_int_equal(poolHeapSetMark(heap, 10), poolSuccess);
    assert_int_equal(poolHeapGrow(heap, 0, stream), poolSuccess);
    assert_int_equal(poolHeapGrowContiguous(heap, 0, stream), poolSuccess);
    assert_int_equal(destroy(fixture, 1), poolErrorLaunchFailure);
}

static void statistics_tell_of_each_class(void **state) {
    struct fixture *fixture = *state;
    void *blocks[100];
    for (int i = 0; i < 100; i++)
        blocks[i] = allocate(fixture, 40);
    struct poolHeapStatistics statistics = statistics_of(fixture);
    const struct poolHeapClass *class48 = &statistics.byClass[2];
    assert_int_equal(class48->blockSize, 48);
    assert_int_equal(class48->blocks, 100);
    assert_int_equal(class48->slabs, 1);
    assert_true(class48->blocksPerSlab > 1300);
    assert_int_equal(statistics.slabsFree, statistics.slabs - 1);
    for (int i = 0; i < 100; i++)
        release(fixture, blocks[i]);
    statistics = statistics_of(fixture);
    assert_int_equal(statistics.byClass[2].blocks, 0);
    assert_int_equal(statistics.slabsFree, statistics.slabs);
}

static void statistics_tell_of_failures_and_bad_frees(void **state) {
    struct fixture *fixture = *state;
    char *block = allocate(fixture, 64);
    assert_null(allocate(fixture, 64 * MIB));
    while (allocate(fixture, 20000) != NULL)
        continue;
    release(fixture, block + 1);
    release(fixture, block);
    release(fixture, block);
    struct poolHeapStatistics statistics = statistics_of(fixture);
    assert_int_equal(statistics.failuresOfRuns, 1);
    assert_int_equal(statistics.largestFailed, 64 * MIB);
    assert_int_equal(statistics.byClass[20].blockSize, 24 * 1024);
    assert_int_equal(statistics.byClass[20].failures, 1);
    assert_int_equal(statistics.foreignFrees, 1);
    assert_int_equal(statistics.doubleFrees, 1);
    assert_int_equal(statistics.badFrees, 2);
    assert_ptr_equal(statistics.badFree[0].address, block + 1);
    assert_int_equal(statistics.badFree[0].kind, poolHeapErrorForeign);
    assert_ptr_equal(statistics.badFree[1].address, block);
    assert_int_equal(statistics.badFree[1].kind, poolHeapErrorDouble);
}

static void largest_failure_stays_known_behind_a_survey(void **state) {
    struct fixture *fixture = *state;
    assert_null(allocate(fixture, 65 * MIB));
    assert_int_equal(poolHeapMaintain(fixture->heap, fixture->stream[0]), poolSuccess);
    assert_int_equal(statistics_of(fixture).largestFailed, 65 * MIB);
}

static void statistics_are_printed(void **state) {
    struct fixture *fixture = *state;
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(allocate(fixture, 40));
    release(fixture, &size);
    assert_int_equal(poolHeapPrintStatistics(fixture->heap, fixture->stream[0], file), poolSuccess);
    fclose(file);
    assert_non_null(strstr(text, "taken from the pool   8388608 of at most 67108864 bytes\n"));
    assert_non_null(strstr(text, "slabs                 128 of 65536 bytes, 127 free\n"));
    assert_non_null(strstr(text, " is no block\n"));
    assert_non_null(strstr(text, "        48            1          1"));
    free(text);
}

static void *count_on_first_stream(void *given) {
    struct fixture *fixture = given;
    struct poolHeapStatistics statistics;
    return (void *)(uintptr_t)poolHeapGetStatistics(fixture->heap, fixture->stream[0], &statistics);
}

static void statistics_wait_for_no_other_stream(void **state) {
    struct fixture *fixture = *state;
    pthread_t thread;
    void *error;
    model_hold(fixture->model, fixture->stream[0]);
    model_fail(fixture->model, 0);
    assert_int_equal(pthread_create(&thread, NULL, count_on_first_stream, fixture), 0);
    while (model_fail(fixture->model, 0) == 0) // the thread counts
        sched_yield();
    for (int i = 0; i < 3; i++)
        assert_int_equal(statistics_of(fixture).bytesTaken, 8 * MIB);
    model_let_go(fixture->model, fixture->stream[0]);
    pthread_join(thread, &error);
    assert_null(error);
}

static void file_that_cannot_be_written_is_told(void **state) {
    struct fixture *fixture = *state;
    FILE *file = fopen("/dev/null", "r");
    assert_int_equal(poolHeapPrintStatistics(fixture->heap, fixture->stream[0], file),
                     poolErrorOperatingSystem);
    fclose(file);
}

// Each call with a heap.
static void expect_of_all(poolHeap_t heap, CUstream stream, poolError_t error) {
    struct poolHeapStatistics statistics;
    assert_int_equal(poolHeapGrow(heap, 1, stream), error);
    assert_int_equal(poolHeapGrowContiguous(heap, 1, stream), error);
    assert_int_equal(poolHeapMaintain(heap, stream), error);
    assert_int_equal(poolHeapTrim(heap, &stream, 1), error);
    assert_int_equal(poolHeapFree(heap, &statistics, stream), error);
    assert_int_equal(poolHeapGetStatistics(heap, stream, &statistics), error);
    assert_int_equal(poolHeapPrintStatistics(heap, stream, stderr), error);
    assert_int_equal(poolHeapDestroy(heap, &stream, 1), error);
}

static void null_heap_is_refused(void **state) {
    struct fixture *fixture = *state;
    expect_of_all(NULL, fixture->stream[0], poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "the heap is null");
    assert_int_equal(poolHeapSetMark(NULL, 1), poolErrorInvalidValue);
    assert_null(poolHeapDevice(NULL).book);
    assert_int_equal(poolHeapSlabSize(NULL), 0);
}

static void destroyed_heap_is_refused(void **state) {
    struct fixture *fixture = *state;
    poolHeap_t heap = fixture->heap;
    assert_int_equal(destroy(fixture, 1), poolSuccess);
    expect_of_all(heap, fixture->stream[0], poolErrorInvalidValue);
    assert_string_equal(poolGetLastErrorDetail(), "the heap is none, or is destroyed");
    assert_int_equal(poolHeapSlabSize(heap), 0);
}

static void stream_that_captures_is_refused(void **state) {
    struct fixture *fixture = *state;
    size_t live = model_live(fixture->model);
    model_capture(fixture->model, fixture->stream[1], true);
    expect_of_all(fixture->heap, fixture->stream[1], poolErrorStreamCaptureUnsupported);
    assert_int_equal(poolHeapTrim(fixture->heap, fixture->stream, 3),
                     poolErrorStreamCaptureUnsupported);
    assert_int_equal(poolHeapDestroy(fixture->heap, fixture->stream, 3),
                     poolErrorStreamCaptureUnsupported);
    assert_int_equal(model_live(fixture->model), live);
    model_capture(fixture->model, fixture->stream[1], false);
    assert_non_null(allocate(fixture, 8 * MIB));
}

static void bad_arguments_are_refused(void **state) {
    struct fixture *fixture = *state;
    poolMemPool_t pool = model_pool(fixture->model);
    poolHeap_t heap = NULL;
    assert_int_equal(poolHeapCreate(NULL, pool, MIB), poolErrorInvalidValue);
    assert_int_equal(poolHeapCreate(&heap, NULL, MIB), poolErrorInvalidValue);
    assert_int_equal(poolHeapCreate(&heap, pool, 0), poolErrorInvalidValue);
    assert_int_equal(poolHeapCreate(&heap, pool, (size_t)128 * 1024 * MIB + 1),
                     poolErrorInvalidValue);
    assert_null(heap);
    assert_int_equal(poolHeapTrim(fixture->heap, NULL, 1), poolErrorInvalidValue);
    assert_int_equal(poolHeapTrim(fixture->heap, fixture->stream, 0), poolErrorInvalidValue);
    assert_int_equal(poolHeapDestroy(fixture->heap, NULL, 1), poolErrorInvalidValue);
    assert_int_equal(poolHeapSetMark(fixture->heap, 91), poolErrorInvalidValue);
    assert_int_equal(poolHeapGetStatistics(fixture->heap, fixture->stream[0], NULL),
                     poolErrorInvalidValue);
    assert_int_equal(poolHeapPrintStatistics(fixture->heap, fixture->stream[0], NULL),
                     poolErrorInvalidValue);
    assert_non_null(allocate(fixture, 8 * MIB));
}

static void child_of_a_fork_is_refused(void **state) {
    struct fixture *fixture = *state;
    pid_t child = fork();
    if (child == 0) {
        CUstream stream = fixture->stream[0];
        bool refused = poolHeapGrow(fixture->heap, 1, stream) == poolErrorInitializationError &&
                       poolHeapTrim(fixture->heap, &stream, 1) == poolErrorInitializationError &&
                       poolHeapDestroy(fixture->heap, &stream, 1) == poolErrorInitializationError &&
                       poolHeapCreate(&fixture->heap, model_pool(fixture->model), 1) ==
                           poolErrorInitializationError;
        _exit(refused ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

struct worker {
    const struct fixture *fixture;
    unsigned index;
    bool failed;
};

static void *work(void *given) {
    struct worker *worker = given;
    const struct fixture *fixture = worker->fixture;
    CUstream stream = fixture->stream[worker->index];
    for (int i = 0; i < 40 && !worker->failed; i++) {
        struct poolHeapStatistics statistics;
        void *block = pool_heap_malloc(poolHeapDevice(fixture->heap), 1000 * (size_t)i);
        worker->failed =
            poolHeapFree(fixture->heap, block, stream) != poolSuccess ||
            poolHeapGrow(fixture->heap, UNIT * (size_t)(i % 3), stream) != poolSuccess ||
            poolHeapMaintain(fixture->heap, stream) != poolSuccess ||
            poolHeapTrimTo(fixture->heap, 8 * MIB, fixture->stream, 4) != poolSuccess ||
            poolHeapGetStatistics(fixture->heap, stream, &statistics) != poolSuccess;
        if (poolGetLastError() == poolErrorMemoryAllocation) // others have taken all for the moment
            worker->failed = false;
    }
    return NULL;
}

static void threads_use_a_heap_at_once(void **state) {
    struct fixture *fixture = *state;
    struct worker worker[4];
    pthread_t thread[4];
    for (unsigned i = 0; i < 4; i++) {
        worker[i] = (struct worker){fixture, i, false};
        assert_int_equal(pthread_create(&thread[i], NULL, work, &worker[i]), 0);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        assert_false(worker[i].failed);
    }
    struct poolHeapStatistics statistics = statistics_of(fixture);
    assert_int_equal(statistics.slabsFree, statistics.slabs);
    assert_int_equal(statistics.foreignFrees + statistics.doubleFrees, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(heap_with_live_blocks_is_destroyed),
        TEST(memory_of_a_destroyed_heap_is_free_behind_each_stream),
        TEST(destroying_awaits_kernels_of_the_host),
        TEST(trapped_kernel_leaves_no_memory_behind),
        TEST(behind_a_trap_all_calls_of_the_driver_fail_and_no_others),
        TEST(statistics_tell_of_each_class),
        TEST(statistics_tell_of_failures_and_bad_frees),
        TEST(largest_failure_stays_known_behind_a_survey),
        TEST(statistics_are_printed),
        TEST(statistics_wait_for_no_other_stream),
        TEST(file_that_cannot_be_written_is_told),
        TEST(null_heap_is_refused),
        TEST(destroyed_heap_is_refused),
        TEST(stream_that_captures_is_refused),
        TEST(bad_arguments_are_refused),
        TEST(child_of_a_fork_is_refused),
        TEST(threads_use_a_heap_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
