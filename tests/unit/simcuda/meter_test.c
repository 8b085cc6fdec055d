// What a thread's driver calls cost, by the virtual clock and by a host's clock that only readings
// move: each takes a step.
#include "unit/simcuda/fixture.h"

#include <pthread.h>

#include "simcuda/common/meter.h"
#include "simcuda/queue/cost.h"

enum { STEP = 1000 };

static _Atomic uint64_t steps;

static uint64_t read_steps(void) {
    return STEP * (1 + atomic_fetch_add(&steps, 1));
}

static int begin_with_steps(void **state) {
    sim_meter_clock = read_steps;
    return begin(state);
}

static int end_with_steps(void **state) {
    simcudaMeterHost(0);
    return end_without_reports(state);
}

static simcudaCost cost_now(void) {
    simcudaCost cost;
    simcudaThreadCost(&cost);
    return cost;
}

// -------------------------------------------------------------------------------- the virtual time

static void calls_cost_what_the_model_says(void **state) {
    (void)state;
    CUdeviceptr address;
    simcudaCost before = cost_now();
    OK(cuMemAlloc_v2(&address, 1024));
    simcudaCost between = cost_now();
    OK(cuMemFree_v2(address));
    simcudaCost after = cost_now();
    assert_int_equal(between.modelled - before.modelled, 40000);
    assert_int_equal(after.modelled - between.modelled, 35000);
}

static void queries_count_though_the_clock_has_them_later(void **state) {
    (void)state;
    CUstreamCaptureStatus status;
    CUstream stream = make_stream();
    simcudaCost before = cost_now();
    for (int i = 0; i < 10; i++)
        OK(cuStreamIsCapturing(stream, &status));
    assert_int_equal(cost_now().modelled - before.modelled, 250);
    OK(cuStreamQuery(stream));
    assert_int_equal(cost_now().modelled - before.modelled, 250 + 275);
}

static void a_wait_for_work_is_in_the_cost(void **state) {
    (void)state;
    CUstream stream = make_stream();
    spin(stream, MS);
    simcudaCost before = cost_now();
    uint64_t clock = simcudaNow();
    OK(cuStreamSynchronize(stream));
    assert_int_equal(cost_now().modelled - before.modelled, simcudaNow() - clock);
    assert_true(cost_now().modelled - before.modelled > 900 * US);
}

static void time_that_passes_without_a_call_costs_nothing(void **state) {
    (void)state;
    simcudaCost before = cost_now();
    simcudaAdvance(MS);
    assert_int_equal(cost_now().modelled, before.modelled);
}

static void a_call_that_is_refused_costs_nothing(void **state) {
    (void)state;
    simcudaCost before = cost_now();
    OK(simcudaFailCall("cuCtxSynchronize", 1, simcudaFaultOnce, CUDA_ERROR_UNKNOWN));
    FAILS(cuCtxSynchronize(), CUDA_ERROR_UNKNOWN);
    assert_int_equal(cost_now().modelled, before.modelled);
}

static void *make_calls(void *argument) {
    OK(cuCtxSetCurrent(argument));
    for (int i = 0; i < 100; i++)
        OK(cuCtxSynchronize());
    return NULL;
}

static void another_threads_calls_are_not_in_it(void **state) {
    (void)state;
    pthread_t thread;
    simcudaCost before = cost_now();
    assert_int_equal(pthread_create(&thread, NULL, make_calls, current_context()), 0);
    pthread_join(thread, NULL);
    simcudaCost after = cost_now();
    assert_in_range(after.modelled - before.modelled, 0, 200); // of current_context()
}

// --------------------------------------------------------------------------------- the host's time

static void without_the_meter_the_hosts_clock_is_not_read(void **state) {
    (void)state;
    uint64_t before = atomic_load(&steps);
    OK(cuCtxSynchronize());
    assert_int_equal(atomic_load(&steps), before);
    assert_int_equal(cost_now().host, 0);
}

// A pair of readings has one step within, and one of the two readings' steps lies outside.
static void a_call_has_the_time_between_its_readings_and_that_of_reading(void **state) {
    (void)state;
    simcudaMeterHost(1);
    simcudaCost before = cost_now();
    OK(cuCtxSynchronize());
    assert_int_equal(cost_now().host - before.host, 2 * STEP);
}

// So what is left of a time around three calls is one step, that of the pair around them.
static void a_time_around_calls_less_theirs_is_the_callers(void **state) {
    (void)state;
    CUstreamCaptureStatus status;
    CUstream stream = make_stream();
    simcudaMeterHost(1);
    simcudaCost before = cost_now();
    uint64_t start = read_steps();
    OK(cuStreamIsCapturing(stream, &status));
    FAILS(cuStreamIsCapturing(stream, NULL), CUDA_ERROR_INVALID_VALUE);
    OK(cuStreamSynchronize(stream));
    uint64_t around = read_steps() - start;
    assert_int_equal(around - (cost_now().host - before.host), STEP);
}

static void the_meter_stops(void **state) {
    (void)state;
    simcudaMeterHost(1);
    simcudaMeterHost(0);
    simcudaCost before = cost_now();
    OK(cuCtxSynchronize());
    assert_int_equal(cost_now().host, before.host);
}

static void what_starting_took_is_nobodys_cost(void **state) {
    (void)state;
    simcudaCost before = cost_now();
    simcudaMeterHost(1);
    assert_int_equal(cost_now().host, before.host);
}

int main(void) {
#define METERED(test) cmocka_unit_test_setup_teardown(test, begin_with_steps, end_with_steps)
    const struct CMUnitTest tests[] = {
        METERED(calls_cost_what_the_model_says),
        METERED(queries_count_though_the_clock_has_them_later),
        METERED(a_wait_for_work_is_in_the_cost),
        METERED(time_that_passes_without_a_call_costs_nothing),
        METERED(a_call_that_is_refused_costs_nothing),
        METERED(another_threads_calls_are_not_in_it),
        METERED(without_the_meter_the_hosts_clock_is_not_read),
        METERED(a_call_has_the_time_between_its_readings_and_that_of_reading),
        METERED(a_time_around_calls_less_theirs_is_the_callers),
        METERED(the_meter_stops),
        METERED(what_starting_took_is_nobodys_cost),
    };
#undef METERED
    return cmocka_run_group_tests(tests, NULL, NULL);
}
