// Managers and the rest of the program: contexts, their ends, devices, captures, forked children.
#include "mam/fixture.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mam/threads.h"
#include "support/hang.h"

static int setup_two_devices(void **state) {
    (void)state;
    return fixture_begin("devices=2,memory=4G");
}

static int setup_plain(void **state) {
    (void)state;
    return fixture_begin("vmm=missing,memory=4G");
}

static CUcontext current(void) {
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuCtxGetCurrent(&context), CUDA_SUCCESS);
    return context;
}

static void use(CUcontext context) {
    assert_int_equal(sp_driver->cuCtxSetCurrent(context), CUDA_SUCCESS);
}

// ------------------------------------------------------------------------------------- contexts

static void no_context_need_be_current_and_none_becomes_so(void **state) {
    (void)state;
    use(NULL);
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    void *large = mam_malloc(mam, MIB(100));
    assert_null(current());
    mam_free(mam, mam_malloc(mam, 100));
    mam_free(mam, large);
    mam_destroy(mam);
    assert_null(current());
    use(simulated_context());
}

static void managers_of_two_devices_work_beside_each_other(void **state) {
    (void)state;
    poolMam_t mams[2] = {NULL, NULL};
    void *blocks[2];
    for (int device = 0; device < 2; device++)
        assert_int_equal(poolMamCreate(&mams[device], MIB(512), device, poolMamDefault),
                         poolSuccess);
    for (int device = 0; device < 2; device++) {
        blocks[device] = mam_malloc(mams[device], MIB(100));
        assert_int_equal(simcudaMemoryInUse(device), MIB(512));
        assert_int_equal(simcudaMemoryInUse(1 - device), device == 0 ? 0 : MIB(512));
    }
    assert_ptr_equal(current(), simulated_context());
    for (int device = 0; device < 2; device++)
        mam_refused(poolMamFree(mams[device], blocks[1 - device]), poolErrorInvalidValue,
                    "another manager or pool");
    for (int device = 0; device < 2; device++) {
        mam_free(mams[device], blocks[device]);
        mam_destroy(mams[device]);
        mam_device_is_empty(device);
    }
}

static void an_automatic_chunk_is_that_of_its_own_device(void **state) {
    (void)state;
    poolMam_t first = mam_of(GIB(3), poolMamDefault), second = NULL;
    mam_free(first, mam_malloc(first, 1));
    assert_int_equal(poolMamCreateAuto(&second, 1, poolMamDefault), poolSuccess);
    mam_free(second, mam_malloc(second, 1));
    assert_in_range(simcudaMemoryInUse(1), GIB(4) - MIB(256) - MIB(4), GIB(4) - MIB(256));
    mam_destroy(first);
    mam_destroy(second);
}

static void all_managers_of_a_device_share_one_stream(void **state) {
    (void)state;
    poolMam_t mams[5];
    bool asks = !sp_driver->cuStreamGetId;
    uint64_t made = simcudaCallCount("cuStreamCreate");
    uint64_t ended = simcudaCallCount("cuStreamDestroy");
    for (int i = 0; i < 5; i++) {
        mams[i] = mam_of(MIB(64), poolMamDefault);
        mam_free(mams[i], mam_malloc(mams[i], 100));
    }
    uint64_t calls = mam_driver_calls();
    for (int i = 0; i < 50; i++)
        mam_free(mams[i % 5], mam_malloc(mams[i % 5], 100));
    assert_true(asks || mam_driver_calls() == calls);
    for (int i = 0; i < 5; i++)
        mam_destroy(mams[i]);
    assert_int_equal(simcudaCallCount("cuStreamCreate"), made + 1);
    assert_int_equal(simcudaCallCount("cuStreamDestroy"), ended + 1);
}

// ---------------------------------------------------------------------------------------- a reset

// Only a driver with ids of contexts tells that one was reset.
static void require_ids(void) {
    if (!sp_driver->cuCtxGetId)
        skip();
}

static void reset(void) {
    assert_int_equal(sp_driver->cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
}

static void remake_context(void) {
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    use(context);
}

static void *use_elsewhere(void *argument) {
    void *pointer = &pointer;
    mam_refused(poolMamMalloc(argument, &pointer, 100), poolErrorContextIsDestroyed, "was reset");
    assert_ptr_equal(pointer, &pointer);
    return NULL;
}

// A thread that has used the manager before doesn't ask the driver, and one that hasn't does. Its
// question about a stream that is gone is a report of the simulated driver.
static void a_reset_ends_a_manager_and_not_its_blocks(void **state) {
    (void)state;
    require_ids();
    unsigned char byte = 0, written = 77;
    poolMam_t mam = mam_of(MIB(512), poolMamDefault);
    void *first = mam_malloc(mam, MIB(1)), *second = mam_malloc(mam, 100);
    assert_int_equal(simcudaPoke((uintptr_t)first, &written, 1), CUDA_SUCCESS);
    use(NULL);
    reset();
    mam_free(mam, mam_malloc(mam, 100));
    threads_run_one(use_elsewhere, mam);
    simcudaReportClear();
    mam_free(mam, second);
    assert_int_equal(simcudaPeek(&byte, (uintptr_t)first, 1), CUDA_SUCCESS);
    assert_int_equal(byte, written);
    mam_destroy(mam);
    assert_int_equal(poolFree(first), poolSuccess);
    remake_context();
}

static void a_manager_is_destroyed_after_a_reset_as_before_it(void **state) {
    (void)state;
    require_ids();
    for (int remade = 0; remade < 2; remade++) {
        poolMam_t mam = mam_of(MIB(512), poolMamDefault);
        mam_free(mam, mam_malloc(mam, 100));
        mam_free(mam, mam_malloc(mam, MIB(600)));
        use(NULL);
        reset();
        if (remade)
            remake_context();
        mam_destroy(mam);
        remake_context();
        mam = mam_of(MIB(512), poolMamDefault);
        mam_free(mam, mam_malloc(mam, 100));
        mam_destroy(mam);
    }
}

// The thread still has the context that is gone as its current one.
static void a_manager_is_destroyed_by_a_thread_whose_context_was_reset(void **state) {
    (void)state;
    require_ids();
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    mam_free(mam, mam_malloc(mam, MIB(32)));
    poolGetLastError();
    reset();
    mam_destroy(mam);
    assert_int_equal(poolGetLastError(), poolSuccess);
    mam_device_is_empty(0);
    assert_int_equal(simcudaReportCount(NULL), 0);
    remake_context();
}

static void *use_again(void *argument) {
    mam_free(argument, mam_malloc(argument, 100));
    mam_free(argument, mam_malloc(argument, MIB(600)));
    return NULL;
}

static void a_new_manager_after_a_reset_gives_the_old_ones_a_stream(void **state) {
    (void)state;
    require_ids();
    poolMam_t old = mam_of(MIB(512), poolMamDefault), new = mam_of(MIB(64), poolMamDefault);
    void *block = mam_malloc(old, MIB(1));
    use(NULL);
    reset();
    remake_context();
    mam_free(new, mam_malloc(new, 100));
    mam_free(old, block);
    threads_run_one(use_again, old);
    use_again(old);
    fixture_check(mam_pool(old));
    mam_destroy(old);
    use_again(new);
    mam_destroy(new);
}

// A handle of theirs may be that of the manager's stream, which went with the context.
static void a_reset_does_no_harm_to_the_programs_streams(void **state) {
    (void)state;
    require_ids();
    enum { STREAMS = 64 };
    CUstream streams[STREAMS];
    poolMam_t mam = mam_of(MIB(512), poolMamDefault);
    mam_free(mam, mam_malloc(mam, 100));
    use(NULL);
    reset();
    remake_context();
    for (int i = 0; i < STREAMS; i++)
        streams[i] = simulated_stream();
    mam_destroy(mam);
    for (int i = 0; i < STREAMS; i++)
        assert_int_equal(sp_driver->cuStreamQuery(streams[i]), CUDA_SUCCESS);
}

static void a_context_that_has_failed_leaves_what_needs_no_driver(void **state) {
    (void)state;
    require_ids();
    void *pointer = NULL;
    poolMam_t mam = mam_of(MIB(512), poolMamDefault);
    mam_free(mam, mam_malloc(mam, 100));
    assert_int_equal(simcudaContextFail(simulated_context(), CUDA_ERROR_LAUNCH_FAILED), 0);
    mam_free(mam, mam_malloc(mam, 100));
    assert_int_not_equal(poolMamMalloc(mam, &pointer, GIB(20)), poolSuccess);
    mam_free(mam, mam_malloc(mam, 100));
    mam_destroy(mam);
}

// --------------------------------------------------------------------------------------- captures

static void a_capture_stays_valid(void **state) {
    (void)state;
    require_ids();
    CUstream stream = simulated_stream();
    CUgraph graph = NULL;
    poolMam_t mam = mam_of(MIB(64), poolMamDefault), automatic = NULL;
    assert_int_equal(poolMamCreateAuto(&automatic, 0, poolMamDefault), poolSuccess);
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    void *block = mam_malloc(mam, 100), *large = mam_malloc(mam, MIB(100));
    mam_free(automatic, mam_malloc(automatic, 100));
    mam_free(mam, block);
    mam_free(mam, large);
    mam_free(mam, mam_malloc(mam, MIB(160)));
    mam_destroy(mam);
    mam_destroy(automatic);
    assert_int_equal(sp_driver->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_non_null(graph);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
}

// ---------------------------------------------------------------------------------- plain memory

static void a_device_without_virtual_memory_has_managers_too(void **state) {
    (void)state;
    for (unsigned int flags = poolMamDefault; flags <= poolMamFixed; flags++) {
        poolMam_t mam = mam_of(MIB(512), flags);
        void *whole = mam_malloc(mam, MIB(512)), *parts[4];
        mam_free(mam, whole);
        for (int i = 0; i < 4; i++)
            parts[i] = mam_malloc(mam, MIB(128));
        uint64_t calls = mam_driver_calls();
        mam_free(mam, parts[0]);
        parts[0] = mam_malloc(mam, MIB(128));
        assert_true(!sp_driver->cuStreamGetId || mam_driver_calls() == calls);
        for (int i = 0; i < 4; i++)
            mam_free(mam, parts[i]);
        mam_refused(poolMamFree(mam, parts[0]), poolErrorInvalidValue, "was freed already");
        assert_ptr_equal(mam_malloc(mam, MIB(512)), whole);
        mam_destroy(mam);
        assert_int_equal(poolFree(whole), poolSuccess);
    }
}

// --------------------------------------------------------------------------------- forked children

static poolMam_t unused, used;
static void *live;

static _Noreturn void use_in_child(void) {
    void *pointer = &pointer;
    poolMam_t made = NULL;
    poolMemPool_t pool = NULL;
    int good = poolMamMalloc(used, &pointer, 100) == poolErrorInitializationError &&
               poolMamMalloc(used, &pointer, MIB(100)) == poolErrorInitializationError &&
               poolMamMalloc(unused, &pointer, 100) == poolErrorInitializationError &&
               poolMamMalloc(used, &pointer, 0) == poolErrorInitializationError &&
               poolMamMalloc(NULL, &pointer, 100) == poolErrorInitializationError &&
               poolMamFree(used, live) == poolErrorInitializationError &&
               poolMamFree(used, NULL) == poolErrorInitializationError &&
               poolMamGetPool(unused, &pool) == poolErrorInitializationError &&
               poolMamCreate(&made, 1, 0, 0) == poolErrorInitializationError &&
               poolMamCreateAuto(&made, 0, 0) == poolErrorInitializationError &&
               poolMamDestroy(used) == poolErrorInitializationError && pointer == &pointer &&
               !made && !pool;
    _exit(good ? EXIT_SUCCESS : EXIT_FAILURE);
}

static void fork_and_use(void) {
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(TEST_HANG_SECONDS);
        use_in_child();
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS);
}

static void a_forked_child_gets_a_clear_error(void **state) {
    (void)state;
    unused = mam_of(MIB(64), poolMamDefault);
    used = mam_of(MIB(64), poolMamDefault);
    live = mam_malloc(used, 100);
    fork_and_use();
    mam_free(used, live);
    mam_destroy(used);
    mam_destroy(unused);
}

// A child may be forked while any lock of a manager is held.
static _Atomic bool enough;

static void *begin_and_end(void *argument) {
    (void)argument;
    while (!atomic_load(&enough)) {
        poolMam_t mam = mam_of(MIB(32), poolMamDefault);
        mam_free(mam, mam_malloc(mam, 100));
        mam_destroy(mam);
    }
    return NULL;
}

static void fork_often(void *argument) {
    (void)argument;
    for (int i = 0; i < 20; i++)
        fork_and_use();
    atomic_store(&enough, true);
}

static void a_child_that_is_forked_at_any_moment_gets_it_too(void **state) {
    (void)state;
    unused = mam_of(MIB(64), poolMamDefault);
    used = mam_of(MIB(64), poolMamDefault);
    live = mam_malloc(used, 100);
    atomic_store(&enough, false);
    threads_run(begin_and_end, NULL, 2, fork_often, NULL);
    mam_free(used, live);
    mam_destroy(used);
    mam_destroy(unused);
}

#define TEST(name)           cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
#define TEST_OF(setup, name) cmocka_unit_test_setup_teardown(name, setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(no_context_need_be_current_and_none_becomes_so),
        TEST_OF(setup_two_devices, managers_of_two_devices_work_beside_each_other),
        TEST_OF(setup_two_devices, an_automatic_chunk_is_that_of_its_own_device),
        TEST(all_managers_of_a_device_share_one_stream),
        TEST(a_reset_ends_a_manager_and_not_its_blocks),
        TEST(a_manager_is_destroyed_after_a_reset_as_before_it),
        TEST(a_manager_is_destroyed_by_a_thread_whose_context_was_reset),
        TEST(a_new_manager_after_a_reset_gives_the_old_ones_a_stream),
        TEST(a_reset_does_no_harm_to_the_programs_streams),
        TEST(a_capture_stays_valid),
        TEST_OF(setup_plain, a_device_without_virtual_memory_has_managers_too),
        TEST(a_forked_child_gets_a_clear_error),
        TEST(a_child_that_is_forked_at_any_moment_gets_it_too),
        // Nothing mends a fault.
        TEST(a_context_that_has_failed_leaves_what_needs_no_driver),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
