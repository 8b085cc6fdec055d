// Streams, events and contexts: handles, identities, order, and what dies with what.
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "unit/simcuda/fixture.h"

static unsigned long long id_of(CUstream stream) {
    unsigned long long id;
    OK(cuStreamGetId(stream, &id));
    return id;
}

// --------------------------------------------------------------------------------- handles and ids

static void a_new_stream_gets_the_handle_of_the_one_just_destroyed_and_a_new_id(void **state) {
    (void)state;
    CUstream stream = make_stream();
    for (int i = 0; i < 50; i++) {
        unsigned long long id = id_of(stream);
        OK(cuStreamDestroy_v2(stream));
        CUstream next = make_stream();
        assert_ptr_equal(next, stream);
        assert_true(id_of(next) != id);
    }
}

static void the_null_and_the_legacy_stream_have_the_same_id(void **state) {
    (void)state;
    assert_true(id_of(NULL) == id_of(CU_STREAM_LEGACY));
    assert_true(id_of(NULL) != id_of(CU_STREAM_PER_THREAD));
    assert_true(id_of(CU_STREAM_PER_THREAD) == id_of(CU_STREAM_PER_THREAD));
}

static void *per_thread_id(void *argument) {
    CUcontext context = argument;
    static _Thread_local unsigned long long id;
    if (cuCtxSetCurrent(context) != CUDA_SUCCESS ||
        cuStreamGetId(CU_STREAM_PER_THREAD, &id) != CUDA_SUCCESS)
        return NULL;
    return (void *)(uintptr_t)id;
}

static void the_per_thread_stream_has_another_id_in_each_thread(void **state) {
    pthread_t thread;
    void *id;
    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, per_thread_id, current_context()), 0);
    pthread_join(thread, &id);
    assert_true((uintptr_t)id != 0);
    assert_true((uintptr_t)id != id_of(CU_STREAM_PER_THREAD));
}

static void a_destroyed_stream_is_an_error_with_a_name(void **state) {
    CUstream stream = make_stream();
    CUcontext context;
    CUstreamCaptureStatus status;
    (void)state;
    OK(cuStreamDestroy_v2(stream));
    FAILS(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    expect_report("use-of-destroyed-stream");
    FAILS(cuStreamGetCtx(stream, &context), CUDA_ERROR_INVALID_HANDLE);
    expect_report("use-of-destroyed-stream");
    FAILS(cuStreamIsCapturing(stream, &status), CUDA_ERROR_INVALID_HANDLE);
    expect_report("use-of-destroyed-stream");
    FAILS(cuStreamDestroy_v2(stream), CUDA_ERROR_INVALID_HANDLE);
    expect_report("use-of-destroyed-stream");
    FAILS(cuStreamSynchronize((CUstream)(uintptr_t)0x1234567), CUDA_ERROR_INVALID_HANDLE);
    expect_report("use-of-destroyed-stream");
}

static void a_destroyed_event_is_an_error_with_a_name(void **state) {
    CUevent event = make_event();
    (void)state;
    OK(cuEventDestroy_v2(event));
    FAILS(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    expect_report("use-of-destroyed-event");
    FAILS(cuEventDestroy_v2(event), CUDA_ERROR_INVALID_HANDLE);
    expect_report("use-of-destroyed-event");
}

static void destroying_a_stream_with_work_returns_at_once_and_the_work_completes(void **state) {
    struct memory memory = map_memory(GRANULE);
    CUstream stream = make_stream();
    (void)state;
    spin(stream, 5 * MS);
    fill(stream, memory.address, 64, 77);
    uint64_t before = simcudaNow();
    OK(cuStreamDestroy_v2(stream));
    assert_true(simcudaNow() - before < MS);
    assert_int_equal(simcudaPendingAll(), 2);
    assert_int_equal(word_at(memory.address), 0);
    OK(cuCtxSynchronize());
    assert_int_equal(word_at(memory.address), 77);
    unmap_memory(memory);
}

static void flags_and_context_of_a_stream_are_told(void **state) {
    CUstream stream = make_non_blocking_stream();
    CUcontext context;
    unsigned flags;
    (void)state;
    OK(cuStreamGetFlags(stream, &flags));
    assert_int_equal(flags, CU_STREAM_NON_BLOCKING);
    OK(cuStreamGetFlags(NULL, &flags));
    assert_int_equal(flags, CU_STREAM_DEFAULT);
    OK(cuStreamGetCtx(stream, &context));
    assert_ptr_equal(context, current_context());
    OK(cuStreamGetCtx(CU_STREAM_PER_THREAD, &context));
    assert_ptr_equal(context, current_context());
}

static void a_stream_tells_that_its_context_is_not_green(void **state) {
    CUstream stream = make_stream();
    CUcontext context = NULL;
    CUgreenCtx green = (CUgreenCtx)(void *)&context;
    (void)state;
    OK(cuStreamGetCtx_v2(stream, &context, &green));
    assert_ptr_equal(context, current_context());
    assert_null(green);
    FAILS(cuStreamGetCtx_v2(stream, &context, NULL), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuStreamGetCtx_v2(stream, NULL, &green), CUDA_ERROR_INVALID_VALUE);
}

// ------------------------------------------------------------------------------------------ events

static void an_event_that_was_never_recorded_is_complete(void **state) {
    CUevent event = make_event();
    (void)state;
    OK(cuEventQuery(event));
    OK(cuEventSynchronize(event));
    OK(cuStreamWaitEvent(make_stream(), event, 0));
    assert_int_equal(simcudaPendingAll(), 0);
}

static void an_event_for_other_processes_has_no_times(void **state) {
    CUevent event;
    (void)state;
    FAILS(cuEventCreate(&event, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    FAILS(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_BLOCKING_SYNC),
          CUDA_ERROR_INVALID_VALUE);
    OK(cuEventCreate(&event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
    OK(cuEventDestroy_v2(event));
}

static void an_event_is_complete_when_the_work_before_it_is(void **state) {
    CUstream stream = make_stream();
    CUevent event = make_event();
    (void)state;
    spin(stream, MS);
    OK(cuEventRecord(event, stream));
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    FAILS(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
    OK(cuEventSynchronize(event));
    OK(cuEventQuery(event));
    OK(cuStreamQuery(stream));
}

static void a_second_record_stands_for_the_later_point(void **state) {
    CUstream stream = make_stream();
    CUevent event = make_event();
    (void)state;
    OK(cuEventRecord(event, stream));
    OK(cuEventQuery(event));
    spin(stream, MS);
    OK(cuEventRecord(event, stream));
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
}

static void a_wait_takes_the_record_of_the_call_not_a_later_one(void **state) {
    CUstream first = make_stream(), second = make_stream();
    CUevent event = make_event();
    (void)state;
    spin(first, MS);
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
    spin(first, 1000 * MS);
    OK(cuEventRecord(event, first));
    uint64_t before = simcudaNow();
    OK(cuStreamSynchronize(second));
    assert_true(simcudaNow() - before < 10 * MS);
    assert_int_equal(simcudaPending(first), 2);
}

static void a_wait_orders_streams_of_two_contexts(void **state) {
    CUcontext other;
    CUstream first = make_stream();
    CUevent event = make_event();
    (void)state;
    spin(first, 5 * MS);
    OK(cuEventRecord(event, first));
    OK(cuCtxCreate_v2(&other, 0, 0));
    CUstream second = make_stream();
    FAILS(cuEventRecord(event, second), CUDA_ERROR_INVALID_HANDLE);
    OK(cuStreamWaitEvent(second, event, 0));
    OK(cuStreamSynchronize(second));
    assert_int_equal(simcudaPending(first), 0);
    OK(cuCtxDestroy_v2(other));
}

static void a_record_of_the_context_covers_all_its_streams(void **state) {
    CUstream first = make_stream(), second = make_non_blocking_stream();
    CUevent event = make_event();
    (void)state;
    spin(first, MS);
    spin(second, 3 * MS);
    OK(cuCtxRecordEvent(current_context(), event));
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    OK(cuStreamSynchronize(first));
    FAILS(cuEventQuery(event), CUDA_ERROR_NOT_READY);
    OK(cuEventSynchronize(event));
    assert_int_equal(simcudaPending(second), 0);
}

// ------------------------------------------------------------------------------- the legacy stream

static void the_legacy_stream_runs_after_blocking_streams_and_before_their_next_work(void **state) {
    CUstream first = make_stream(), second = make_stream();
    (void)state;
    spin(first, 5 * MS);
    spin(NULL, MS);
    spin(second, MS);
    OK(cuStreamSynchronize(second));
    assert_int_equal(simcudaPending(first), 0);
    assert_int_equal(simcudaPending(NULL), 0);
}

static void non_blocking_streams_are_not_ordered_with_the_legacy_stream(void **state) {
    CUstream stream = make_non_blocking_stream();
    (void)state;
    spin(NULL, 50 * MS);
    spin(stream, MS);
    OK(cuStreamSynchronize(stream));
    assert_int_equal(simcudaPending(NULL), 1);
    spin(stream, 500 * MS);
    OK(cuStreamSynchronize(NULL));
    assert_int_equal(simcudaPending(stream), 1);
}

static void the_per_thread_stream_is_a_blocking_stream(void **state) {
    (void)state;
    spin(CU_STREAM_PER_THREAD, 5 * MS);
    spin(NULL, MS);
    OK(cuStreamSynchronize(NULL));
    assert_int_equal(simcudaPending(CU_STREAM_PER_THREAD), 0);
}

static void a_synchronous_copy_waits_for_blocking_streams(void **state) {
    struct memory memory = map_memory(GRANULE);
    CUstream stream = make_stream();
    uint32_t word;
    (void)state;
    spin(stream, 5 * MS);
    fill(stream, memory.address, 64, 3);
    OK(cuMemcpyDtoH_v2(&word, memory.address, sizeof(word)));
    assert_int_equal(word, 3);
    unmap_memory(memory);
}

// ---------------------------------------------------------------------------------------- contexts

static void default_streams_need_a_current_context_and_others_do_not(void **state) {
    CUcontext context;
    CUstream stream = make_stream();
    CUevent event = make_event();
    unsigned long long id;
    CUdevice device;
    (void)state;
    OK(cuCtxPopCurrent_v2(&context));
    FAILS(cuStreamSynchronize(NULL), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuStreamGetId(NULL, &id), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuStreamGetId(CU_STREAM_PER_THREAD, &id), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxGetDevice(&device), CUDA_ERROR_INVALID_CONTEXT);
    FAILS(cuCtxSynchronize(), CUDA_ERROR_INVALID_CONTEXT);
    OK(cuEventRecord(event, stream));
    OK(cuStreamSynchronize(stream));
    struct memory memory = map_memory(GRANULE);
    unmap_memory(memory);
    OK(cuCtxPushCurrent_v2(context));
    OK(cuStreamSynchronize(NULL));
}

static void streams_and_events_die_with_their_context_and_mapped_memory_does_not(void **state) {
    CUcontext context;
    struct memory memory;
    simcudaLive live;
    (void)state;
    OK(cuCtxCreate_v2(&context, 0, 0));
    CUstream stream = make_stream();
    CUevent event = make_event();
    CUdeviceptr allocation;
    OK(cuMemAlloc_v2(&allocation, 4096));
    memory = map_memory(GRANULE);
    fill(stream, memory.address, 64, 8);
    OK(cuCtxDestroy_v2(context));
    simcudaGetLive(&live);
    assert_int_equal(live.streams + live.events + live.allocations + live.modules, 0);
    assert_int_equal(live.contexts, 1);
    assert_int_equal(live.mappings, 1);
    assert_int_equal(word_at(memory.address), 8);
    FAILS(cuStreamQuery(stream), CUDA_ERROR_INVALID_HANDLE);
    expect_report("use-of-destroyed-stream");
    FAILS(cuEventQuery(event), CUDA_ERROR_INVALID_HANDLE);
    expect_report("use-of-destroyed-event");
    unmap_memory(memory);
}

static void a_destroyed_context_completes_its_work(void **state) {
    CUcontext context;
    struct memory memory = map_memory(GRANULE);
    (void)state;
    OK(cuCtxCreate_v2(&context, 0, 0));
    fill(make_stream(), memory.address, 64, 8);
    OK(cuCtxDestroy_v2(context));
    unmap_memory(memory);
    expect_no_report();
}

static void a_context_that_is_gone_is_told_from_one_that_is_current(void **state) {
    CUcontext context, primary = current_context();
    CUdevice device;
    (void)state;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuCtxPushCurrent_v2(context));
    OK(cuCtxDestroy_v2(context));
    FAILS(cuCtxGetDevice(&device), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    FAILS(cuCtxPushCurrent_v2(context), CUDA_ERROR_INVALID_CONTEXT);
    expect_report("use-of-destroyed-context");
    OK(cuCtxPopCurrent_v2(&context));
    OK(cuCtxGetDevice(&device));
    assert_ptr_equal(current_context(), primary);
}

static void a_reset_primary_context_keeps_its_handle_and_gets_a_new_id(void **state) {
    CUcontext before = current_context(), after;
    unsigned long long first, second;
    unsigned flags;
    int active;
    (void)state;
    OK(cuCtxGetId(before, &first));
    OK(cuDevicePrimaryCtxReset(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 0);
    OK(cuDevicePrimaryCtxRetain(&after, 0));
    assert_ptr_equal(before, after);
    OK(cuCtxGetId(after, &second));
    assert_true(first != second);
    OK(cuStreamSynchronize(NULL));
}

static void a_destroyed_context_has_no_id_and_may_be_asked_for_it(void **state) {
    CUcontext context;
    unsigned long long id;
    (void)state;
    OK(cuCtxCreate_v2(&context, 0, 0));
    OK(cuCtxGetId(context, &id));
    OK(cuCtxDestroy_v2(context));
    FAILS(cuCtxGetId(context, &id), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    FAILS(cuCtxGetId((CUcontext)(void *)&id, &id), CUDA_ERROR_INVALID_CONTEXT);
    expect_report("use-of-destroyed-context");
}

static void the_last_release_ends_the_primary_context(void **state) {
    CUcontext context;
    unsigned flags;
    int active;
    (void)state;
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 1);
    OK(cuDevicePrimaryCtxRelease(0));
    OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
    assert_int_equal(active, 0);
    FAILS(cuDevicePrimaryCtxRelease(0), CUDA_ERROR_INVALID_CONTEXT);
}

static sem_t is_retained;

static void await_retain(void *unused) {
    (void)unused;
    while (sem_wait(&is_retained) != 0)
        ;
}

// The release counts as a call while it has the lock, and gives that up where it waits.
static void *retain_during_a_release(void *unused) {
    CUcontext context;
    (void)unused;
    while (simcudaCallCount("cuDevicePrimaryCtxRelease") == 0)
        sched_yield();
    CUresult result = cuDevicePrimaryCtxRetain(&context, 0);
    sem_post(&is_retained);
    return result == CUDA_SUCCESS ? context : NULL;
}

static void a_primary_context_that_is_retained_while_the_last_release_waits_stays(void **state) {
    CUstream stream = make_stream();
    pthread_t thread;
    void *context;
    (void)state;
    OK(sem_init(&is_retained, 0, 0));
    OK(cuLaunchHostFunc(stream, await_retain, NULL));
    OK(pthread_create(&thread, NULL, retain_during_a_release, NULL));
    OK(cuDevicePrimaryCtxRelease(0));
    OK(pthread_join(thread, &context));
    assert_ptr_equal(context, current_context());
    OK(cuStreamQuery(stream));
    OK(cuDevicePrimaryCtxRelease(0));
    FAILS(cuCtxSynchronize(), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    sem_destroy(&is_retained);
}

static void a_thread_has_a_default_stream_of_its_own_in_each_context(void **state) {
    (void)state;
    unsigned long long first = id_of(CU_STREAM_PER_THREAD), last = first;
    for (int i = 0; i < 20; i++) {
        CUcontext context;
        OK(cuCtxCreate_v2(&context, 0, 0));
        assert_true(id_of(CU_STREAM_PER_THREAD) > last);
        last = id_of(CU_STREAM_PER_THREAD);
        touch(CU_STREAM_PER_THREAD, "work", 0, 0, simcudaAccessRead);
        OK(cuCtxDestroy_v2(context));
        assert_true(id_of(CU_STREAM_PER_THREAD) == first);
    }
}

static void *ask_for_a_stream(void *context) {
    CUstreamCaptureStatus status;
    CUresult result = cuCtxSetCurrent(context);
    for (int i = 0; i < 100 && result == CUDA_SUCCESS; i++)
        result = cuStreamIsCapturing(i % 2 ? CU_STREAM_PER_THREAD : NULL, &status);
    return result == CUDA_SUCCESS ? context : NULL;
}

// For the thread sanitizer.
static void streams_are_asked_for_while_another_thread_makes_the_first(void **state) {
    pthread_t thread;
    void *context;
    (void)state;
    OK(pthread_create(&thread, NULL, ask_for_a_stream, current_context()));
    OK(cuStreamDestroy_v2(make_stream()));
    OK(pthread_join(thread, &context));
    assert_ptr_equal(context, current_context());
}

static void a_failed_context_fails_all_of_its_device_and_nothing_of_others(void **state) {
    CUcontext contexts[3]; // the last one is another device's
    CUstream streams[3];
    CUevent events[3];
    (void)state;
    become("devices=2");
    for (size_t i = 0; i < 3; i++) {
        OK(cuCtxCreate_v2(&contexts[i], 0, i == 2));
        streams[i] = make_stream();
        events[i] = make_event();
        OK(cuEventRecord(events[i], streams[i]));
    }
    OK(simcudaContextFail(contexts[0], CUDA_ERROR_LAUNCH_FAILED));
    for (size_t i = 0; i < 2; i++) {
        FAILS(cuStreamQuery(streams[i]), CUDA_ERROR_LAUNCH_FAILED);
        FAILS(cuEventQuery(events[i]), CUDA_ERROR_LAUNCH_FAILED);
        FAILS(cuStreamWaitEvent(streams[2], events[i], 0), CUDA_ERROR_LAUNCH_FAILED);
    }
    OK(cuStreamQuery(streams[2]));
    OK(cuEventQuery(events[2]));
    for (size_t i = 0; i < 3; i++)
        OK(cuCtxDestroy_v2(contexts[i]));
}

static void a_failed_device_makes_no_context_any_more(void **state) {
    CUcontext primary = current_context(), context;
    (void)state;
    OK(simcudaContextFail(primary, CUDA_ERROR_ILLEGAL_ADDRESS));
    FAILS(cuCtxCreate_v2(&context, 0, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    OK(cuDevicePrimaryCtxRetain(&context, 0));
    assert_ptr_equal(context, primary);
    OK(cuDevicePrimaryCtxReset(0));
    FAILS(cuDevicePrimaryCtxRetain(&context, 0), CUDA_ERROR_ILLEGAL_ADDRESS);
    FAILS(cuStreamQuery(NULL), CUDA_ERROR_CONTEXT_IS_DESTROYED);
    become("");
    OK(cuStreamQuery(NULL));
}

// A context tells who it is, and a stream no more.
static void a_failed_contexts_streams_tell_of_nothing_else(void **state) {
    CUcontext context, found;
    CUdevice device;
    CUstreamCaptureStatus status;
    unsigned long long id;
    unsigned int flags;
    (void)state;
    OK(cuCtxCreate_v2(&context, 0, 0));
    CUstream streams[] = {make_stream(), NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    OK(simcudaContextFail(context, CUDA_ERROR_ILLEGAL_ADDRESS));
    for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++) {
        FAILS(cuStreamGetId(streams[i], &id), CUDA_ERROR_ILLEGAL_ADDRESS);
        FAILS(cuStreamGetCtx(streams[i], &found), CUDA_ERROR_ILLEGAL_ADDRESS);
        FAILS(cuStreamGetFlags(streams[i], &flags), CUDA_ERROR_ILLEGAL_ADDRESS);
        FAILS(cuStreamIsCapturing(streams[i], &status), CUDA_ERROR_ILLEGAL_ADDRESS);
    }
    OK(cuCtxGetId(context, &id));
    OK(cuCtxGetCurrent(&found));
    OK(cuCtxGetDevice(&device));
    OK(cuCtxDestroy_v2(context));
}

static void pending_work_of_a_failed_context_ends_without_effect(void **state) {
    CUcontext context;
    struct memory memory = map_memory(GRANULE);
    (void)state;
    OK(cuCtxCreate_v2(&context, 0, 0));
    CUstream stream = make_stream();
    spin(stream, MS);
    fill(stream, memory.address, 64, 9);
    OK(simcudaContextFail(context, CUDA_ERROR_LAUNCH_FAILED));
    simcudaCompleteAll();
    assert_int_equal(word_at(memory.address), 0);
    OK(cuCtxDestroy_v2(context));
    unmap_memory(memory);
}

int main(void) {
#define STREAM_TEST(test) cmocka_unit_test_setup_teardown(test, begin, end_without_reports)
    const struct CMUnitTest tests[] = {
        STREAM_TEST(a_new_stream_gets_the_handle_of_the_one_just_destroyed_and_a_new_id),
        STREAM_TEST(the_null_and_the_legacy_stream_have_the_same_id),
        STREAM_TEST(the_per_thread_stream_has_another_id_in_each_thread),
        STREAM_TEST(a_destroyed_stream_is_an_error_with_a_name),
        STREAM_TEST(a_destroyed_event_is_an_error_with_a_name),
        STREAM_TEST(destroying_a_stream_with_work_returns_at_once_and_the_work_completes),
        STREAM_TEST(flags_and_context_of_a_stream_are_told),
        STREAM_TEST(a_stream_tells_that_its_context_is_not_green),
        STREAM_TEST(an_event_that_was_never_recorded_is_complete),
        STREAM_TEST(an_event_for_other_processes_has_no_times),
        STREAM_TEST(an_event_is_complete_when_the_work_before_it_is),
        STREAM_TEST(a_second_record_stands_for_the_later_point),
        STREAM_TEST(a_wait_takes_the_record_of_the_call_not_a_later_one),
        STREAM_TEST(a_wait_orders_streams_of_two_contexts),
        STREAM_TEST(a_record_of_the_context_covers_all_its_streams),
        STREAM_TEST(the_legacy_stream_runs_after_blocking_streams_and_before_their_next_work),
        STREAM_TEST(non_blocking_streams_are_not_ordered_with_the_legacy_stream),
        STREAM_TEST(the_per_thread_stream_is_a_blocking_stream),
        STREAM_TEST(a_synchronous_copy_waits_for_blocking_streams),
        STREAM_TEST(default_streams_need_a_current_context_and_others_do_not),
        STREAM_TEST(streams_and_events_die_with_their_context_and_mapped_memory_does_not),
        STREAM_TEST(a_destroyed_context_completes_its_work),
        STREAM_TEST(a_context_that_is_gone_is_told_from_one_that_is_current),
        STREAM_TEST(a_reset_primary_context_keeps_its_handle_and_gets_a_new_id),
        STREAM_TEST(a_destroyed_context_has_no_id_and_may_be_asked_for_it),
        STREAM_TEST(the_last_release_ends_the_primary_context),
        STREAM_TEST(a_primary_context_that_is_retained_while_the_last_release_waits_stays),
        STREAM_TEST(a_thread_has_a_default_stream_of_its_own_in_each_context),
        STREAM_TEST(streams_are_asked_for_while_another_thread_makes_the_first),
        STREAM_TEST(a_failed_context_fails_all_of_its_device_and_nothing_of_others),
        STREAM_TEST(a_failed_device_makes_no_context_any_more),
        STREAM_TEST(a_failed_contexts_streams_tell_of_nothing_else),
        STREAM_TEST(pending_work_of_a_failed_context_ends_without_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
