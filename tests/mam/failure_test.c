// Calls in which a call of the driver, or an allocation of host memory, fails: nothing changes, no
// lock is kept, and the call can be made again.
#include "mam/fixture.h"

#include "fault/host_memory.h"
#include "inside/worker.h"

enum { DRIVER_CALLS_MAX = 2000, HOST_CALLS_MAX = 1000 };

// A call under test: 0 or the error. It undoes what it did when it succeeds.
typedef poolError_t call(poolMam_t mam);

static poolError_t allocate(poolMam_t mam, size_t size) {
    void *pointer = &pointer;
    poolError_t error = poolMamMalloc(mam, &pointer, size);
    if (error == poolSuccess)
        mam_free(mam, pointer);
    else
        assert_ptr_equal(pointer, &pointer);
    return error;
}

static poolError_t allocate_little(poolMam_t mam) {
    return allocate(mam, 100);
}

static poolError_t allocate_beyond(poolMam_t mam) {
    return allocate(mam, MIB(100));
}

static poolError_t ask_for_pool(poolMam_t mam) {
    poolMemPool_t pool = NULL;
    poolError_t error = poolMamGetPool(mam, &pool);
    assert_int_equal(error == poolSuccess, pool != NULL);
    return error;
}

static poolError_t create(poolMam_t mam) {
    poolMam_t other = NULL;
    (void)mam;
    poolError_t error = poolMamCreate(&other, MIB(64), 0, poolMamDefault);
    assert_int_equal(error == poolSuccess, other != NULL);
    return other ? poolMamDestroy(other) : error;
}

// What a manager is like before the call.
typedef poolMam_t beginning(void);

static poolMam_t unused(void) {
    return mam_of(MIB(64), poolMamFixed);
}

static poolMam_t unused_and_automatic(void) {
    poolMam_t mam = NULL;
    assert_int_equal(poolMamCreateAuto(&mam, 0, poolMamDefault), poolSuccess);
    return mam;
}

static poolMam_t used(void) {
    poolMam_t mam = mam_of(MIB(64), poolMamDefault);
    mam_free(mam, mam_malloc(mam, 100));
    return mam;
}

static const struct scenario {
    beginning *begin;
    call *call;
} scenarios[] = {
    {unused, allocate_little}, {unused_and_automatic, allocate_little},
    {unused, ask_for_pool},    {used, allocate_beyond},
    {used, allocate_little},   {used, create},
};
enum { SCENARIOS = sizeof scenarios / sizeof scenarios[0] };

// What the library's own thread is giving back is given back.
static uint64_t in_use(void) {
    inside_worker_rest();
    return simcudaMemoryInUse(0);
}

// A first allocation may fail when it has taken the chunk: then that stays. Else nothing is taken.
static void check_failed(poolMam_t mam, uint64_t before) {
    uint64_t now = in_use();
    assert_true(now == before || now == before + fixture_reserved(mam_pool(mam)));
    assert_true(poolGetLastErrorDetail()[0]);
}

// True when something has failed in the call.
static bool fail_driver(const struct scenario *scenario, const char *entry, uint64_t nth,
                        simcudaFaultSpan span) {
    poolMam_t mam = scenario->begin();
    uint64_t before = in_use();
    assert_int_equal(simcudaFailCall(entry, nth, span, CUDA_ERROR_UNKNOWN), 0);
    poolError_t error = scenario->call(mam);
    bool failed = simcudaFailCount() > 0;
    simcudaFailClear();
    assert_true(error == poolSuccess || failed);
    if (error != poolSuccess)
        check_failed(mam, before);
    assert_int_equal(scenario->call(mam), poolSuccess);
    mam_destroy(mam);
    return failed;
}

static void fail_each(const struct scenario *scenario, const char *entry, simcudaFaultSpan span) {
    uint64_t nth = 1;
    while (fail_driver(scenario, entry, nth, span))
        assert_true(nth++ < DRIVER_CALLS_MAX);
}

static void a_call_in_which_a_driver_call_fails_can_be_made_again(void **state) {
    (void)state;
    for (size_t i = 0; i < SCENARIOS; i++)
        fail_each(&scenarios[i], NULL, simcudaFaultOnce);
}

// Calls that take something: what was taken before them can be given back.
static void a_call_in_which_the_driver_gives_no_more_can_be_made_again(void **state) {
    (void)state;
    static const char *const entries[] = {"cuDevicePrimaryCtxRetain",
                                          "cuStreamCreate",
                                          "cuMemGetInfo",
                                          "cuMemAddressReserve",
                                          "cuMemCreate",
                                          "cuMemMap",
                                          "cuEventCreate"};
    for (size_t entry = 0; entry < sizeof entries / sizeof entries[0]; entry++)
        for (size_t i = 0; i < SCENARIOS; i++)
            fail_each(&scenarios[i], entries[entry], simcudaFaultOnwards);
}

static bool fail_host(const struct scenario *scenario, uint64_t nth, bool onwards) {
    uint64_t failed;
    poolMam_t mam = scenario->begin();
    uint64_t before = in_use();
    host_memory_enter(nth, onwards);
    poolError_t error = scenario->call(mam);
    host_memory_leave(&failed);
    assert_true(error == poolSuccess || failed > 0);
    if (error != poolSuccess)
        check_failed(mam, before);
    assert_int_equal(scenario->call(mam), poolSuccess);
    mam_destroy(mam);
    return failed > 0;
}

static void a_call_in_which_host_memory_runs_out_can_be_made_again(void **state) {
    (void)state;
    for (size_t i = 0; i < SCENARIOS; i++)
        for (int onwards = 0; onwards < 2; onwards++) {
            uint64_t nth = 1;
            while (fail_host(&scenarios[i], nth, onwards))
                assert_true(nth++ < HOST_CALLS_MAX);
        }
}

// The memory goes later where the driver refuses to take it.
static void a_manager_is_gone_whatever_fails_in_its_end(void **state) {
    (void)state;
    bool failed = true;
    for (uint64_t nth = 1; failed; nth++) {
        poolMam_t mam = used();
        assert_int_equal(simcudaFailCall(NULL, nth, simcudaFaultOnwards, CUDA_ERROR_UNKNOWN), 0);
        mam_destroy(mam);
        failed = simcudaFailCount() > 0;
        simcudaFailClear();
        mam_refused(poolMamDestroy(mam), poolErrorInvalidValue, "is no manager");
        assert_true(nth < DRIVER_CALLS_MAX);
    }
    poolMam_t next = used();
    mam_destroy(next);
}

static void the_error_names_the_call_that_failed(void **state) {
    (void)state;
    void *pointer = NULL;
    poolMam_t mam = mam_of(MIB(64), poolMamDefault), automatic = unused_and_automatic();
    assert_int_equal(simcudaFailCall("cuStreamCreate", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN), 0);
    mam_refused(poolMamMalloc(mam, &pointer, 1), poolErrorUnknown,
                "making a stream for the manager: cuStreamCreate returned CUDA_ERROR_UNKNOWN");
    assert_int_equal(simcudaFailCall("cuMemGetInfo", 1, simcudaFaultOnce, CUDA_ERROR_NOT_PERMITTED),
                     0);
    mam_refused(poolMamMalloc(automatic, &pointer, 1), poolErrorNotPermitted,
                "asking how much the device has free: cuMemGetInfo returned");
    assert_int_equal(simcudaFailCall("cuMemCreate", 1, simcudaFaultOnwards, 12345), 0);
    mam_refused(poolMamMalloc(mam, &pointer, 1), poolErrorUnknown,
                "taking a chunk of 67108864 bytes: ");
    simcudaFailClear();
    mam_destroy(mam);
    mam_destroy(automatic);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_call_in_which_a_driver_call_fails_can_be_made_again),
        TEST(a_call_in_which_the_driver_gives_no_more_can_be_made_again),
        TEST(a_call_in_which_host_memory_runs_out_can_be_made_again),
        TEST(a_manager_is_gone_whatever_fails_in_its_end),
        TEST(the_error_names_the_call_that_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
