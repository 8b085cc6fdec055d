// The two parts of a call's time on the simulated driver: what its driver calls cost by the model,
// which is exact, and what the host's clock says of the rest.
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <cjson/cJSON.h>

#include "items.h"
#include "program.h"

// Two threads and two streams; the last block is never freed.
static const char small[] = TRACE_HEADER
    "1,0,allocate,0x1000000,4194304,1\n"
    "2,10,allocate,0x2000000,4194304,2\n"
    "1,20,free,0x1000000,4194304,1\n"
    "1,30,allocate,0x1000000,1024,1\n"
    "2,40,free,0x2000000,4194304,2\n";

enum { MALLOC = 40000, FREE = 35000 }; // cuMemAlloc and cuMemFree of up to 2 MiB, ns

static cJSON *replay(const char *const settings[], const char *const arguments[]) {
    struct outcome outcome;
    program_run(&outcome, settings, arguments);
    if (outcome.status != 0)
        fail_msg("status %d: %s", outcome.status, outcome.errors);
    cJSON *list = cJSON_Parse(outcome.output);
    assert_true(cJSON_IsArray(list));
    program_forget(&outcome);
    return list;
}

#define REPLAY(...)                                                                                \
    replay(NO_SETTINGS, ARGUMENTS("replay", "--device", "sim", "--json", "-", __VA_ARGS__))

static double modelled(const cJSON *result) {
    return number(result, "driver_calls_modelled_ns");
}

static double measured(const cJSON *result) {
    return number(result, "library_measured_ns");
}

// --------------------------------------------------------------------------------------- the model

static void the_modelled_times_are_the_same_in_every_run(void **state) {
    (void)state;
    const char *path = file_write("small.csv", small);
    cJSON *runs[2];
    for (size_t i = 0; i < 2; i++)
        runs[i] = REPLAY("--allocator", "pool,promised,direct", "--passes", "2", path);
    assert_int_equal(cJSON_GetArraySize(runs[0]), 6);
    assert_true(modelled(runs[0]->child) > 0);
    for (int i = 0; i < 6; i++)
        assert_true(modelled(cJSON_GetArrayItem(runs[0], i)) ==
                    modelled(cJSON_GetArrayItem(runs[1], i)));
    cJSON_Delete(runs[0]);
    cJSON_Delete(runs[1]);
}

// Which of many streams is asked first must not depend on where the host put anything.
static void so_are_those_of_many_streams(void **state) {
    (void)state;
    double first = 0;
    for (size_t i = 0; i < 3; i++) {
        cJSON *list = REPLAY("--allocator", "promised", MANY_STREAMS);
        if (i == 0)
            first = modelled(list->child);
        assert_true(modelled(list->child) == first);
        cJSON_Delete(list);
    }
}

static void a_pair_of_the_drivers_costs_what_the_model_says(void **state) {
    (void)state;
    const char *tiny = file_write("tiny.csv", TRACE_HEADER
                                  "1,0,allocate,0x10,1024,0\n"
                                  "1,1,free,0x10,1024,0\n");
    const char *large = file_write("large.csv", TRACE_HEADER
                                   "1,0,allocate,0x10,2147483648,0\n"
                                   "1,1,free,0x10,2147483648,0\n");
    cJSON *list = REPLAY("--allocator", "direct", tiny, large);
    assert_true(modelled(cJSON_GetArrayItem(list, 0)) == MALLOC + FREE);
    assert_true(modelled(cJSON_GetArrayItem(list, 1)) == 241000 + 1166000);
    cJSON_Delete(list);
}

static void each_sample_has_the_modelled_time_in_it(void **state) {
    (void)state;
    cJSON *list = REPLAY("--allocator", "direct", file_write("small.csv", small));
    const cJSON *mallocs = cJSON_GetObjectItemCaseSensitive(list->child, "malloc_ns");
    const cJSON *frees = cJSON_GetObjectItemCaseSensitive(list->child, "free_ns");
    assert_true(number(mallocs, "p50") >= MALLOC);
    assert_true(number(frees, "p50") >= FREE);
    cJSON_Delete(list);
}

// Nothing is asked of the driver where the memory is there and the streams are promised.
static void a_promised_hit_costs_the_driver_nothing(void **state) {
    (void)state;
    cJSON *list =
        REPLAY("--allocator", "promised", "--passes", "2", file_write("small.csv", small));
    assert_true(modelled(cJSON_GetArrayItem(list, 0)) > 50000);
    assert_true(modelled(cJSON_GetArrayItem(list, 1)) == 0);
    cJSON_Delete(list);
}

static void a_request_of_no_bytes_costs_the_driver_nothing(void **state) {
    (void)state;
    const char *path = file_write("none.csv", TRACE_HEADER
                                  "1,0,allocate,(nil),0,0\n"
                                  "1,1,free,(nil),0,0\n");
    cJSON *list = REPLAY("--allocator", "direct", path);
    assert_true(modelled(list->child) == 0);
    cJSON_Delete(list);
}

// Each thread's calls are its own, so what others do meanwhile is not in them.
static void threads_cost_what_their_own_calls_do(void **state) {
    (void)state;
    const char *path = file_write("threads.csv", TRACE_HEADER
                                  "1,0,allocate,0x10,1024,1\n"
                                  "2,1,allocate,0x20,1024,2\n"
                                  "3,2,allocate,0x30,1024,3\n"
                                  "3,3,free,0x30,1024,3\n"
                                  "2,4,free,0x20,1024,2\n"
                                  "1,5,free,0x10,1024,1\n");
    cJSON *list = REPLAY("--allocator", "direct", "--threads", path);
    assert_true(modelled(list->child) == 3 * (MALLOC + FREE));
    cJSON_Delete(list);
}

static void the_parts_make_the_total(void **state) {
    (void)state;
    cJSON *list = REPLAY("--allocator", "pool,promised,direct", "--passes", "2", "--threads",
                         file_write("small.csv", small));
    for (const cJSON *result = list->child; result; result = result->next) {
        assert_true(measured(result) >= 0);
        assert_true(modelled(result) + measured(result) == number(result, "total_ns"));
    }
    cJSON_Delete(list);
}

static void with_work_all_time_is_of_the_virtual_clock(void **state) {
    (void)state;
    cJSON *list = REPLAY("--work", "0.5", file_write("small.csv", small));
    assert_null(cJSON_GetObjectItemCaseSensitive(list->child, "driver_calls_modelled_ns"));
    assert_null(cJSON_GetObjectItemCaseSensitive(list->child, "library_measured_ns"));
    cJSON_Delete(list);
}

// ---------------------------------------------------------------------------------------- the rest

#ifdef STEPPING_CLOCK
// With a clock that nothing but its readings moves, all of a call's time is the simulation's and
// that of reading; so none is left over for who calls the driver and does nothing besides.
static void what_the_simulation_takes_is_not_in_the_measured_time(void **state) {
    (void)state;
    cJSON *list = replay(SETTINGS("LD_PRELOAD=" STEPPING_CLOCK),
                         ARGUMENTS("replay", "--device", "sim", "--json", "-", "--allocator",
                                   "direct", file_write("small.csv", small)));
    assert_true(modelled(list->child) > 0);
    assert_true(measured(list->child) == 0);
    cJSON_Delete(list);
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_modelled_times_are_the_same_in_every_run),
        cmocka_unit_test(so_are_those_of_many_streams),
        cmocka_unit_test(a_pair_of_the_drivers_costs_what_the_model_says),
        cmocka_unit_test(each_sample_has_the_modelled_time_in_it),
        cmocka_unit_test(a_promised_hit_costs_the_driver_nothing),
        cmocka_unit_test(a_request_of_no_bytes_costs_the_driver_nothing),
        cmocka_unit_test(threads_cost_what_their_own_calls_do),
        cmocka_unit_test(the_parts_make_the_total),
        cmocka_unit_test(with_work_all_time_is_of_the_virtual_clock),
#ifdef STEPPING_CLOCK
        cmocka_unit_test(what_the_simulation_takes_is_not_in_the_measured_time),
#endif
    };
    return cmocka_run_group_tests(tests, files_begin, files_end);
}
