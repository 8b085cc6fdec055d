// Pauses and resumes in which a call of the driver fails, or an allocation of host memory: either
// all pools have changed or none, nothing is lost, and the call can be made again.
#include "swap/fixture.h"

#include "fault/host_memory.h"
#include "inside/worker.h"

enum { BLOCKS = 3, CALLS_MAX = 3000 };

static poolMemPool_t pool;
static CUstream a;
static struct swap_block blocks[BLOCKS];

static int begin(void **state) {
    if (swap_setup(state) != 0)
        return -1;
    pool = fixture_pool();
    a = simulated_stream();
    blocks[0] = swap_block(pool, MIB(2), 1, a);
    blocks[1] = swap_block(swap_tagged(pool, "tag"), MIB(1) + 700, 2, a);
    blocks[2] = swap_block(swap_tagged(pool, "tag"), 700, 3, a);
    swap_use_folder();
    copy_good(poolSwapSetHostLimit(MIB(2) + KIB(64)));
    return 0;
}

static int finish(void **state) {
    for (size_t i = 0; i < BLOCKS; i++)
        swap_free(&blocks[i], a);
    copy_good(poolMemPoolDestroyTagged(pool, NULL));
    copy_good(poolMemPoolDestroy(pool));
    return swap_teardown(state);
}

static void are_intact(void) {
    for (size_t i = 0; i < BLOCKS; i++)
        assert_true(swap_is_intact(&blocks[i]));
}

static poolError_t pause_all(void) {
    return poolMemPoolPause(pool, NULL, poolPauseSave, NULL, 0, NULL);
}

static poolError_t resume_all(void) {
    return poolMemPoolResume(pool, NULL);
}

// As the failed call has found them. A pause that has succeeded may have left some memory.
static void check_after_pause(poolError_t error) {
    struct poolMemPoolPaused paused = swap_paused(pool, NULL);
    inside_worker_rest();
    assert_int_equal(paused.pools, error == poolSuccess ? 2 : 0);
    if (error != poolSuccess) {
        are_intact();
        assert_int_equal(swap_in_host(), 0);
        copy_good(pause_all());
    }
    assert_int_equal(swap_pause(pool, NULL, poolPauseSave).stayedBytes, 0);
    assert_false(swap_has_memory(&blocks[0]));
    swap_resume(pool, NULL);
    are_intact();
}

static void check_after_resume(poolError_t error) {
    assert_int_equal(swap_paused(pool, NULL).pools, error == poolSuccess ? 0 : 2);
    inside_worker_rest();
    if (error != poolSuccess)
        swap_resume(pool, NULL);
    are_intact();
    assert_int_equal(swap_in_host(), 0);
}

static const struct {
    poolError_t (*call)(void);
    void (*check)(poolError_t error);
    bool is_paused;
} scenarios[] = {{pause_all, check_after_pause, false}, {resume_all, check_after_resume, true}};
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

// True when something has failed in the call.
static bool fail_driver(size_t scenario, const char *entry, uint64_t nth, simcudaFaultSpan span,
                        int code) {
    if (scenarios[scenario].is_paused)
        swap_pause(pool, NULL, poolPauseSave);
    assert_int_equal(simcudaFailCall(entry, nth, span, code), 0);
    poolError_t error = scenarios[scenario].call();
    bool failed = simcudaFailCount() > 0;
    simcudaFailClear();
    if (poolPeekAtLastError() != error || (error != poolSuccess && !failed))
        print_error("%s, call %llu: %s, and then %s: %s\n", entry, (unsigned long long)nth,
                    poolGetErrorName(error), poolGetErrorName(poolPeekAtLastError()),
                    poolGetLastErrorDetail());
    assert_true(error == poolSuccess || failed);
    assert_int_equal(poolGetLastError(), error);
    scenarios[scenario].check(error);
    return failed;
}

static void fail_each(const char *entry, simcudaFaultSpan span, int code) {
    for (size_t i = 0; i < SCENARIOS; i++) {
        uint64_t nth = 1;
        while (fail_driver(i, entry, nth, span, code))
            assert_true(nth++ < CALLS_MAX);
    }
}

// What takes something, or asks; what the driver refuses to destroy stays.
static const char *const entries[] = {"cuCtxSynchronize",
                                      "cuCtxGetCurrent",
                                      "cuCtxGetDevice",
                                      "cuStreamCreate",
                                      "cuStreamSynchronize",
                                      "cuMemcpyDtoHAsync",
                                      "cuMemcpyHtoDAsync",
                                      "cuMemCreate",
                                      "cuMemMap",
                                      "cuMemSetAccess",
                                      "cuMemUnmap",
                                      "cuMemRelease",
                                      "cuMemAddressReserve",
                                      "cuMemHostRegister",
                                      "cuMemHostAlloc",
                                      "cuMemGetInfo",
                                      "cuPointerGetAttribute",
                                      "cuStreamGetCtx",
                                      "cuStreamIsCapturing",
                                      "cuEventCreate",
                                      "cuEventRecord",
                                      "cuEventSynchronize",
                                      "cuStreamGetId",
                                      "cuDeviceGetAttribute",
                                      "cuStreamWaitValue32",
                                      "cuStreamWriteValue32",
                                      "cuCtxPushCurrent",
                                      "cuThreadExchangeStreamCaptureMode"};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

static void a_driver_call_may_fail_once(void **state) {
    (void)state;
    for (size_t i = 0; i < ENTRIES; i++)
        fail_each(entries[i], simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
}

static void a_driver_call_may_fail_from_then_on(void **state) {
    (void)state;
    for (size_t i = 0; i < ENTRIES; i++)
        fail_each(entries[i], simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
}

static bool fail_host(size_t scenario, uint64_t nth, bool onwards) {
    uint64_t failed;
    if (scenarios[scenario].is_paused)
        swap_pause(pool, NULL, poolPauseSave);
    host_memory_enter(nth, onwards);
    poolError_t error = scenarios[scenario].call();
    host_memory_leave(&failed);
    assert_true(error == poolSuccess || failed > 0);
    assert_int_equal(poolGetLastError(), error);
    scenarios[scenario].check(error);
    return failed > 0;
}

static void host_memory_may_run_out(void **state) {
    (void)state;
    for (size_t i = 0; i < SCENARIOS; i++) {
        for (int onwards = 0; onwards < 2; onwards++) {
            uint64_t nth = 1;
            while (fail_host(i, nth, onwards))
                assert_true(nth++ < CALLS_MAX);
        }
    }
}

static void a_tag_may_find_no_memory(void **state) {
    (void)state;
    poolMemPool_t tagged = NULL;
    uint64_t nth = 0, failed = 0;
    do {
        host_memory_enter(++nth, false);
        poolError_t error = poolMemPoolGetTagged(pool, "other", &tagged);
        host_memory_leave(&failed);
        assert_int_equal(error == poolSuccess, tagged != NULL);
        assert_true(error == poolSuccess || failed > 0);
        copy_good(tagged ? poolMemPoolDestroyTagged(pool, "other") : poolSuccess);
        tagged = NULL;
        poolGetLastError();
    } while (failed > 0);
}

static void a_driver_call_may_fail_while_a_tag_is_made(void **state) {
    (void)state;
    uint64_t nth = 0;
    bool failed = true;
    while (failed) {
        poolMemPool_t tagged = NULL;
        assert_int_equal(simcudaFailCall(NULL, ++nth, simcudaFaultOnce, CUDA_ERROR_UNKNOWN), 0);
        poolError_t error = poolMemPoolGetTagged(pool, "other", &tagged);
        failed = simcudaFailCount() > 0;
        simcudaFailClear();
        assert_int_equal(error == poolSuccess, tagged != NULL);
        assert_true(error == poolSuccess || failed);
        copy_good(tagged ? poolMemPoolDestroyTagged(pool, "other") : poolSuccess);
        poolGetLastError();
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, finish)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_driver_call_may_fail_once),
        TEST(a_driver_call_may_fail_from_then_on),
        TEST(host_memory_may_run_out),
        TEST(a_tag_may_find_no_memory),
        TEST(a_driver_call_may_fail_while_a_tag_is_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
