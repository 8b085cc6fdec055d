#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "order/event.h"
#include "unit/order/simulated.h"

static struct sp_stream *resolve(CUstream handle) {
    struct sp_stream *stream = NULL;
    assert_int_equal(sp_stream_resolve(handle, &stream), CUDA_SUCCESS);
    return stream;
}

static uint64_t free_point(struct sp_stream *stream) {
    uint64_t sequence = 0;
    assert_int_equal(sp_stream_free_point(stream, &sequence), CUDA_SUCCESS);
    return sequence;
}

static bool is_complete(const struct sp_stream *stream, uint64_t sequence) {
    return sp_fence_is_complete((struct sp_fence){stream->slot, sequence});
}

static CUevent make_event(void) {
    CUevent event = NULL;
    assert_int_equal(sp_driver->cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    return event;
}

static void destroy(CUevent event) {
    assert_int_equal(sp_driver->cuEventDestroy(event), CUDA_SUCCESS);
}

static void synchronising_an_event_completes_the_frees_before_its_record(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *stream = resolve(simulated_stream());
    CUevent event = make_event();
    simulated_work(stream->handle);
    uint64_t before = free_point(stream);
    assert_int_equal(sp_event_record(event, stream, stream->handle), CUDA_SUCCESS);
    simulated_work(stream->handle);
    uint64_t after = free_point(stream);
    assert_int_equal(sp_event_synchronize(event, &told), CUDA_SUCCESS);
    assert_ptr_equal(told, stream);
    assert_true(is_complete(stream, before));
    assert_false(is_complete(stream, after));
    destroy(event);
}

static void a_pending_event_is_not_ready_and_teaches_nothing(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *stream = resolve(simulated_stream());
    CUevent event = make_event();
    simulated_work(stream->handle);
    uint64_t sequence = free_point(stream);
    assert_int_equal(sp_event_record(event, stream, stream->handle), CUDA_SUCCESS);
    assert_int_equal(sp_event_query(event, &told), CUDA_ERROR_NOT_READY);
    assert_false(is_complete(stream, sequence));
    simulated_finish(stream->handle);
    assert_int_equal(sp_event_query(event, &told), CUDA_SUCCESS);
    assert_ptr_equal(told, stream);
    assert_true(is_complete(stream, sequence));
    destroy(event);
}

static void an_event_recorded_by_somebody_else_is_no_evidence(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *a = resolve(simulated_stream());
    struct sp_stream *b = resolve(simulated_stream());
    CUevent event = make_event();
    simulated_work(a->handle);
    uint64_t sequence = free_point(a);
    assert_int_equal(sp_event_record(event, a, a->handle), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuEventRecord(event, b->handle), CUDA_SUCCESS); // now it says nothing about a
    assert_int_equal(sp_event_synchronize(event, &told), CUDA_SUCCESS);
    assert_false(is_complete(a, sequence));
    destroy(event);
}

static void an_event_at_a_destroyed_ones_handle_is_no_evidence(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *stream = resolve(simulated_stream());
    CUevent old = make_event();
    simulated_work(stream->handle);
    uint64_t sequence = free_point(stream);
    assert_int_equal(sp_event_record(old, stream, stream->handle), CUDA_SUCCESS);
    destroy(old);
    CUevent young = make_event();
    assert_ptr_equal(young, old);
    assert_int_equal(sp_event_synchronize(young, &told), CUDA_SUCCESS);
    assert_false(is_complete(stream, sequence));
    destroy(young);
}

static void an_unknown_event_is_waited_for_and_all_streams_are_asked(void **state) {
    (void)state;
    struct sp_stream *told = resolve(NULL);
    struct sp_stream *stream = resolve(simulated_stream());
    CUevent event = make_event();
    uint64_t sequence = free_point(stream);
    assert_int_equal(sp_stream_record(stream), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuEventRecord(event, stream->handle), CUDA_SUCCESS);
    assert_int_equal(sp_event_synchronize(event, &told), CUDA_SUCCESS);
    assert_null(told);
    assert_true(is_complete(stream, sequence));
    destroy(event);
}

static void a_driver_that_fails_is_named_and_nothing_is_learnt(void **state) {
    (void)state;
    static const char *const calls[] = {"cuEventRecord", "cuEventSynchronize", "cuEventQuery"};
    struct sp_stream *stream = resolve(simulated_stream());
    CUevent event = make_event();
    struct sp_stream *told = NULL;
    simulated_work(stream->handle);
    uint64_t sequence = free_point(stream);
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        CUresult noted = CUDA_SUCCESS;
        const char *name = "";
        simcudaFailCall(calls[i], 1, simcudaFaultOnwards, CUDA_ERROR_LAUNCH_FAILED);
        CUresult error = i == 0   ? sp_event_record(event, stream, stream->handle)
                         : i == 1 ? sp_event_synchronize(event, &told)
                                  : sp_event_query(event, &told);
        simcudaFailClear();
        sp_native_error_last(&noted, &name);
        assert_int_equal(error, CUDA_ERROR_LAUNCH_FAILED);
        assert_int_equal(noted, CUDA_ERROR_LAUNCH_FAILED);
        assert_string_equal(name, calls[i]);
        assert_false(is_complete(stream, sequence));
    }
    destroy(event);
}

static void a_private_record_that_fails_does_not_spoil_the_users(void **state) {
    (void)state;
    struct sp_stream *told = NULL;
    struct sp_stream *stream = resolve(simulated_stream());
    CUevent event = make_event();
    simulated_work(stream->handle);
    uint64_t sequence = free_point(stream);
    simcudaFailCall("cuEventRecord", 1, simcudaFaultOnce, CUDA_ERROR_LAUNCH_FAILED);
    assert_int_equal(sp_event_record(event, stream, stream->handle), CUDA_SUCCESS);
    assert_int_equal(simcudaFailCount(), 1);
    assert_int_equal(sp_event_query(event, &told), CUDA_ERROR_NOT_READY);
    assert_false(is_complete(stream, sequence));
    destroy(event);
}

static void a_record_in_a_capture_makes_no_private_event_and_spoils_nothing(void **state) {
    (void)state;
    struct sp_stream *stream = resolve(simulated_stream());
    CUevent event = make_event();
    CUgraph graph = NULL;
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream->handle, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    uint64_t records = simcudaCallCount("cuEventRecord");
    assert_int_equal(sp_event_record(event, stream, stream->handle), CUDA_SUCCESS);
    assert_int_equal(simcudaCallCount("cuEventRecord"), records + 1);
    assert_int_equal(sp_driver->cuStreamEndCapture(stream->handle, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
    destroy(event);
}

static int close_events(void **state) {
    sp_events_close();
    return simulated_teardown(state);
}

#define event_test(function) cmocka_unit_test_setup_teardown(function, simulated_setup, close_events)

int main(void) {
    const struct CMUnitTest tests[] = {
        event_test(synchronising_an_event_completes_the_frees_before_its_record),
        event_test(a_pending_event_is_not_ready_and_teaches_nothing),
        event_test(an_event_recorded_by_somebody_else_is_no_evidence),
        event_test(an_event_at_a_destroyed_ones_handle_is_no_evidence),
        event_test(an_unknown_event_is_waited_for_and_all_streams_are_asked),
        event_test(a_driver_that_fails_is_named_and_nothing_is_learnt),
        event_test(a_private_record_that_fails_does_not_spoil_the_users),
        event_test(a_record_in_a_capture_makes_no_private_event_and_spoils_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
