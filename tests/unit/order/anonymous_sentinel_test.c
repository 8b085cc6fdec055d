// What a sentinel costs, and what becomes of it. That it tells contexts apart is in context_test.c.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fault/host_memory.h"
#include "inside/order.h"
#include "order/identity.h"
#include "unit/order/known.h"
#include "unit/outcomes.h"

static uint64_t id_of(CUcontext context) {
    uint64_t id = 0;
    assert_done(sp_anonymous.context_id(context, &id));
    assert_int_not_equal(id, 0);
    return id;
}

static uint64_t known_id_of(CUcontext context) {
    uint64_t id = 1;
    assert_done(sp_anonymous.known_context_id(context, &id));
    return id;
}

static uint64_t live_sentinels(void) {
    simcudaLive live;
    simcudaGetLive(&live);
    return live.pinned;
}

static CUcontext new_context(void) {
    CUcontext context = NULL;
    assert_int_equal(sp_driver->cuCtxCreate(&context, 0, 0), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuCtxPopCurrent(&context), CUDA_SUCCESS);
    return context;
}

static void destroy(CUcontext context) {
    assert_int_equal(sp_driver->cuCtxDestroy(context), CUDA_SUCCESS);
}

static void a_context_gets_one_and_is_then_asked_for_by_one_call(void **state) {
    (void)state;
    uint64_t id = id_of(simulated_context());
    assert_int_equal(live_sentinels(), 1);
    uint64_t calls = simcudaCallCount(NULL);
    assert_int_equal(id_of(simulated_context()), id);
    assert_int_equal(known_id_of(simulated_context()), id);
    assert_false(sp_anonymous.context_is_gone(simulated_context(), id));
    assert_int_equal(simcudaCallCount(NULL), calls + 3);
    assert_int_equal(live_sentinels(), 1);
}

static void a_context_that_was_never_met_gets_none_by_being_asked_for(void **state) {
    (void)state;
    CUcontext context = new_context();
    assert_int_equal(known_id_of(context), 0);
    uint64_t id = id_of(context);
    assert_int_equal(known_id_of(context), id);
    destroy(context);
    assert_int_equal(known_id_of(context), 0);
    assert_ptr_equal(new_context(), context);
    assert_int_equal(known_id_of(context), 0);
    assert_int_equal(live_sentinels(), 0);
}

static void other_memory_at_its_address_is_not_taken_for_it(void **state) {
    (void)state;
    void *memory = NULL;
    CUcontext context = new_context();
    uint64_t id = id_of(context);
    destroy(context);
    // Has the freed address.
    assert_int_equal(sp_driver->cuMemHostAlloc(&memory, 64, 0), CUDA_SUCCESS);
    assert_true(sp_anonymous.context_is_gone(context, id));
    assert_ptr_equal(new_context(), context);
    assert_int_equal(known_id_of(context), 0);
    assert_int_not_equal(id_of(context), id);
    assert_int_equal(sp_driver->cuMemFreeHost(memory), CUDA_SUCCESS);
    assert_int_equal(live_sentinels(), 1);
}

static void one_that_can_not_be_made_is_an_error_that_leaves_nothing(void **state) {
    (void)state;
    static const char *const calls[] = {"cuCtxPushCurrent", "cuMemHostAlloc",
                                        "cuPointerGetAttribute"};
    uint64_t id = 0;
    CUcontext context = NULL;
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        simcudaFailCall(calls[i], 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN);
        assert_of_driver(sp_anonymous.context_id(simulated_context(), &id), CUDA_ERROR_UNKNOWN);
        assert_int_equal(live_sentinels(), 0);
    }
    assert_int_equal(sp_driver->cuCtxSetCurrent(NULL), CUDA_SUCCESS);
    id_of(simulated_context());
    assert_int_equal(sp_driver->cuCtxGetCurrent(&context), CUDA_SUCCESS);
    assert_null(context); // what was pushed was popped
}

static void without_host_memory_it_is_an_error_that_leaves_nothing(void **state) {
    (void)state;
    uint64_t id = 0;
    uint64_t failed = 0;
    id_of(simulated_context()); // so that the simulated driver has what it needs
    inside_order_free_sentinels();
    host_memory_enter(1, true);
    struct sp_outcome outcome = sp_anonymous.context_id(simulated_context(), &id);
    host_memory_leave(&failed);
    assert_int_equal(failed, 1);
    assert_cause(outcome, SP_NO_HOST_MEMORY);
    assert_int_equal(live_sentinels(), 0);
    id_of(simulated_context());
}

static void a_driver_that_has_no_number_for_it_is_not_supported(void **state) {
    (void)state;
    uint64_t id = 0;
    simcudaFailCall("cuPointerGetAttribute", 1, simcudaFaultOnce, CUDA_ERROR_INVALID_VALUE);
    assert_cause(sp_anonymous.context_id(simulated_context(), &id), SP_NOT_SUPPORTED);
    assert_int_equal(live_sentinels(), 0);
}

static void a_context_under_an_error_is_not_taken_for_gone(void **state) {
    (void)state;
    CUcontext context = new_context();
    uint64_t id = id_of(context);
    assert_int_equal(simcudaContextFail(context, CUDA_ERROR_ILLEGAL_ADDRESS), CUDA_SUCCESS);
    uint64_t answer = 0;
    assert_of_driver(sp_anonymous.context_id(context, &answer), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_of_driver(sp_anonymous.known_context_id(context, &answer), CUDA_ERROR_ILLEGAL_ADDRESS);
    assert_false(sp_anonymous.context_is_gone(context, id));
    destroy(context);
    assert_true(sp_anonymous.context_is_gone(context, id));
}

static void making_one_leaves_a_capture_valid(void **state) {
    (void)state;
    CUgraph graph = NULL;
    CUstream stream = simulated_stream();
    CUcontext context = new_context();
    assert_int_equal(sp_driver->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL),
                     CUDA_SUCCESS);
    id_of(context);
    assert_int_equal(sp_driver->cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
    assert_int_equal(sp_driver->cuGraphDestroy(graph), CUDA_SUCCESS);
}

static void meet(void *argument) {
    uint64_t *id = argument;
    if (!sp_is_done(sp_anonymous.context_id(simulated_context(), id)))
        *id = 0;
}

static void threads_that_meet_a_context_at_once_agree_on_its_id(void **state) {
    (void)state;
    enum { THREADS = 4, ROUNDS = 20 };
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t ids[THREADS];
        void *arguments[THREADS];
        for (int i = 0; i < THREADS; i++)
            arguments[i] = &ids[i];
        assert_int_equal(simcudaRunThreads(meet, arguments, THREADS), CUDA_SUCCESS);
        for (int i = 0; i < THREADS; i++)
            assert_int_equal(ids[i], id_of(simulated_context()));
        assert_int_equal(live_sentinels(), 1);
        inside_order_free_sentinels();
        assert_int_equal(live_sentinels(), 0);
    }
}

static int setup_scheduled(void **state) {
    (void)state;
    return simulated_begin("mode=scheduled,seed=3,burst=2");
}

#define sentinel_test(function)                                                                    \
    cmocka_unit_test_setup_teardown(function, simulated_setup, simulated_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        sentinel_test(a_context_gets_one_and_is_then_asked_for_by_one_call),
        sentinel_test(a_context_that_was_never_met_gets_none_by_being_asked_for),
        sentinel_test(other_memory_at_its_address_is_not_taken_for_it),
        sentinel_test(one_that_can_not_be_made_is_an_error_that_leaves_nothing),
        sentinel_test(without_host_memory_it_is_an_error_that_leaves_nothing),
        sentinel_test(a_driver_that_has_no_number_for_it_is_not_supported),
        sentinel_test(a_context_under_an_error_is_not_taken_for_gone),
        sentinel_test(making_one_leaves_a_capture_valid),
        sentinel_test(threads_that_meet_a_context_at_once_agree_on_its_id),
        cmocka_unit_test_setup_teardown(threads_that_meet_a_context_at_once_agree_on_its_id,
                                        setup_scheduled, simulated_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
