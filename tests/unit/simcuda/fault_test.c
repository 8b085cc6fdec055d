// Faults on demand, call counters, and the leak check.
#include "unit/simcuda/fixture.h"

static void the_nth_call_fails_once_and_changes_nothing(void **state) {
    CUmemGenericAllocationHandle handle = 7;
    const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                      .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    (void)state;
    OK(simcudaFailCall("cuMemCreate", 3, simcudaFaultOnce, CUDA_ERROR_OUT_OF_MEMORY));
    create_extent(GRANULE);
    create_extent(GRANULE);
    FAILS(cuMemCreate(&handle, GRANULE, &prop, 0), CUDA_ERROR_OUT_OF_MEMORY);
    assert_int_equal(handle, 7);
    assert_int_equal(simcudaMemoryInUse(0), 2 * GRANULE);
    assert_int_equal(simcudaFailCount(), 1);
    create_extent(GRANULE);
}

static void every_call_from_the_nth_on_fails_until_it_is_cleared(void **state) {
    CUstream stream = make_stream();
    CUevent event = make_event();
    (void)state;
    OK(simcudaFailCall("cuEventRecord", 2, simcudaFaultOnwards, CUDA_ERROR_LAUNCH_FAILED));
    OK(cuEventRecord(event, stream));
    for (int i = 0; i < 5; i++)
        FAILS(cuEventRecord(event, stream), CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(simcudaFailCount(), 5);
    simcudaFailClear();
    OK(cuEventRecord(event, stream));
    assert_int_equal(simcudaFailCount(), 0);
}

static void queries_can_fail_too(void **state) {
    CUstream stream = make_stream();
    unsigned long long id = 5;
    (void)state;
    OK(simcudaFailCall("cuStreamGetId", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN));
    FAILS(cuStreamGetId(stream, &id), CUDA_ERROR_UNKNOWN);
    assert_int_equal(id, 5);
    OK(cuStreamGetId(stream, &id));
}

static void a_fault_of_no_entry_counts_every_call(void **state) {
    CUcontext context;
    (void)state;
    OK(simcudaFailCall(NULL, 3, simcudaFaultOnce, CUDA_ERROR_UNKNOWN));
    OK(cuCtxGetCurrent(&context));
    OK(cuStreamQuery(NULL));
    FAILS(cuStreamSynchronize(NULL), CUDA_ERROR_UNKNOWN);
    OK(cuStreamSynchronize(NULL));
}

static void several_faults_count_by_themselves(void **state) {
    (void)state;
    OK(simcudaFailCall("cuStreamQuery", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN));
    OK(simcudaFailCall("cuStreamQuery", 3, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED));
    OK(simcudaFailCall("cuStreamSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_NOT_SUPPORTED));
    FAILS(cuStreamQuery(NULL), CUDA_ERROR_UNKNOWN);
    OK(cuStreamQuery(NULL));
    FAILS(cuStreamQuery(NULL), CUDA_ERROR_LAUNCH_FAILED);
    FAILS(cuStreamSynchronize(NULL), CUDA_ERROR_NOT_SUPPORTED);
}

static void a_fault_that_makes_no_sense_is_refused(void **state) {
    (void)state;
    FAILS(simcudaFailCall("cuMemEat", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(simcudaFailCall("cuMemMap", 0, simcudaFaultOnce, CUDA_ERROR_UNKNOWN),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(simcudaFailCall("cuMemMap", 1, simcudaFaultOnce, CUDA_SUCCESS), CUDA_ERROR_INVALID_VALUE);
    for (int i = 0; i < 16; i++)
        OK(simcudaFailCall("cuMemMap", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN));
    FAILS(simcudaFailCall("cuMemMap", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN),
          CUDA_ERROR_INVALID_VALUE);
}

static void calls_are_counted_by_name_refused_ones_too(void **state) {
    CUstream stream = make_stream();
    unsigned long long id;
    (void)state;
    simcudaCallCountReset();
    for (int i = 0; i < 7; i++)
        OK(cuStreamGetId(stream, &id));
    FAILS(cuStreamGetId(stream, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamQuery(stream));
    assert_int_equal(simcudaCallCount("cuStreamGetId"), 8);
    assert_int_equal(simcudaCallCount("cuStreamQuery"), 1);
    assert_int_equal(simcudaCallCount(NULL), 9);
    assert_int_equal(simcudaCallCount("cuMemEat"), 0);
    simcudaCallCountReset();
    assert_int_equal(simcudaCallCount(NULL), 0);
}

static void the_leak_check_names_all_that_is_alive(void **state) {
    CUdeviceptr allocation;
    simcudaLive live;
    (void)state;
    assert_int_equal(simcudaLeakCheck(), 0);
    CUstream stream = make_stream();
    CUevent event = make_event();
    struct memory memory = map_memory(GRANULE);
    OK(cuMemAlloc_v2(&allocation, 64));
    simcudaGetLive(&live);
    assert_int_equal(live.streams, 1);
    assert_int_equal(live.events, 1);
    assert_int_equal(live.ranges, 1);
    assert_int_equal(live.handles, 1);
    assert_int_equal(live.mappings, 1);
    assert_int_equal(live.extents, 1);
    assert_int_equal(live.allocations, 1);
    assert_int_equal(live.contexts, 1);
    assert_int_equal(simcudaLeakCheck(), 6);
    assert_int_equal(simcudaReportCount("leak"), 6);
    simcudaReportClear();
    OK(cuMemFree_v2(allocation));
    unmap_memory(memory);
    OK(cuEventDestroy_v2(event));
    OK(cuStreamDestroy_v2(stream));
    assert_int_equal(simcudaLeakCheck(), 0);
}

static void reports_are_read_by_index_and_cleared(void **state) {
    CUstream stream = make_stream();
    (void)state;
    OK(cuStreamDestroy_v2(stream));
    FAILS(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuMemRelease(1), CUDA_ERROR_INVALID_VALUE);
    assert_int_equal(simcudaReportCount(NULL), 2);
    assert_int_equal(simcudaReportCount("bad-memory-handle"), 1);
    assert_int_equal(simcudaReportCount("race"), 0);
    assert_string_equal(simcudaReportName(0), "use-of-destroyed-stream");
    assert_string_equal(simcudaReportName(1), "bad-memory-handle");
    assert_non_null(simcudaReportText(1));
    assert_null(simcudaReportName(2));
    simcudaReportClear();
    assert_int_equal(simcudaReportCount(NULL), 0);
    assert_null(simcudaReportText(0));
}

int main(void) {
#define FAULT_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end_without_reports)
    const struct CMUnitTest tests[] = {
        FAULT_TEST(the_nth_call_fails_once_and_changes_nothing),
        FAULT_TEST(every_call_from_the_nth_on_fails_until_it_is_cleared),
        FAULT_TEST(queries_can_fail_too),
        FAULT_TEST(a_fault_of_no_entry_counts_every_call),
        FAULT_TEST(several_faults_count_by_themselves),
        FAULT_TEST(a_fault_that_makes_no_sense_is_refused),
        FAULT_TEST(calls_are_counted_by_name_refused_ones_too),
        FAULT_TEST(the_leak_check_names_all_that_is_alive),
        FAULT_TEST(reports_are_read_by_index_and_cleared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
