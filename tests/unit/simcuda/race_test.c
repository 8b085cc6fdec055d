// Races: found where nothing orders two pieces of work, not found where a rule of stream order
// does. When work happens to complete plays no part: every test holds for work that was complete
// long before.
#include <string.h>

#include "unit/simcuda/fixture.h"

static struct memory memory;
static CUstream a, b;

static int begin_race(void **state) {
    begin(state);
    memory = map_memory(GRANULE);
    a = make_stream();
    b = make_stream();
    return 0;
}

static int end_race(void **state) {
    OK(cuCtxSynchronize());
    unmap_memory(memory);
    return end_without_reports(state);
}

static void write_on(CUstream stream) {
    touch(stream, "writer", memory.address, 4096, simcudaAccessWrite);
}

static void read_on(CUstream stream) {
    touch(stream, "reader", memory.address, 4096, simcudaAccessRead);
}

static void order(CUstream first, CUstream second) {
    CUevent event = make_event();
    OK(cuEventRecord(event, first));
    OK(cuStreamWaitEvent(second, event, 0));
}

static void settle(void) {
    simcudaAdvance(1000 * MS);
    assert_int_equal(simcudaPendingAll(), 0);
}

static void writes_on_two_streams_race(void **state) {
    (void)state;
    write_on(a);
    settle();
    write_on(b);
    settle();
    assert_non_null(strstr(simcudaReportText(0), "\"writer\" on stream 2"));
    expect_report("race");
}

static void a_read_and_a_write_race_in_either_order(void **state) {
    (void)state;
    read_on(a);
    write_on(b);
    settle();
    expect_report("race");
    touch(a, "reader", memory.address, 8, simcudaAccessRead);
    settle();
    expect_report("race");
}

static void reads_on_two_streams_do_not_race(void **state) {
    (void)state;
    read_on(a);
    read_on(b);
    settle();
}

static void aliases_of_the_same_bytes_race(void **state) {
    CUdeviceptr alias = reserve(GRANULE);
    (void)state;
    OK(cuMemMap(alias, GRANULE, 0, memory.handle, 0));
    allow(alias, GRANULE);
    write_on(a);
    touch(b, "alias", alias + 100, 8, simcudaAccessWrite);
    settle();
    expect_report("race");
    OK(cuCtxSynchronize());
    OK(cuMemUnmap(alias, GRANULE));
}

static void one_stream_is_in_order(void **state) {
    (void)state;
    write_on(a);
    read_on(a);
    write_on(a);
    settle();
}

static void a_wait_for_a_later_record_orders(void **state) {
    (void)state;
    write_on(a);
    order(a, b);
    write_on(b);
    settle();
}

static void a_wait_for_an_earlier_record_does_not_order(void **state) {
    CUevent event = make_event();
    (void)state;
    OK(cuEventRecord(event, a));
    write_on(a);
    OK(cuStreamWaitEvent(b, event, 0));
    write_on(b);
    settle();
    expect_report("race");
}

static void order_is_transitive(void **state) {
    enum { CHAIN = 20 };
    CUstream previous = a;
    (void)state;
    write_on(a);
    for (int i = 0; i < CHAIN; i++) {
        CUstream next = make_non_blocking_stream();
        order(previous, next);
        previous = next;
    }
    write_on(previous);
    settle();
}

static void a_wait_for_a_complete_event_orders_too(void **state) {
    CUevent event = make_event();
    (void)state;
    write_on(a);
    OK(cuEventRecord(event, a));
    settle();
    OK(cuStreamWaitEvent(b, event, 0));
    write_on(b);
    settle();
}

static void what_the_host_waited_for_comes_before_what_it_enqueues(void **state) {
    (void)state;
    write_on(a);
    OK(cuStreamSynchronize(a));
    write_on(b);
    OK(cuCtxSynchronize());
    write_on(a);
    settle();
}

static void what_the_host_found_complete_comes_before_what_it_enqueues(void **state) {
    CUevent event = make_event();
    (void)state;
    write_on(a);
    OK(cuEventRecord(event, a));
    settle();
    OK(cuEventQuery(event));
    write_on(b);
    settle();
    OK(cuStreamQuery(b));
    write_on(a);
    settle();
}

static void a_query_that_finds_work_pending_orders_nothing(void **state) {
    (void)state;
    spin(a, MS);
    write_on(a);
    FAILS(cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    write_on(b);
    settle();
    expect_report("race");
}

static void completion_by_hand_is_no_knowledge_of_the_host(void **state) {
    (void)state;
    write_on(a);
    simcudaCompleteAll();
    write_on(b);
    settle();
    expect_report("race");
}

static void the_legacy_stream_orders_blocking_streams(void **state) {
    (void)state;
    write_on(a);
    write_on(NULL);
    write_on(b);
    settle();
}

static void an_idle_legacy_stream_orders_nothing(void **state) {
    (void)state;
    write_on(NULL);
    write_on(a);
    settle();
    write_on(b);
    settle();
    expect_report("race");
}

static void the_legacy_stream_does_not_order_non_blocking_streams(void **state) {
    CUstream stream = make_non_blocking_stream();
    (void)state;
    write_on(stream);
    write_on(NULL);
    settle();
    expect_report("race");
}

static void the_legacy_stream_runs_after_blocking_streams_that_are_gone(void **state) {
    (void)state;
    write_on(a);
    settle();
    OK(cuStreamDestroy_v2(a));
    write_on(NULL);
    settle();
    a = make_stream();
}

static void a_context_synchronise_knows_the_work_of_streams_that_are_gone(void **state) {
    (void)state;
    write_on(a);
    settle();
    OK(cuStreamDestroy_v2(a));
    OK(cuCtxSynchronize());
    write_on(b);
    settle();
    a = make_stream();
}

static void a_new_stream_at_a_destroyed_handle_inherits_no_order(void **state) {
    (void)state;
    write_on(a);
    settle();
    OK(cuStreamDestroy_v2(a));
    CUstream recycled = make_stream();
    assert_ptr_equal(recycled, a);
    write_on(recycled);
    settle();
    expect_report("race");
}

static void a_record_of_the_context_orders_all_its_streams(void **state) {
    CUstream third = make_non_blocking_stream();
    CUevent event = make_event();
    (void)state;
    touch(a, "left", memory.address, 8, simcudaAccessWrite);
    touch(b, "right", memory.address + 8, 8, simcudaAccessWrite);
    OK(cuStreamDestroy_v2(a));
    OK(cuCtxRecordEvent(NULL, event));
    OK(cuStreamWaitEvent(third, event, 0));
    write_on(third);
    settle();
}

static void released_memory_has_no_past(void **state) {
    struct memory other = map_memory(GRANULE);
    (void)state;
    touch(a, "before", other.address, 8, simcudaAccessWrite);
    OK(cuStreamSynchronize(a));
    unmap_memory(other);
    other = map_memory(GRANULE);
    touch(b, "after", other.address, 8, simcudaAccessWrite);
    OK(cuCtxSynchronize());
    unmap_memory(other);
}

static void nothing(void *argument) {
    (void)argument;
}

static void a_host_function_comes_after_the_work_before_it_for_the_whole_host(void **state) {
    (void)state;
    write_on(a);
    OK(cuLaunchHostFunc(a, nothing, NULL));
    simcudaCompleteAll();
    write_on(b);
    settle();
}

int main(void) {
#define RACE_TEST(test) cmocka_unit_test_setup_teardown(test, begin_race, end_race)
    const struct CMUnitTest tests[] = {
        RACE_TEST(writes_on_two_streams_race),
        RACE_TEST(a_read_and_a_write_race_in_either_order),
        RACE_TEST(reads_on_two_streams_do_not_race),
        RACE_TEST(aliases_of_the_same_bytes_race),
        RACE_TEST(one_stream_is_in_order),
        RACE_TEST(a_wait_for_a_later_record_orders),
        RACE_TEST(a_wait_for_an_earlier_record_does_not_order),
        RACE_TEST(order_is_transitive),
        RACE_TEST(a_wait_for_a_complete_event_orders_too),
        RACE_TEST(what_the_host_waited_for_comes_before_what_it_enqueues),
        RACE_TEST(what_the_host_found_complete_comes_before_what_it_enqueues),
        RACE_TEST(a_query_that_finds_work_pending_orders_nothing),
        RACE_TEST(completion_by_hand_is_no_knowledge_of_the_host),
        RACE_TEST(the_legacy_stream_orders_blocking_streams),
        RACE_TEST(an_idle_legacy_stream_orders_nothing),
        RACE_TEST(the_legacy_stream_does_not_order_non_blocking_streams),
        RACE_TEST(the_legacy_stream_runs_after_blocking_streams_that_are_gone),
        RACE_TEST(a_context_synchronise_knows_the_work_of_streams_that_are_gone),
        RACE_TEST(a_new_stream_at_a_destroyed_handle_inherits_no_order),
        RACE_TEST(a_record_of_the_context_orders_all_its_streams),
        RACE_TEST(released_memory_has_no_past),
        RACE_TEST(a_host_function_comes_after_the_work_before_it_for_the_whole_host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
