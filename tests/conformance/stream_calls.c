// Rows of what belongs to a stream, of captures beside other calls, and of the time between events.
#include <dlfcn.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

#include "conformance/rows.h"
#include "conformance/wider.h"
#include "support/check.h"
#include "support/device.h"
#include "support/simulated.h"

static CUstreamAttrValue attribute_of(CUstream stream, CUstreamAttrID attribute) {
    CUstreamAttrValue value;
    memset(&value, 0, sizeof value);
    DRIVER(wider()->cuStreamGetAttribute(stream, attribute, &value));
    return value;
}

static CUevent timing_event(void) {
    CUevent event = NULL;
    DRIVER(test_driver()->cuEventCreate(&event, CU_EVENT_DEFAULT));
    return event;
}

static void begin_capture(CUstream stream, CUstreamCaptureMode mode) {
    DRIVER(test_driver()->cuStreamBeginCapture(stream, mode));
}

static void end_capture(CUstream stream) {
    CUgraph graph = NULL;
    DRIVER(test_driver()->cuStreamEndCapture(stream, &graph));
    DRIVER(test_driver()->cuGraphDestroy(graph));
}

static void ignore_call(CUstream stream, CUresult status, void *data) {
    (void)stream, (void)status, (void)data;
}

// ------------------------------------------------------------------------------------- attributes

void row_either_end_of_the_priorities_may_be_left_out(void) {
    int least = 9, greatest = 9;
    DRIVER(wider()->cuCtxGetStreamPriorityRange(NULL, NULL));
    DRIVER(wider()->cuCtxGetStreamPriorityRange(&least, NULL));
    DRIVER(wider()->cuCtxGetStreamPriorityRange(NULL, &greatest));
    IS_TOLD(least, 0);
    IS_TOLD(greatest, -5);
}

void row_default_streams_have_the_least_priority(void) {
    int priority = 9;
    DRIVER(wider()->cuStreamGetPriority(NULL, &priority));
    IS_TOLD(priority, 0);
    priority = 9;
    DRIVER(wider()->cuStreamGetPriority(CU_STREAM_PER_THREAD, &priority));
    IS_TOLD(priority, 0);
    ANSWERS(wider()->cuStreamGetPriority(test_stream(), NULL), CUDA_ERROR_INVALID_VALUE);
}

void row_a_streams_priority_is_an_attribute(void) {
    CUstream stream = NULL;
    CUstreamAttrValue beyond = {.priority = -6};
    DRIVER(wider()->cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, -2));
    IS_TOLD(attribute_of(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority, -2);
    DRIVER(wider()->cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY, &beyond));
    IS_TOLD(attribute_of(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority, -5);
}

void row_a_new_stream_has_these_attributes(void) {
    CUstream stream = test_stream();
    CUlaunchMemSyncDomainMap map =
        attribute_of(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP).memSyncDomainMap;
    IS_TOLD(attribute_of(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY).syncPolicy, UINT_MAX);
    IS_TOLD(attribute_of(stream, CU_LAUNCH_ATTRIBUTE_PRIORITY).priority, 0);
    IS_TOLD(attribute_of(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN).memSyncDomain,
            CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT);
    IS_TOLD(map.default_, 0);
    IS_TOLD(map.remote, 1);
}

void row_a_new_stream_has_no_window_of_the_cache(void) {
    CUaccessPolicyWindow window =
        attribute_of(test_stream(), CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW).accessPolicyWindow;
    REQUIRE(!window.base_ptr);
    IS_TOLD(window.num_bytes, 0);
    IS_TOLD(window.hitProp, CU_ACCESS_PROPERTY_NORMAL);
    IS_TOLD(window.missProp, CU_ACCESS_PROPERTY_NORMAL);
}

void row_an_attribute_of_launches_alone_is_none_of_a_stream(void) {
    CUstream stream = test_stream();
    CUstreamAttrValue value;
    memset(&value, 0, sizeof value);
    ANSWERS(wider()->cuStreamGetAttribute(stream, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value),
            CUDA_ERROR_INVALID_VALUE);
}

void row_a_policy_of_a_stream_that_is_none_is_invalid(void) {
    CUstreamAttrValue value = {.syncPolicy = (CUsynchronizationPolicy)5};
    ANSWERS(wider()->cuStreamSetAttribute(test_stream(), CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
                                          &value),
            CUDA_ERROR_INVALID_VALUE);
}

void row_a_domain_that_the_device_lacks_is_invalid(void) {
    CUstreamAttrValue map = {.memSyncDomainMap = {.default_ = 4, .remote = 1}};
    CUstreamAttrValue domain = {.memSyncDomain = (CUlaunchMemSyncDomain)2};
    CUstream stream = test_stream();
    ANSWERS(wider()->cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &map),
            CUDA_ERROR_INVALID_VALUE);
    ANSWERS(wider()->cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &domain),
            CUDA_ERROR_INVALID_VALUE);
}

void row_a_window_of_the_cache_has_a_share_of_at_most_all(void) {
    CUdeviceptr memory = 0;
    DRIVER(test_driver()->cuMemAlloc(&memory, MIB(1)));
    CUstreamAttrValue value = {.accessPolicyWindow = {.base_ptr = (void *)(uintptr_t)memory,
                                                      .num_bytes = MIB(1),
                                                      .hitRatio = 1.5F,
                                                      .hitProp = CU_ACCESS_PROPERTY_PERSISTING}};
    CUstream stream = test_stream();
    ANSWERS(wider()->cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value),
            CUDA_ERROR_INVALID_VALUE);
    value.accessPolicyWindow.hitRatio = 1;
    DRIVER(wider()->cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
    IS_TOLD(
        attribute_of(stream, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW).accessPolicyWindow.num_bytes,
        MIB(1));
}

void row_attributes_are_copied_within_a_context(void) {
    CUstream from = test_stream(), to = test_stream(), elsewhere;
    CUstreamAttrValue value = {.syncPolicy = CU_SYNC_POLICY_YIELD};
    CUcontext context = NULL;
    DRIVER(wider()->cuStreamSetAttribute(from, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
    DRIVER(wider()->cuStreamCopyAttributes(to, from));
    IS_TOLD(attribute_of(to, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY).syncPolicy,
            CU_SYNC_POLICY_YIELD);
    DRIVER(test_driver()->cuCtxCreate(&context, 0, 0));
    elsewhere = test_stream();
    ANSWERS(wider()->cuStreamCopyAttributes(elsewhere, from), CUDA_ERROR_INVALID_VALUE);
}

void row_a_stream_tells_its_device(void) {
    CUdevice device = -1;
    WIDER_NEEDS(cuStreamGetDevice);
    DRIVER(wider()->cuStreamGetDevice(test_stream(), &device));
    IS_TOLD(device, 0);
    ANSWERS(wider()->cuStreamGetDevice(test_stream(), NULL), CUDA_ERROR_INVALID_VALUE);
}

// --------------------------------------------------------------------------------------- captures

void row_a_stream_of_a_context_tells_no_green_one(void) {
    CUcontext current = NULL, context = NULL;
    CUgreenCtx green = (CUgreenCtx)&current;
    WIDER_NEEDS(cuStreamGetCtx_v2);
    DRIVER(test_driver()->cuCtxGetCurrent(&current));
    DRIVER(wider()->cuStreamGetCtx_v2(test_stream(), &context, &green));
    REQUIRE(context == current && !green);
}

void row_an_event_for_other_processes_has_no_timing(void) {
    CUevent event = NULL;
    ANSWERS(test_driver()->cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    DRIVER(test_driver()->cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    DRIVER(test_driver()->cuEventDestroy(event));
}

void row_the_legacy_stream_tells_of_no_capture_beside_one(void) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUstream stream = test_blocking_stream();
    uint64_t id = 0;
    begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ANSWERS(wider()->cuStreamGetCaptureInfo_v2(CU_STREAM_LEGACY, &status, &id, NULL, NULL, NULL),
            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
    DRIVER(wider()->cuStreamGetCaptureInfo_v2(stream, &status, &id, NULL, NULL, NULL));
    IS_TOLD(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    end_capture(stream);
}

void row_a_stream_without_a_capture_tells_of_none(void) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_ACTIVE;
    uint64_t id = 0;
    DRIVER(wider()->cuStreamGetCaptureInfo_v2(test_stream(), &status, &id, NULL, NULL, NULL));
    IS_TOLD(status, CU_STREAM_CAPTURE_STATUS_NONE);
    ANSWERS(wider()->cuStreamGetCaptureInfo_v2(test_stream(), NULL, &id, NULL, NULL, NULL),
            CUDA_ERROR_INVALID_VALUE);
}

void row_a_callback_breaks_a_capture(void) {
    CUstream stream = test_stream();
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    CUgraph graph = NULL;
    uint64_t id = 0;
    begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ANSWERS(wider()->cuStreamAddCallback(stream, ignore_call, NULL, 0),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    DRIVER(wider()->cuStreamGetCaptureInfo_v2(stream, &status, &id, NULL, NULL, NULL));
    IS_TOLD(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    ANSWERS(test_driver()->cuStreamEndCapture(stream, &graph),
            CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    test_forgive_complaints();
}

static CUstream called_with;
static int calls;

static void note_stream(CUstream stream, CUresult status, void *data) {
    (void)status, (void)data;
    called_with = stream;
    calls++;
}

void row_a_callback_is_given_its_stream(void) {
    CUstream stream = test_stream();
    DRIVER(wider()->cuStreamAddCallback(stream, note_stream, NULL, 0));
    test_finish(stream);
    REQUIRE(calls == 1 && called_with == stream);
    DRIVER(wider()->cuStreamAddCallback(NULL, note_stream, NULL, 0));
    test_finish(NULL);
    REQUIRE(calls == 2 && !called_with);
}

// ----------------------------------------------------------------------------------------- events

void row_events_of_two_contexts_tell_no_time(void) {
    CUevent here = timing_event(), there;
    CUcontext context = NULL;
    float milliseconds = 0;
    DRIVER(test_driver()->cuEventRecord(here, CU_STREAM_PER_THREAD));
    test_finish(CU_STREAM_PER_THREAD);
    DRIVER(test_driver()->cuCtxCreate(&context, 0, 0));
    there = timing_event();
    DRIVER(test_driver()->cuEventRecord(there, CU_STREAM_PER_THREAD));
    test_finish(CU_STREAM_PER_THREAD);
    ANSWERS(test_driver()->cuEventElapsedTime(&milliseconds, here, there),
            CUDA_ERROR_INVALID_HANDLE);
}

void row_an_event_of_a_capture_tells_no_time(void) {
    CUstream stream = test_stream();
    CUevent event = timing_event(), other = timing_event();
    float milliseconds = 0;
    DRIVER(test_driver()->cuEventRecord(other, stream));
    test_finish(stream);
    begin_capture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
    DRIVER(test_driver()->cuEventRecord(event, stream));
    end_capture(stream);
    ANSWERS(test_driver()->cuEventElapsedTime(&milliseconds, other, event),
            CUDA_ERROR_INVALID_VALUE);
}

void row_events_tell_the_time_beside_a_capture(void) {
    CUstream stream = test_stream(), captures = test_stream();
    CUevent event = timing_event();
    float milliseconds = 1;
    DRIVER(test_driver()->cuEventRecord(event, stream));
    test_finish(stream);
    begin_capture(captures, CU_STREAM_CAPTURE_MODE_GLOBAL);
    DRIVER(test_driver()->cuEventElapsedTime(&milliseconds, event, event));
    REQUIRE(milliseconds == 0);
    end_capture(captures);
}

void row_an_external_record_needs_a_capture(void) {
    CUstream stream = test_stream();
    CUevent event = test_event();
    ANSWERS(wider()->cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL),
            CUDA_ERROR_ILLEGAL_STATE);
    ANSWERS(wider()->cuEventRecordWithFlags(event, stream, 2), CUDA_ERROR_INVALID_VALUE);
    DRIVER(wider()->cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_DEFAULT));
    test_finish(stream);
    ANSWERS(test_driver()->cuEventQuery(event), CUDA_SUCCESS);
}

// ------------------------------------------------------------------------------- finding functions

typedef CUresult (*finder)(const char *name, void **function, int version, uint64_t flags,
                           CUdriverProcAddressQueryResult *status);

static void *symbol(const char *name) {
    void *library = dlopen(test_driver()->path, RTLD_NOW);
    REQUIRE(library);
    return dlsym(library, name);
}

static finder find_finder(void) {
    void *address = symbol("cuGetProcAddress_v2");
    finder function;
    if (!address)
        test_skip("the driver lacks cuGetProcAddress_v2");
    memcpy(&function, &address, sizeof function);
    return function;
}

void row_flags_of_finding_functions_may_both_be_set(void) {
    finder find = find_finder();
    CUdriverProcAddressQueryResult status;
    void *function = NULL;
    DRIVER(find("cuStreamQuery", &function, 12000, 3, &status));
    REQUIRE(function);
}

void row_a_function_is_found_in_the_form_of_a_version(void) {
    finder find = find_finder();
    CUdriverProcAddressQueryResult status;
    void *function = NULL;
    const uint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    DRIVER(find("cuStreamQuery", &function, 12000, per_thread, &status));
    REQUIRE(function == symbol("cuStreamQuery_ptsz"));
    DRIVER(find("cuMemAlloc", &function, 7000, per_thread, &status));
    REQUIRE(function == symbol("cuMemAlloc_v2"));
    IS_TOLD(status, CU_GET_PROC_ADDRESS_SUCCESS);
}

void row_a_function_that_is_not_there_is_not_found(void) {
    finder find = find_finder();
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    void *function = &status;
    DRIVER(find("cuNoSuchFunction", &function, 12000, 0, &status));
    REQUIRE(!function);
    IS_TOLD(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
}

void row_a_function_of_a_later_version_is_not_found(void) {
    finder find = find_finder();
    CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
    void *function = &status;
    DRIVER(find("cuMemAllocAsync", &function, 10000, 0, &status));
    REQUIRE(!function);
    IS_TOLD(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
}

void row_a_private_table_that_is_none_is_invalid(void) {
    const void *table = NULL;
    CUuuid identity;
    memset(&identity, 0x5A, sizeof identity);
    ANSWERS(wider()->cuGetExportTable(&table, &identity), CUDA_ERROR_INVALID_VALUE);
    REQUIRE(!table);
}
