// What a program sets of streams and asks of streams and events: priorities, attributes, captures,
// callbacks, elapsed times.
#include <stdatomic.h>

#include "unit/simcuda/fixture.h"

// ------------------------------------------------------------------------------------- attributes

static int priority_of(CUstream stream) {
    int priority;
    OK(cuStreamGetPriority(stream, &priority));
    return priority;
}

static void a_stream_has_the_priority_asked_for_within_the_range(void **state) {
    CUstream stream;
    (void)state;
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -3));
    assert_int_equal(priority_of(stream), -3);
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_DEFAULT, -9));
    assert_int_equal(priority_of(stream), -5);
    OK(cuStreamCreateWithPriority(&stream, CU_STREAM_DEFAULT, 2));
    assert_int_equal(priority_of(stream), 0);
    assert_int_equal(priority_of(make_stream()), 0);
    assert_int_equal(priority_of(NULL), 0);
    FAILS(cuStreamCreateWithPriority(NULL, 0, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamCreateWithPriority(&stream, 2, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamGetPriority(stream, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void a_stream_tells_its_device(void **state) {
    CUcontext context;
    CUdevice device;
    (void)state;
    become("devices=2");
    CUstream stream = make_stream();
    OK(cuDevicePrimaryCtxRetain(&context, 1));
    OK(cuCtxSetCurrent(context));
    OK(cuStreamGetDevice(stream, &device));
    assert_int_equal(device, 0);
    OK(cuStreamGetDevice(NULL, &device));
    assert_int_equal(device, 1);
    FAILS(cuStreamGetDevice(stream, NULL), CUDA_ERROR_INVALID_VALUE);
}

static void an_attribute_is_what_was_set(void **state) {
    CUstreamAttrValue value = {.syncPolicy = CU_SYNC_POLICY_YIELD}, read;
    CUstream stream = make_stream();
    (void)state;
    OK(cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &read));
    assert_true(read.syncPolicy == (CUsynchronizationPolicy)-1);
    OK(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    OK(cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &read));
    assert_int_equal(read.syncPolicy, CU_SYNC_POLICY_YIELD);
    value.priority = -2;
    OK(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    assert_int_equal(priority_of(stream), -2);
    value.accessPolicyWindow = (CUaccessPolicyWindow){.num_bytes = 4096, .hitRatio = 0.5f};
    OK(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
    OK(cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &read));
    assert_int_equal(read.accessPolicyWindow.num_bytes, 4096);
    value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    OK(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &value));
    OK(cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &read));
    assert_int_equal(read.memSyncDomain, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
    OK(cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &read));
    assert_int_equal(read.memSyncDomainMap.default_, 0);
    assert_int_equal(read.memSyncDomainMap.remote, 1);
    value.memSyncDomainMap = (CUlaunchMemSyncDomainMap){2, 3};
    OK(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &value));
}

static void a_priority_out_of_range_is_brought_into_it(void **state) {
    CUstream stream = make_stream();
    CUstreamAttrValue value = {.priority = -6};
    (void)state;
    OK(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    assert_int_equal(priority_of(stream), -5);
    value.priority = 1;
    OK(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    assert_int_equal(priority_of(stream), 0);
}

static void values_out_of_range_are_refused(void **state) {
    CUstream stream = make_stream();
    CUstreamAttrValue value = {.syncPolicy = (CUsynchronizationPolicy)5};
    (void)state;
    FAILS(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value),
          CUDA_ERROR_INVALID_VALUE);
    value.accessPolicyWindow = (CUaccessPolicyWindow){.hitRatio = 1.5f};
    FAILS(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value),
          CUDA_ERROR_INVALID_VALUE);
    value.memSyncDomainMap = (CUlaunchMemSyncDomainMap){4, 0};
    FAILS(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &value),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamSetAttribute(stream, (CUstreamAttrID)2, &value), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamGetAttribute(stream, (CUstreamAttrID)2, &value), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, NULL),
          CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, NULL),
          CUDA_ERROR_INVALID_VALUE);
}

static void attributes_are_copied_within_a_context(void **state) {
    CUstream from, to = make_stream();
    CUcontext context;
    (void)state;
    OK(cuStreamCreateWithPriority(&from, 0, -4));
    OK(cuStreamCopyAttributes(to, from));
    assert_int_equal(priority_of(to), -4);
    OK(cuCtxCreate_v2(&context, 0, 0));
    FAILS(cuStreamCopyAttributes(NULL, from), CUDA_ERROR_INVALID_VALUE);
    OK(cuCtxDestroy_v2(context));
}

// --------------------------------------------------------------------------------------- captures

static void each_capture_has_a_number_of_its_own(void **state) {
    CUstream stream = make_stream();
    CUstreamCaptureStatus status;
    uint64_t id = 0, next = 0;
    CUgraph graph;
    (void)state;
    OK(cuStreamGetCaptureInfo(stream, &status, &id));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_NONE);
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamGetCaptureInfo(stream, &status, &id));
    assert_int_equal(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuStreamGetCaptureInfo_v2(stream, &status, &next, NULL, NULL, NULL));
    assert_true(id != 0 && next != 0 && id != next);
    OK(cuStreamGetCaptureInfo_v3(stream, &status, &id, NULL, NULL, NULL, NULL));
    assert_true(id == next);
    FAILS(cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, NULL, NULL),
          CUDA_ERROR_NOT_SUPPORTED);
    FAILS(cuStreamGetCaptureInfo(stream, NULL, &id), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
}

static void asking_about_the_legacy_stream_beside_a_capture_is_refused(void **state) {
    CUstream stream = make_stream();
    CUstreamCaptureStatus status;
    CUgraph graph;
    (void)state;
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    FAILS(cuStreamGetCaptureInfo(NULL, &status, NULL), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
}

// -------------------------------------------------------------------------------------- callbacks

static _Atomic(CUstream) called_with;
static _Atomic int called_status, calls;

static void note(CUstream stream, CUresult status, void *userData) {
    called_with = stream;
    called_status = status;
    *(_Atomic int *)userData += 1;
}

static void a_callback_is_called_with_its_stream_behind_the_work_before(void **state) {
    CUstream stream = make_stream();
    (void)state;
    calls = 0;
    called_status = -1;
    spin(stream, MS);
    OK(cuStreamAddCallback(stream, note, &calls, 0));
    OK(cuStreamSynchronize(stream));
    assert_int_equal(calls, 1);
    assert_ptr_equal(called_with, stream);
    assert_int_equal(called_status, CUDA_SUCCESS);
    OK(cuStreamAddCallback(NULL, note, &calls, 0));
    OK(cuStreamSynchronize(NULL));
    assert_int_equal(calls, 2);
    assert_null(called_with);
}

static void a_callback_without_function_or_with_flags_is_refused(void **state) {
    CUstream stream = make_stream();
    (void)state;
    FAILS(cuStreamAddCallback(stream, NULL, NULL, 0), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamAddCallback(stream, note, NULL, 1), CUDA_ERROR_INVALID_VALUE);
}

static void a_capture_can_hold_no_callback(void **state) {
    CUstream stream = make_stream();
    CUgraph graph;
    (void)state;
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    FAILS(cuStreamAddCallback(stream, note, NULL, 0), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    expect_report("capture-unsafe-call");
    FAILS(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

// ------------------------------------------------------------------------------------------ times

static CUevent make_timed_event(void) {
    CUevent event;
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    return event;
}

static void the_time_between_two_records_is_that_of_the_work_between(void **state) {
    CUstream stream = make_stream();
    CUevent start = make_timed_event(), end = make_timed_event();
    float time, back;
    (void)state;
    OK(cuEventRecord(start, stream));
    spin(stream, 3 * MS);
    OK(cuEventRecordWithFlags(end, stream, CU_EVENT_RECORD_DEFAULT));
    OK(cuEventSynchronize(end));
    OK(cuEventElapsedTime(&time, start, end));
    assert_true(time >= 3.0f && time < 3.1f);
    OK(cuEventElapsedTime_v2(&back, end, start));
    assert_true(back == -time);
}

static void an_event_that_is_pending_has_no_time_yet(void **state) {
    CUstream stream = make_stream();
    CUevent start = make_timed_event(), end = make_timed_event();
    float time;
    (void)state;
    OK(cuEventRecord(start, stream));
    spin(stream, 3 * MS);
    OK(cuEventRecord(end, stream));
    FAILS(cuEventElapsedTime(&time, start, end), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(stream));
    OK(cuEventElapsedTime(&time, start, end));
}

static void an_event_without_a_record_or_timing_has_no_time(void **state) {
    CUstream stream = make_stream();
    CUevent start = make_timed_event(), end = make_timed_event(), untimed = make_event();
    float time;
    (void)state;
    OK(cuEventRecord(start, stream));
    OK(cuEventRecord(untimed, stream));
    OK(cuStreamSynchronize(stream));
    FAILS(cuEventElapsedTime(&time, start, end), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuEventElapsedTime(&time, end, start), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuEventElapsedTime(&time, start, untimed), CUDA_ERROR_INVALID_HANDLE);
    FAILS(cuEventElapsedTime(NULL, start, start), CUDA_ERROR_INVALID_HANDLE);
    OK(cuEventDestroy_v2(end));
    FAILS(cuEventElapsedTime(&time, start, end), CUDA_ERROR_INVALID_HANDLE);
    expect_report("use-of-destroyed-event");
}

static void an_event_of_a_capture_has_no_time(void **state) {
    CUstream stream = make_stream();
    CUevent start = make_timed_event(), captured = make_timed_event();
    CUgraph graph;
    float time;
    (void)state;
    OK(cuEventRecord(start, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(cuEventRecord(captured, stream));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
    FAILS(cuEventElapsedTime(&time, start, captured), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuEventElapsedTime(&time, captured, start), CUDA_ERROR_INVALID_VALUE);
}

static void events_of_two_contexts_have_no_time_between_them(void **state) {
    CUcontext context;
    CUevent start = make_timed_event();
    float time;
    (void)state;
    OK(cuEventRecord(start, NULL));
    OK(cuCtxSynchronize());
    OK(cuCtxCreate_v2(&context, 0, 0));
    CUevent end = make_timed_event();
    OK(cuEventRecord(end, NULL));
    OK(cuCtxSynchronize());
    FAILS(cuEventElapsedTime(&time, start, end), CUDA_ERROR_INVALID_HANDLE);
    OK(cuCtxDestroy_v2(context));
}

static void an_external_record_is_refused(void **state) {
    CUstream stream = make_stream();
    CUevent event = make_timed_event();
    CUgraph graph;
    (void)state;
    FAILS(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL),
          CUDA_ERROR_ILLEGAL_STATE);
    FAILS(cuEventRecordWithFlags(event, stream, 2), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    FAILS(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL),
          CUDA_ERROR_NOT_SUPPORTED);
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphDestroy(graph));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end_without_reports)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(a_stream_has_the_priority_asked_for_within_the_range),
        TEST(a_stream_tells_its_device),
        TEST(an_attribute_is_what_was_set),
        TEST(a_priority_out_of_range_is_brought_into_it),
        TEST(values_out_of_range_are_refused),
        TEST(attributes_are_copied_within_a_context),
        TEST(each_capture_has_a_number_of_its_own),
        TEST(asking_about_the_legacy_stream_beside_a_capture_is_refused),
        TEST(a_callback_is_called_with_its_stream_behind_the_work_before),
        TEST(a_callback_without_function_or_with_flags_is_refused),
        TEST(a_capture_can_hold_no_callback),
        TEST(the_time_between_two_records_is_that_of_the_work_between),
        TEST(an_event_that_is_pending_has_no_time_yet),
        TEST(an_event_without_a_record_or_timing_has_no_time),
        TEST(an_event_of_a_capture_has_no_time),
        TEST(events_of_two_contexts_have_no_time_between_them),
        TEST(an_external_record_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
