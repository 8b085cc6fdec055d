// Copies in which a call of the driver fails, or an allocation of host memory: an error is told,
// nothing stays pending for ever, no memory is kept, and the copy can be made again.
#include "copy/fixture.h"

#include <stdlib.h>
#include <string.h>

#include "fault/host_memory.h"

enum { BYTES = 600 * 1000, CALLS_MAX = 2000 };

static CUstream stream;
static CUdeviceptr device;
static unsigned char *from, *to;

static int begin(void **state) {
    int failed = copy_setup(state);
    stream = simulated_stream();
    device = copy_device(BYTES);
    from = copy_host(BYTES);
    to = copy_host(BYTES);
    copy_fill(from, BYTES, 1);
    copy_settings(2, 2, KIB(64));
    return failed;
}

static int end(void **state) {
    free(from);
    free(to);
    return copy_teardown(state);
}

// ------------------------------------------------------------------------------------------- calls

static poolError_t to_device(void) {
    return poolCopyToDeviceAsync(copy_pointer(device), from, BYTES, stream);
}

static poolError_t to_host(void) {
    return poolCopyToHostAsync(to, copy_pointer(device), BYTES, stream);
}

static poolError_t rows_to_device(void) {
    return poolCopyToDevice2DAsync(copy_pointer(device), 1000, from, 1000, 999, BYTES / 1000,
                                   stream);
}

static poolError_t rows_to_host(void) {
    return poolCopyToHost2DAsync(to, 1000, copy_pointer(device), 1000, 999, BYTES / 1000, stream);
}

static poolError_t small_to_device(void) {
    return poolCopyToDeviceAsync(copy_pointer(device), from, 100, stream);
}

// The completion is destroyed before the copy is done, or asked first.
static poolError_t finish(poolError_t error, poolCopyCompletion_t completion, bool ask) {
    assert_int_equal(error == poolSuccess, completion != NULL);
    poolError_t asked = completion && ask ? poolCopyCompletionSynchronize(completion) : poolSuccess;
    if (completion)
        copy_good(poolCopyCompletionDestroy(completion));
    return error != poolSuccess ? error : asked;
}

static poolError_t to_device_at_once(void) {
    poolCopyCompletion_t completion = NULL;
    poolError_t error =
        poolCopyToDeviceAsyncWithCompletion(copy_pointer(device), from, BYTES, stream, &completion);
    return finish(error, completion, true);
}

static poolError_t to_host_at_once(void) {
    poolCopyCompletion_t completion = NULL;
    poolError_t error =
        poolCopyToHostAsyncWithCompletion(to, copy_pointer(device), BYTES, stream, &completion);
    return finish(error, completion, false);
}

static poolError_t small_to_device_at_once(void) {
    poolCopyCompletion_t completion = NULL;
    poolError_t error =
        poolCopyToDeviceAsyncWithCompletion(copy_pointer(device), from, 100, stream, &completion);
    return finish(error, completion, true);
}

static poolError_t straight_at_once(void) {
    static unsigned char *pinned;
    poolCopyCompletion_t completion = NULL;
    CUdeviceptr ignored;
    if (!pinned || sp_driver->cuPointerGetAttribute(&ignored, CU_POINTER_ATTRIBUTE_BUFFER_ID,
                                                    (uintptr_t)pinned) != CUDA_SUCCESS) {
        simcudaFailClear();
        pinned = copy_pinned(4096);
    }
    poolError_t error = poolCopyToDeviceAsyncWithCompletion(copy_pointer(device), pinned, 4096,
                                                            stream, &completion);
    return finish(error, completion, true);
}

typedef poolError_t call(void);

static call *const calls[] = {
    to_device,       to_host,           rows_to_device,  rows_to_host,
    small_to_device, to_device_at_once, to_host_at_once, small_to_device_at_once};
enum { CALLS = sizeof calls / sizeof calls[0] };

// ------------------------------------------------------------------------------------ what is left

// What the stream has got can be done, no chunk is kept, and both directions work.
static void check_after(void) {
    poolMemPool_t pool = NULL;
    copy_finish(stream);
    assert_int_equal(sp_driver->cuCtxSynchronize(), CUDA_SUCCESS);
    copy_good(poolCopyGetPool(&pool));
    copy_good(poolStreamSynchronize(stream));
    assert_int_equal(fixture_used(pool), 0);
    memset(to, 0, BYTES);
    copy_good(to_device());
    copy_good(to_host());
    assert_true(copy_is_filled(to, BYTES, 1));
}

// The host's memory is the program's again.
static void check_host_stays(void) {
    memset(to, 0x5a, BYTES);
    copy_finish(stream);
    for (size_t i = 0; i < BYTES; i++)
        assert_int_equal(to[i], 0x5a);
}

// True when something has failed in the call.
static bool fail_driver(call *tried, const char *entry, uint64_t nth, simcudaFaultSpan span,
                        int code) {
    assert_int_equal(simcudaFailCall(entry, nth, span, code), 0);
    poolError_t error = tried();
    bool failed = simcudaFailCount() > 0;
    simcudaFailClear();
    assert_true(error == poolSuccess || failed);
    assert_true(error == poolSuccess || poolGetLastErrorDetail()[0]);
    if (error != poolSuccess)
        check_host_stays();
    assert_int_equal(poolGetLastError(), error);
    check_after();
    return failed;
}

static void fail_each(call *tried, const char *entry, simcudaFaultSpan span, int code) {
    uint64_t nth = 1;
    while (fail_driver(tried, entry, nth, span, code))
        assert_true(nth++ < CALLS_MAX);
}

// All that a copy calls but cuEventDestroy: an event that the driver refuses to destroy stays.
static const char *const entries[] = {"cuPointerGetAttribute",
                                      "cuStreamGetCtx",
                                      "cuCtxGetCurrent",
                                      "cuCtxPushCurrent",
                                      "cuCtxGetDevice",
                                      "cuStreamIsCapturing",
                                      "cuDeviceGetAttribute",
                                      "cuStreamGetId",
                                      "cuMemAddressReserve",
                                      "cuMemCreate",
                                      "cuMemMap",
                                      "cuMemSetAccess",
                                      "cuMemcpyHtoDAsync",
                                      "cuMemcpyDtoHAsync",
                                      "cuMemcpy2DAsync",
                                      "cuEventCreate",
                                      "cuEventRecord",
                                      "cuEventQuery",
                                      "cuEventSynchronize",
                                      "cuStreamWaitValue32",
                                      "cuStreamWriteValue32",
                                      "cuThreadExchangeStreamCaptureMode"};
enum { ENTRIES = sizeof entries / sizeof entries[0] };

static void a_copy_in_which_a_driver_call_fails_can_be_made_again(void **state) {
    (void)state;
    for (size_t entry = 0; entry < ENTRIES; entry++) {
        for (size_t i = 0; i < CALLS; i++)
            fail_each(calls[i], entries[entry], simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    }
}

static void a_copy_in_which_the_driver_gives_no_more_can_be_made_again(void **state) {
    (void)state;
    for (size_t entry = 0; entry < ENTRIES; entry++) {
        for (size_t i = 0; i < CALLS; i++)
            fail_each(calls[i], entries[entry], simcudaFaultOnwards, CUDA_ERROR_OUT_OF_MEMORY);
    }
}

static void a_straight_copy_without_an_event_is_told(void **state) {
    (void)state;
    copy_good(straight_at_once());
    uint64_t copies = simcudaCallCount("cuMemcpyAsync");
    assert_int_equal(simcudaFailCall("cuEventCreate", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN), 0);
    assert_int_equal(straight_at_once(), poolErrorUnknown);
    assert_int_equal(simcudaCallCount("cuMemcpyAsync"), copies); // nothing is under way
    simcudaFailClear();
    fail_each(straight_at_once, "cuEventCreate", simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY);
    fail_each(straight_at_once, "cuEventRecord", simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
    fail_each(straight_at_once, "cuMemcpyAsync", simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
}

static bool fail_host(call *tried, uint64_t nth, bool onwards) {
    uint64_t failed;
    host_memory_enter(nth, onwards);
    poolError_t error = tried();
    host_memory_leave(&failed);
    assert_true(error == poolSuccess || failed > 0);
    check_after();
    return failed > 0;
}

static void a_copy_in_which_host_memory_runs_out_can_be_made_again(void **state) {
    (void)state;
    for (size_t i = 0; i < CALLS; i++) {
        for (int onwards = 0; onwards < 2; onwards++) {
            uint64_t nth = 1;
            while (fail_host(calls[i], nth, onwards))
                assert_true(nth++ < CALLS_MAX);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_copy_in_which_a_driver_call_fails_can_be_made_again),
        TEST(a_copy_in_which_the_driver_gives_no_more_can_be_made_again),
        TEST(a_straight_copy_without_an_event_is_told),
        TEST(a_copy_in_which_host_memory_runs_out_can_be_made_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
